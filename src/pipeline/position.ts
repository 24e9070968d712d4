import type { ErrorCode } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { SourceOffset } from '../state/source-offset';
import type { Paging, ScanProgress } from '../types';
import { declaredPaging, unknownPaging } from './scan/pages/paging';

/** Nothing has failed, but people have to know why the feed comes to be behind. */
const NOT_COUNTED: ErrorCode = 'POLL_NOT_COUNTED';

/** The fields of the position that a page moves. The transaction adds its own fields (number, counts, time). */
export function advance(
  offset: SourceOffset,
  progress: ScanProgress,
  observedAtMs: number,
): Partial<SourceOffset> {
  const { paging, complete, shortfall } = progress;
  const snapshotEnds = progress.duringSnapshot && complete && !progress.isPending;
  return {
    high_water_mark: progress.highWaterMark,
    snapshot: !progress.duringSnapshot ? offset.snapshot : snapshotEnds ? 'complete' : 'running',
    empty_since_ms: progress.isPending
      ? (offset.empty_since_ms ?? observedAtMs)
      : complete
        ? null
        : offset.empty_since_ms,
    snapshot_completed_ms: snapshotEnds ? observedAtMs : offset.snapshot_completed_ms,
    ...pagingFields(paging),
    ordered: paging.ordered,
    last_complete_scan_ms:
      complete && progress.settled ? observedAtMs - (progress.agedMs ?? 0) : offset.last_complete_scan_ms,
    parked: null,
    last_error:
      shortfall !== undefined ? `${NOT_COUNTED}: ${shortfall}` : complete ? null : offset.last_error,
  };
}

/** The fields for the paging that a scan has learned. */
export function pagingFields(paging: Paging): Partial<SourceOffset> {
  return {
    page_offset_unit: paging.unit,
    first_page: paging.unit === null ? null : paging.firstPage,
    page_size: paging.pageSize,
    longest_page: paging.longestPage,
    page_begin: paging.begin,
    rows_before_next: paging.rowsBeforeNext,
    filter_lag: paging.lag,
    filter_tested_at: paging.lagTestedAt,
  };
}

/**
 * Records that an answer with everything shows, unless they are gone; 0: a filter that has changed may hide any number. Infinity: no
 * answer with everything has come yet.
 */
export function shownRecords({ scope_seq, record_count, snapshot }: SourceOffset): number {
  if (snapshot !== 'complete') return Number.POSITIVE_INFINITY;
  return scope_seq === 0 ? record_count : 0;
}

/** The stored paging, as far as the feed's present declaration allows. */
export function learnedPaging(offset: SourceOffset, feed: FeedDefinition): Paging {
  return declaredPaging(feed, storedPaging(offset, feed.pageSize));
}

function storedPaging(offset: SourceOffset, pageSize: number): Paging {
  const { page_offset_unit: unit, first_page, page_size, longest_page } = offset;
  const lasting = {
    begin: offset.page_begin,
    rowsBeforeNext: offset.rows_before_next,
    lag: offset.filter_lag,
    lagTestedAt: offset.filter_tested_at,
  };
  if (page_size === null) return { ...unknownPaging(pageSize), ...lasting };
  const known = { unit, firstPage: first_page ?? 0, ordered: offset.ordered, ...lasting };
  // A smaller page size was learned (a cap, a size limit). A larger page size belongs to an older setting.
  if (page_size > pageSize) return { ...known, pageSize, longestPage: null };
  return { ...known, pageSize: page_size, longestPage: longest_page };
}
