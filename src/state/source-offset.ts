import { randomBytes } from 'node:crypto';
import type { SourceOffset } from '../consumer/schemas';

/** Made from `schemas/source-offset.avsc`, which describes the fields. */
export type { Backfill as BackfillProgress, DriftedMember, SourceOffset } from '../consumer/schemas';

/** Short and random: event ids never repeat. */
export function newIncarnation(): string {
  return randomBytes(4).toString('hex');
}

/** Nothing is known of the API's paging, its filter and the rows that it hides. */
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
  least_change_age_ms: 0,
} as const satisfies Partial<SourceOffset>;

/** Every record is read and published once more. */
export function snapshotAgain({ seq }: SourceOffset) {
  const pending = { snapshot: 'pending', snapshot_completed_ms: null, snapshot_seq: seq } as const;
  return { ...nothingLearned, ...pending, high_water_mark: 0, begins_at: 0, lost_topics: [] };
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
    topic_ids: [],
    lost_topics: [],
    ts_ms: 0,
  };
}
