import { type Paging, unknownPaging } from '../pipeline/paging';
import type { ScanProgress } from '../pipeline/scan-progress';

/** Stored position of a feed; names and meanings as in `schemas/source-offset.avsc`. */
export interface SourceOffset {
  readonly feed: string;
  readonly high_water_mark: number;
  readonly snapshot: 'pending' | 'running' | 'complete';
  readonly snapshot_completed_ms: number | null;
  readonly incarnation: string;
  readonly owner: string;
  readonly owner_epoch: string;
  readonly commit: number;
  readonly seq: number;
  readonly record_count: number;
  readonly partition_counts: readonly number[];
  readonly scope: string;
  readonly page_offset_unit: 'page' | 'record' | null;
  readonly first_page: number | null;
  readonly page_size: number | null;
  readonly longest_page: number | null;
  readonly last_complete_scan_ms: number | null;
  readonly paused: boolean;
  readonly parked: string | null;
  readonly last_error: string | null;
  readonly ts_ms: number;
}

export function firstSourceOffset(feed: string, incarnation: string, scope: string): SourceOffset {
  return {
    feed,
    high_water_mark: 0,
    snapshot: 'pending',
    snapshot_completed_ms: null,
    incarnation,
    owner: '',
    owner_epoch: '',
    commit: 0,
    seq: 0,
    record_count: 0,
    partition_counts: [],
    scope,
    page_offset_unit: null,
    first_page: null,
    page_size: null,
    longest_page: null,
    last_complete_scan_ms: null,
    paused: false,
    parked: null,
    last_error: null,
    ts_ms: 0,
  };
}

/** The position after a page; what belongs to its transaction (number, counts, time) is added when that is made. */
export function advance(offset: SourceOffset, progress: ScanProgress, observedAtMs: number): SourceOffset {
  const { paging } = progress;
  const snapshotEnds = progress.duringSnapshot && progress.complete;
  return {
    ...offset,
    high_water_mark: progress.highWaterMark,
    snapshot: !progress.duringSnapshot ? offset.snapshot : progress.complete ? 'complete' : 'running',
    snapshot_completed_ms: snapshotEnds ? observedAtMs : offset.snapshot_completed_ms,
    page_offset_unit: paging.unit,
    first_page: paging.unit === null ? null : paging.firstPage,
    page_size: paging.pageSize,
    longest_page: paging.longestPage,
    last_complete_scan_ms: progress.complete ? observedAtMs : offset.last_complete_scan_ms,
    parked: null,
    last_error: progress.complete ? null : offset.last_error,
  };
}

/** What was learned of the server's paging, for a feed that now asks for `pageSize` records. */
export function learnedPaging(offset: SourceOffset, pageSize: number): Paging {
  const { page_offset_unit: unit, first_page, page_size, longest_page } = offset;
  if (page_size === null) return unknownPaging(pageSize);
  const known = { unit, firstPage: first_page ?? 0 };
  // A smaller page than was asked for was learned (a cap, a size limit); a larger one belongs to an older setting.
  if (page_size > pageSize) return { ...known, pageSize, longestPage: null };
  return { ...known, pageSize: page_size, longestPage: longest_page };
}
