import { randomBytes } from 'node:crypto';

/** Stored position of a feed. `schemas/source-offset.avsc` describes the fields. */
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
  readonly asked_by: string;
  readonly topic: string;
  readonly id_field: readonly string[];
  readonly scope_seq: number;
  readonly scope_since_ms: number;
  readonly snapshot_seq: number;
  readonly last_reconcile_ms: number | null;
  readonly begins_at: number;
  readonly backfill: BackfillProgress | null;
  readonly page_offset_unit: 'page' | 'record' | null;
  readonly first_page: number | null;
  readonly page_size: number | null;
  readonly longest_page: number | null;
  readonly ordered: boolean;
  readonly page_begin: number;
  readonly rows_before_next: number;
  readonly filter_lag: number;
  readonly filter_tested_at: number;
  readonly empty_since_ms: number | null;
  readonly last_complete_scan_ms: number | null;
  readonly poll_interval_ms: number | null;
  readonly paused: boolean;
  readonly parked: string | null;
  readonly last_error: string | null;
  readonly withheld_deletes: number;
  readonly drift: readonly DriftedMember[];
  readonly ts_ms: number;
}

/** Short and random: event ids never repeat. */
export function newIncarnation(): string {
  return randomBytes(4).toString('hex');
}

/** A member that the API sends otherwise than the schema says. */
export interface DriftedMember {
  readonly path: string;
  readonly type: string;
  /** Null: the schema does not know it. */
  readonly expected: string | null;
  readonly count: number;
}

/** A backfill that has begun and not reached its end. Dates are calendar dates, `next_second` is in Unix seconds. */
export interface BackfillProgress {
  readonly from: string;
  readonly to: string;
  readonly next_date: string | null;
  readonly next_second: number | null;
  readonly asked_ms: number;
  readonly spent_ms: number;
  readonly pages: number;
  readonly rows: number;
}

/** Nothing is known of the API's paging and filter. */
export const nothingLearned = {
  page_offset_unit: null,
  first_page: null,
  page_size: null,
  longest_page: null,
  ordered: true,
  page_begin: 0,
  rows_before_next: 0,
  filter_lag: 0,
  filter_tested_at: 0,
} as const satisfies Partial<SourceOffset>;

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
    asked_by: '',
    topic: '',
    id_field: [],
    scope_seq: 0,
    scope_since_ms: 0,
    snapshot_seq: 0,
    last_reconcile_ms: null,
    begins_at: 0,
    backfill: null,
    ...nothingLearned,
    empty_since_ms: null,
    last_complete_scan_ms: null,
    poll_interval_ms: null,
    paused: false,
    parked: null,
    last_error: null,
    withheld_deletes: 0,
    drift: [],
    ts_ms: 0,
  };
}
