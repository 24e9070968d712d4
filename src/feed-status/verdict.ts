import type { Feed } from '../feeds/feed';
import type { SourceOffset } from '../state/source-offset';

/**
 * The data for a verdict on a feed: from its publisher, from an instance that waits for it, or from a command that reads the log.
 */
export interface FeedKnowledge {
  readonly feed: Pick<Feed, 'pollIntervalMs'>;
  /** The position of the feed's owner; null: nothing is committed, or it is not known. */
  readonly offset: SourceOffset | null;
  readonly owner: FeedOwner;
  /** The knowledge of this process if it publishes; null in a command that reads the log. */
  readonly live: LiveKnowledge | null;
}

/** Whether a live instance has the feed. */
export type FeedOwner = 'live' | 'none' | 'unknown';

export interface LiveKnowledge {
  /** `waiting`: another instance may have the feed. */
  readonly phase: 'waiting' | 'restoring' | 'owned';
  /** The last failure, until a poll succeeds. */
  readonly failure: FeedFailure | null;
}

export interface FeedFailure {
  /** A code of the table of errors; a publisher of another version may have other codes. */
  readonly code: string;
  /** The feed is parked by it. */
  readonly parks: boolean;
  /** For people, without secrets. */
  readonly what: string;
  /** When the feed was last well, and when it is tried again, ms since 1970; left out or null: not known. */
  readonly sinceMs?: number;
  readonly retryAtMs?: number | null;
}

export type FeedCondition =
  | 'up-to-date'
  | 'paused'
  | 'standby'
  | 'no-owner'
  | 'owner-unknown'
  | 'restoring'
  | 'parked'
  | 'behind';

/** How a feed stands: the same for `status`, `/readyz`, metrics, the dashboard and `doctor`. */
export interface FeedVerdict {
  readonly condition: FeedCondition;
  /** For people, without the feed's name. Holds codes of errors, never their texts. */
  readonly reason: string;
  /** The feed is up to date, or another instance sees to it, or an operator wants it as it is. */
  readonly ready: boolean;
  /** The last complete scan is older than three poll intervals, and the feed is not paused. */
  readonly behind: boolean;
  /** A snapshot runs, and nothing fails: only time is missing. */
  readonly isBeingRead: boolean;
  /** The problem of the feed. */
  readonly failure: FeedFailure | null;
  /** The publisher's poll interval. */
  readonly pollIntervalMs: number;
}

/** A feed is behind after this many poll intervals without a complete scan. */
const INTERVALS = 3;

const readyConditions: readonly FeedCondition[] = ['up-to-date', 'paused', 'standby'];

export function verdictOf(knowledge: FeedKnowledge, nowMs: number): FeedVerdict {
  const { offset } = knowledge;
  const failure = failureOf(knowledge);
  const pollIntervalMs = intervalOf(knowledge);
  const scanned = offset?.last_complete_scan_ms ?? null;
  const isLate = scanned === null || nowMs - scanned > INTERVALS * pollIntervalMs;
  const condition = conditionOf(knowledge, failure, isLate);
  return {
    condition,
    reason: reasonFor(condition, failure, offset, nowMs),
    ready: readyConditions.includes(condition),
    behind: isLate && condition !== 'paused' && condition !== 'standby',
    isBeingRead: failure === null && (offset?.snapshot ?? 'pending') !== 'complete',
    failure,
    pollIntervalMs,
  };
}

/** An owner's own setting may be newer than its last commit; of other owners the log has it. */
function intervalOf({ feed, offset, live }: FeedKnowledge): number {
  const isOwn = live !== null && live.phase !== 'waiting';
  return isOwn ? feed.pollIntervalMs : (offset?.poll_interval_ms ?? feed.pollIntervalMs);
}

/** An error that kept a waiting instance from a feed does not concern the feed while another instance has it. */
function failureOf({ offset, owner, live }: FeedKnowledge): FeedFailure | null {
  if (live === null || (live.phase === 'waiting' && owner === 'live')) return storedFailure(offset);
  return live.phase === 'waiting' ? live.failure : (live.failure ?? storedFailure(offset));
}

/** `last_error` is `CODE: what happened`. */
function storedFailure(offset: SourceOffset | null): FeedFailure | null {
  const { last_error: stored = null, parked = null } = offset ?? {};
  if (stored === null && parked === null) return null;
  const [, code = parked ?? 'UNEXPECTED', what = stored ?? ''] =
    /^([A-Z][A-Z0-9_]*): ([\s\S]*)$/.exec(stored ?? '') ?? [];
  return { code, parks: parked !== null, what };
}

function conditionOf(
  { offset, owner, live }: FeedKnowledge,
  failure: FeedFailure | null,
  isLate: boolean,
): FeedCondition {
  const isWaiting = live?.phase === 'waiting';
  const isOwn = live !== null && !isWaiting;
  if (offset?.paused) return 'paused';
  if (!isOwn && owner === 'unknown') return 'owner-unknown';
  // Without an owner only this instance tries again.
  if (failure?.parks && (owner === 'live' || live !== null)) return 'parked';
  if (isOwn && (live.phase === 'restoring' || offset === null)) return 'restoring';
  if (!isOwn && owner === 'none') return 'no-owner';
  if (isWaiting && (offset === null || !isLate)) return 'standby';
  return isLate ? 'behind' : 'up-to-date';
}

function reasonFor(
  condition: FeedCondition,
  failure: FeedFailure | null,
  offset: SourceOffset | null,
  nowMs: number,
): string {
  const after = failure === null ? '' : `, last failure: ${failure.code}`;
  switch (condition) {
    case 'paused':
      return 'paused by an operator';
    case 'standby':
      return 'another instance has it; this one takes over when that ends';
    case 'parked':
      return `parked by ${failure!.code}, tried again slowly`;
    case 'no-owner':
      return `no live instance has it${after}`;
    case 'owner-unknown':
      return `the other instances cannot be asked now${after}`;
    case 'restoring':
      return `its state is being read back${after}`;
    case 'up-to-date':
      return `completely read within three intervals${after}`;
    case 'behind': {
      const scanned = offset?.last_complete_scan_ms ?? null;
      if (scanned === null)
        return `not completely read so far, snapshot ${offset?.snapshot ?? 'pending'}${after}`;
      return `last completely read ${Math.round((nowMs - scanned) / 1_000)} s ago${after}`;
    }
  }
}
