import { type FeedProblem, problemsOf } from '../../feed-status/problems';
import { type FeedCondition, verdictOf } from '../../feed-status/verdict';
import type { Feed } from '../../feeds/feed';
import type { LogSpace } from '../../log/local/file/reader-connection';
import { describeProgress } from '../../pipeline/rounds/backfill';
import type { SourceOffset } from '../../state/source-offset';

/** Where a feed stands: the contract of `status --json`, with these members in this order; later ones come at the end. */
export interface FeedStatus {
  readonly feed: string;
  /** The live instance that has it; null: nobody. */
  readonly owner: string | null;
  /** The last complete scan is older than three poll intervals, and the feed is not paused. */
  readonly behind: boolean;
  /** Unix seconds, as the vendor counts `updated`; null: nothing was read yet. */
  readonly high_water_mark: number | null;
  readonly last_complete_scan_ms: number | null;
  readonly seconds_since_complete_scan: number | null;
  /** Of the publisher, as it committed it last; of this command's own settings when the log does not have it. */
  readonly poll_interval_ms: number;
  readonly records: number;
  readonly commit: number;
  readonly seq: number;
  readonly incarnation: string | null;
  readonly snapshot: SourceOffset['snapshot'];
  readonly backfill: { readonly from: string; readonly to: string } | null;
  readonly paused: boolean;
  /** Code of the error for which the feed waits for somebody. */
  readonly parked: string | null;
  /** `CODE: what happened` */
  readonly last_error: string | null;
  /** How many are kept. */
  readonly dead_letters: number;
  /** How much of the backfill is read, 0 to 1; null: none runs. */
  readonly backfill_done: number | null;
  /** As `/readyz` has it. */
  readonly condition: FeedCondition;
  /** For people, without the feed's name. */
  readonly reason: string;
  /** A snapshot runs, and nothing fails. */
  readonly being_read: boolean;
  /** The worst first. */
  readonly problems: readonly FeedProblem[];
  /** Base address of the API that this command's settings name for the feed; null: they name none. */
  readonly api: string | null;
  /** Of the file of the embedded log, which all feeds share; null on Kafka. */
  readonly log_bytes: number | null;
  /** Of them free for new records. */
  readonly log_free_bytes: number | null;
}

/** What the log and the settings have of a feed. */
export interface KnownOfFeed {
  /** What it committed last, null: nothing yet. */
  readonly offset: SourceOffset | null;
  readonly owner: string | null;
  readonly deadLetters: number;
  readonly api: string | null;
  /** Null on Kafka. */
  readonly space: LogSpace | null;
}

export function feedStatus(
  feed: Pick<Feed, 'name' | 'pollIntervalMs'>,
  { offset, owner, deadLetters, api, space }: KnownOfFeed,
  nowMs: number,
): FeedStatus {
  const { name } = feed;
  const verdict = verdictOf({ feed, offset, owner: owner === null ? 'none' : 'live', live: null }, nowMs);
  const scanned = offset?.last_complete_scan_ms ?? null;
  const sinceMs = scanned === null ? null : Math.max(0, nowMs - scanned);
  const done = offset === null ? null : (describeProgress(offset, nowMs)?.done ?? null);
  return {
    feed: name,
    owner,
    behind: verdict.behind,
    high_water_mark: offset?.high_water_mark ?? null,
    last_complete_scan_ms: scanned,
    seconds_since_complete_scan: sinceMs === null ? null : Math.round(sinceMs / 1_000),
    poll_interval_ms: verdict.pollIntervalMs,
    records: offset?.record_count ?? 0,
    commit: offset?.commit ?? 0,
    seq: offset?.seq ?? 0,
    incarnation: offset?.incarnation ?? null,
    snapshot: offset?.snapshot ?? 'pending',
    backfill: offset?.backfill ? { from: offset.backfill.from, to: offset.backfill.to } : null,
    paused: offset?.paused ?? false,
    parked: offset?.parked ?? null,
    last_error: offset?.last_error ?? null,
    dead_letters: deadLetters,
    backfill_done: done === null ? null : Math.round(done * 1_000) / 1_000,
    condition: verdict.condition,
    reason: verdict.reason,
    being_read: verdict.isBeingRead,
    problems: problemsOf(verdict, { feed: name, lastCompleteScanMs: scanned, deadLetters }, nowMs),
    api,
    log_bytes: space?.total ?? null,
    log_free_bytes: space?.free ?? null,
  };
}
