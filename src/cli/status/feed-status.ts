import { unlessAborted } from '../../async/wait';
import type { Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { type FeedProblem, problemsOf } from '../../feed-status/problems';
import { latestReasons, storedDeadLetters, storedOffsets } from '../../feed-status/stored';
import { type FeedCondition, verdictOf } from '../../feed-status/verdict';
import type { Feed } from '../../feeds/feed';
import type { LogSpace } from '../../log/local/file/reader-connection';
import { describeProgress } from '../../pipeline/rounds/backfill';
import type { SourceOffset } from '../../state/source-offset';
import type { OpenReader } from '../log/open-log';
import { type PublisherView, problemAtPublisher } from '../process/ask-publisher';

/** The status of a feed: the contract of `status --json`, with these members in this order. New members go to the end. */
export interface FeedStatus {
  readonly feed: string;
  /** The live instance that has the feed; null: none has it. */
  readonly owner: string | null;
  /** The last complete scan is older than three poll intervals, and the feed is not paused. */
  readonly behind: boolean;
  /** Unix seconds of the vendor's clock (`updated`); null: nothing has been read. */
  readonly high_water_mark: number | null;
  readonly last_complete_scan_ms: number | null;
  readonly seconds_since_complete_scan: number | null;
  /** The interval that the publisher last committed; if the log has none, that of this command's settings. */
  readonly poll_interval_ms: number;
  readonly records: number;
  readonly commit: number;
  readonly seq: number;
  readonly incarnation: string | null;
  readonly snapshot: SourceOffset['snapshot'];
  readonly backfill: { readonly from: string; readonly to: string } | null;
  readonly paused: boolean;
  /** Code of the error that parked the feed. */
  readonly parked: string | null;
  /** `CODE: what happened` */
  readonly last_error: string | null;
  readonly dead_letters: number;
  /** Share of the backfill that is read, 0 to 1; null: none runs. */
  readonly backfill_done: number | null;
  /** The same as in `/readyz`. */
  readonly condition: FeedCondition;
  /** For people, without the feed's name. */
  readonly reason: string;
  /** A snapshot runs, and nothing fails. */
  readonly being_read: boolean;
  /** The worst first. */
  readonly problems: readonly FeedProblem[];
  /** Base address of the API that this command's settings name for the feed; null: they name none. */
  readonly api: string | null;
  /** Size of the embedded log's file, which all feeds share; null on Kafka. */
  readonly log_bytes: number | null;
  /** Part of `log_bytes` that is free for new records. */
  readonly log_free_bytes: number | null;
}

/** The data of a feed in the log and the settings. */
export interface KnownOfFeed {
  /** The last committed offset; null: none. */
  readonly offset: SourceOffset | null;
  readonly owner: string | null;
  readonly deadLetters: number;
  /** Reason of the latest dead letter; null: there is none, or it cannot be decoded. */
  readonly deadLetterReason: string | null;
  readonly api: string | null;
  /** Null on Kafka. */
  readonly space: LogSpace | null;
}

export function feedStatus(
  feed: Pick<Feed, 'name' | 'pollIntervalMs'>,
  { offset, owner, deadLetters, deadLetterReason, api, space }: KnownOfFeed,
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
    problems: problemsOf(verdict, { feed: name, offset, deadLetters, deadLetterReason }, nowMs),
    api,
    log_bytes: space?.total ?? null,
    log_free_bytes: space?.free ?? null,
  };
}

/** The feed is not as it should be, and the log has no error: the publisher on this machine may know why. */
export function isUnexplained({ condition, last_error: error, parked }: FeedStatus): boolean {
  return condition !== 'up-to-date' && condition !== 'paused' && error === null && parked === null;
}

/** Problems that follow from a cause that the log does not have. */
const consequences = ['NO_OWNER', 'OWNER_UNKNOWN', 'BEHIND'];

/** The feed with what the publisher on this machine says of it, if the log does not explain how it stands. */
export function explained(status: FeedStatus, view: PublisherView | null): FeedStatus {
  const cause = view === null || !isUnexplained(status) ? null : problemAtPublisher(view, status.feed);
  if (cause === null) return status;
  const others = status.problems.filter(({ code }) => !consequences.includes(code));
  const condition = view!.unready.get(status.feed)?.isParked ? 'parked' : status.condition;
  return { ...status, condition, reason: cause.what, problems: [cause, ...others] };
}

/**
 * Reads the status of each feed from the log.
 * @throws HighwaterError LOG_MISSING and errors of the log, the registry and the group of publishers; the signal's reason
 */
export async function readStatus(
  config: Config,
  open: OpenReader,
  signal: AbortSignal,
): Promise<readonly FeedStatus[]> {
  const names = await unlessAborted(open.commitLog.topicNames(), signal);
  if (names === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${open.place} yet`);
  const inLog = new Set(names);
  const [offsets, letters, owners] = await Promise.all([
    storedOffsets(config, inLog, open, signal),
    storedDeadLetters(config, inLog, open, signal),
    open.commitLog.owners(
      config.feeds.map(({ name }) => name),
      signal,
    ),
  ]);
  signal.throwIfAborted();
  const space = open.space?.() ?? null;
  const now = Date.now();
  const reasons = await latestReasons(letters, open.registry);
  return config.feeds.map((feed) => {
    const known: KnownOfFeed = {
      offset: offsets.get(feed.name) ?? null,
      owner: owners.get(feed.name) ?? null,
      deadLetters: letters?.get(feed.name)?.count ?? 0,
      deadLetterReason: reasons.get(feed.name) ?? null,
      api: feed.apiUrl ?? config.apiUrl,
      space,
    };
    return feedStatus(feed, known, now);
  });
}
