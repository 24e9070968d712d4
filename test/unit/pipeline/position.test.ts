import { advance, learnedPaging } from '../../../src/pipeline/position';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { firstSourceOffset } from '../../../src/state/source-offset';
import type { ScanProgress } from '../../../src/types';
import { testFeed } from '../../support/feeds';

const paging = {
  ...unknownPaging(50),
  ...({ unit: 'record', firstPage: 1, longestPage: 40, ordered: false } as const),
  ...{ begin: 1, rowsBeforeNext: 33, lag: 60, lagTestedAt: 7 },
};
const offset = {
  ...firstSourceOffset('ipos', 'abcd1234', 'scope'),
  snapshot: 'running' as const,
  snapshot_completed_ms: 1,
  last_complete_scan_ms: 2,
  parked: 'parked',
  last_error: 'error',
};
const progress: ScanProgress = {
  highWaterMark: 500,
  shownBelow: 400,
  duringSnapshot: false,
  complete: false,
  settled: false,
  paging,
};

describe('what a page makes of the position', () => {
  it('in the middle of a scan: the mark and the paging, and the feed is not parked', () => {
    expect(advance(offset, progress, 9)).toEqual({
      high_water_mark: 500,
      snapshot: 'running',
      snapshot_completed_ms: 1,
      page_offset_unit: 'record',
      first_page: 1,
      page_size: 50,
      longest_page: 40,
      empty_since_ms: null,
      page_begin: 1,
      rows_before_next: 33,
      filter_lag: 60,
      filter_tested_at: 7,
      ordered: false,
      last_complete_scan_ms: 2,
      parked: null,
      last_error: 'error',
    });
  });

  it('at the end of a scan: no error, and complete only when all of it was settled', () => {
    expect(advance(offset, { ...progress, complete: true }, 9)).toMatchObject({
      snapshot: 'running',
      snapshot_completed_ms: 1,
      last_complete_scan_ms: 2,
      last_error: null,
    });
    const settled = { ...progress, settled: true };
    expect(advance(offset, settled, 9)).toMatchObject({ last_complete_scan_ms: 2, last_error: 'error' });
    expect(advance(offset, { ...settled, complete: true }, 9)).toMatchObject({ last_complete_scan_ms: 9 });
  });

  it('at the end of a scan that does not count: why, and nothing of it once a scan counts', () => {
    const short = { ...progress, complete: true, shortfall: 'the API shows 0 of 60 records.' };
    const after = { ...offset, ...advance(offset, short, 9) };
    expect(after.last_error).toBe('POLL_NOT_COUNTED: the API shows 0 of 60 records.');
    expect(advance(after, progress, 10).last_error).toBe(after.last_error);
    expect(advance(after, { ...progress, complete: true, settled: true }, 11).last_error).toBeNull();
  });

  it('of a snapshot: it runs, and is complete with the last page', () => {
    const snapshot = { ...progress, duringSnapshot: true };
    const pending = { ...offset, snapshot: 'pending' as const };
    expect(advance(pending, snapshot, 9)).toMatchObject({ snapshot: 'running', snapshot_completed_ms: 1 });
    expect(advance(pending, { ...snapshot, complete: true }, 9)).toMatchObject({
      snapshot: 'complete',
      snapshot_completed_ms: 9,
    });
  });

  it('keeps no first page of a paging that is not known', () => {
    const unknown = { ...progress, paging: { ...paging, unit: null } };
    expect(advance(offset, unknown, 9)).toMatchObject({ page_offset_unit: null, first_page: null });
  });
});

describe('what was learned of the paging', () => {
  const stored = { ...offset, ...advance(offset, progress, 9) };

  it('is nothing before the first page', () => {
    expect(learnedPaging(offset, testFeed('ipos', { pageSize: 100 }))).toEqual(unknownPaging(100));
  });

  it('comes back, with a smaller page than is asked for', () => {
    expect(learnedPaging(stored, testFeed('ipos', { pageSize: 100 }))).toEqual(paging);
    expect(learnedPaging(stored, testFeed('ipos', { pageSize: 50 }))).toEqual(paging);
    expect(learnedPaging({ ...stored, first_page: null }, testFeed('ipos', { pageSize: 50 }))).toEqual({
      ...paging,
      firstPage: 0,
    });
  });

  it('comes back without the length of larger pages than are asked for', () => {
    expect(learnedPaging(stored, testFeed('ipos', { pageSize: 49 }))).toEqual({
      ...paging,
      pageSize: 49,
      longestPage: null,
    });
  });
});
