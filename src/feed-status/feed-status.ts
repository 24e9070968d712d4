import { type ErrorCode, errorKinds } from '../errors';
import type { Feed } from '../feeds/feed';
import { counted } from '../format/counted';
import { durationText, settingText } from '../format/durations';
import { historyLost } from '../log/topics';
import type { DriftedMember, SourceOffset } from '../state/source-offset';

/** The data for the status of a feed: of its publisher, of an instance that waits for it, or of a command that reads the log. */
export interface FeedKnowledge {
  readonly feed: Pick<Feed, 'name' | 'pollIntervalMs' | 'reconcileEveryMs'>;
  /** The position of the feed's owner; null: nothing is committed, or it is not known. */
  readonly offset: SourceOffset | null;
  /** The live instance that has the feed; null: none has it; undefined: the instances cannot be asked. */
  readonly owner: string | null | undefined;
  /** The knowledge of this process if it publishes; null in a command that reads the log. */
  readonly live: LiveKnowledge | null;
  /** Null, or left out: not known. */
  readonly deadLetters?: number | null;
  /** Why the latest dead letter could not be published; null, or left out: none, or not known. */
  readonly deadLetterReason?: string | null;
  /** Share of the backfill that is read, 0 to 1. */
  readonly backfillDone?: number | null;
}

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

/**
 * How a feed stands: the same for `status`, `/readyz`, metrics, the dashboard and `doctor`. It is the contract of `status --json`,
 * with these members in this order. New members go to the end.
 */
export interface FeedStatus {
  readonly feed: string;
  /** The live instance that has the feed; null: none has it, or it is not known. */
  readonly owner: string | null;
  /** The last complete scan is older than three poll intervals, or ahead of the clock, and the feed is not paused. */
  readonly behind: boolean;
  /** Unix seconds of the vendor's clock (`updated`); null: nothing has been read. */
  readonly high_water_mark: number | null;
  readonly last_complete_scan_ms: number | null;
  readonly seconds_since_complete_scan: number | null;
  /** The publisher's poll interval; if the log has none, that of the settings. */
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
  /** Null: not known. */
  readonly dead_letters: number | null;
  /** Share of the backfill that is read, 0 to 1; null: none runs, or it is not known. */
  readonly backfill_done: number | null;
  readonly condition: FeedCondition;
  /** For people, without the feed's name. Holds codes of errors, never their texts. */
  readonly reason: string;
  /** A snapshot runs, and nothing fails: only time is missing. */
  readonly being_read: boolean;
  /** The worst first. */
  readonly problems: readonly FeedProblem[];
}

/** A feed is behind after this many poll intervals without a complete scan. */
const INTERVALS = 3;

/** Clocks of two machines may differ by this much. Nobody knows when a scan was that lies further ahead: its clock was wrong. */
const CLOCKS_DIFFER_MS = 60_000;

export function feedStatus(knowledge: FeedKnowledge, nowMs: number): FeedStatus {
  const { feed, offset, owner, deadLetters = null, backfillDone = null } = knowledge;
  const failure = failureOf(knowledge);
  const poll_interval_ms = intervalOf(knowledge);
  const scanned = offset?.last_complete_scan_ms ?? null;
  const mostMs = INTERVALS * poll_interval_ms;
  const isLate =
    scanned === null || nowMs - scanned > mostMs || scanned - nowMs > Math.max(mostMs, CLOCKS_DIFFER_MS);
  const condition = conditionOf(knowledge, failure, isLate);
  const being_read = failure === null && (offset?.snapshot ?? 'pending') !== 'complete';
  return {
    feed: feed.name,
    owner: owner ?? null,
    behind: isLate && condition !== 'paused' && condition !== 'standby',
    high_water_mark: offset?.high_water_mark ?? null,
    last_complete_scan_ms: scanned,
    seconds_since_complete_scan: scanned === null ? null : Math.round(Math.max(0, nowMs - scanned) / 1_000),
    poll_interval_ms,
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
    backfill_done: backfillDone === null ? null : Math.round(backfillDone * 1_000) / 1_000,
    condition,
    reason: reasonFor(condition, failure, offset, nowMs),
    being_read,
    problems: problemsOf(knowledge, { condition, being_read, failure, poll_interval_ms }, nowMs),
  };
}

/** By name, how each feed stands in the answer of `/readyz`. */
export type ReadyFeeds = Readonly<
  Record<string, Pick<FeedStatus, 'condition' | 'reason'> & { readonly ready: boolean }>
>;

/** The feed is up to date, or another instance sees to it, or an operator wants it as it is. */
export function isReady({ condition }: Pick<FeedStatus, 'condition'>): boolean {
  return condition === 'up-to-date' || condition === 'paused' || condition === 'standby';
}

/** An owner's own setting may be newer than its last commit; of other owners the log has it. */
function intervalOf({ feed, offset, live }: FeedKnowledge): number {
  const isOwn = live !== null && live.phase !== 'waiting';
  return isOwn ? feed.pollIntervalMs : (offset?.poll_interval_ms ?? feed.pollIntervalMs);
}

/** An error that kept a waiting instance from a feed does not concern the feed while another instance has it. */
function failureOf({ offset, owner, live }: FeedKnowledge): FeedFailure | null {
  if (live === null || (live.phase === 'waiting' && typeof owner === 'string')) return storedFailure(offset);
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
  if (!isOwn && owner === undefined) return 'owner-unknown';
  // Without an owner only this instance tries again.
  if (failure?.parks && (typeof owner === 'string' || live !== null)) return 'parked';
  if (isOwn && (live.phase === 'restoring' || offset === null)) return 'restoring';
  if (!isOwn && owner === null) return 'no-owner';
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
      const seconds = Math.round((nowMs - scanned) / 1_000);
      return seconds < 0
        ? `last completely read ${-seconds} s ahead of this machine's clock${after}`
        : `last completely read ${seconds} s ago${after}`;
    }
  }
}

/** Something about a feed that a person has to know or to do. */
export interface FeedProblem {
  /**
   * A code of the table of errors, or `NO_OWNER`, `OWNER_UNKNOWN`, `NO_ANSWER`, `BEHIND`, `PAUSED`,
   * `DEAD_LETTERS`, `DELETES_WITHHELD`, `RECONCILE_OVERDUE`, `DRIFT`, `NO_ROWS`.
   */
  readonly code: string;
  /** `bad`: the feed stands still until somebody acts. `note`: the feed is well all the same. */
  readonly severity: (typeof severities)[number];
  /** A sentence without the feed's name. */
  readonly what: string;
  readonly remedy: string;
}

const severities = ['bad', 'warning', 'note'] as const;

interface Judged extends Pick<FeedStatus, 'condition' | 'being_read' | 'poll_interval_ms'> {
  readonly failure: FeedFailure | null;
}

/** All problems of a feed, the worst first. */
function problemsOf(known: FeedKnowledge, judged: Judged, nowMs: number): FeedProblem[] {
  const { offset, deadLetters: letters } = known;
  const { condition, failure, being_read } = judged;
  const { name } = known.feed;
  const isWell = failure === null && condition !== 'paused' && condition !== 'behind';
  const found = [
    condition === 'paused' && paused(name),
    failure !== null && failureProblem(judged, failure, name),
    condition === 'no-owner' && noOwner,
    condition === 'owner-unknown' && ownerUnknown,
    condition === 'behind' && failure === null && !being_read && behind(judged, offset, nowMs),
    isWell && noRows(known),
    letters && deadLetters(name, letters, known.deadLetterReason ?? null),
    offset !== null && offset.lost_topics.length > 0 && lostHistory(name, offset.lost_topics),
    offset?.withheld_deletes && withheld(name, offset.withheld_deletes),
    condition !== 'parked' && reconcileOverdue(known, nowMs),
    offset !== null && offset.drift.length > 0 && drift(offset.drift),
  ].filter((problem) => typeof problem === 'object' && problem !== null);
  return found.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}

function failureProblem({ condition }: Judged, { code, what }: FeedFailure, feed: string): FeedProblem {
  const known = Object.hasOwn(errorKinds, code) ? errorKinds[code as ErrorCode] : null;
  const isBad = condition === 'parked' || condition === 'no-owner';
  return {
    code,
    severity: isReady({ condition }) ? 'note' : isBad ? 'bad' : 'warning',
    what: withoutFeedName(what, feed),
    remedy: known?.remedy ?? 'See the log of the publisher.',
  };
}

/** Many errors begin with the name of their feed, which stands beside them already. */
export function withoutFeedName(what: string, feed: string): string {
  return what.startsWith(`${feed}: `) ? what.slice(feed.length + 2) : what;
}

const noOwner: FeedProblem = {
  code: 'NO_OWNER',
  severity: 'bad',
  what: 'No live instance publishes it.',
  remedy:
    'Start a publisher that has this feed (`highwater run`, HIGHWATER_FEEDS). If one runs, it cannot take the feed over: its log and `highwater doctor` say why.',
};

const ownerUnknown: FeedProblem = {
  code: 'OWNER_UNKNOWN',
  severity: 'warning',
  what: 'The other instances cannot be asked whether they have it.',
  remedy: '`highwater doctor` says what does not answer.',
};

function paused(feed: string): FeedProblem {
  const what = 'Paused by an operator, and not polled.';
  return { code: 'PAUSED', severity: 'note', what, remedy: `\`highwater resume ${feed}\`` };
}

function behind({ poll_interval_ms }: Judged, offset: SourceOffset | null, nowMs: number): FeedProblem {
  const scanned = offset?.last_complete_scan_ms ?? null;
  const isAhead = scanned !== null && scanned > nowMs;
  const since =
    scanned === null
      ? 'never'
      : isAhead
        ? `${durationText(scanned - nowMs)} ahead of this machine's clock`
        : `${durationText(nowMs - scanned)} ago`;
  const first = isAhead
    ? 'Set up NTP on this machine and on that of the publisher: one of their clocks is wrong, or was.'
    : 'Nothing while a backfill or reconcile of a large feed runs.';
  return {
    code: 'BEHIND',
    severity: 'warning',
    what: `The last complete scan was ${since}, and a poll is due every ${settingText(poll_interval_ms)}.`,
    remedy: `${first} Else see the log of the publisher; \`highwater doctor\` tries the API and the log, step by step.`,
  };
}

/** @returns null unless the API was read to its end, and never showed a row */
function noRows({ feed, offset, deadLetters: letters }: FeedKnowledge): FeedProblem | null {
  const { last_complete_scan_ms: scanned = null, high_water_mark: mark, record_count } = offset ?? {};
  if (scanned === null || letters || mark !== 0 || record_count !== 0) return null;
  return {
    code: 'NO_ROWS',
    severity: 'warning',
    what: 'No rows yet: the API was read to its end, and has never shown one.',
    remedy: `If it should have some: \`highwater doctor\` tries the feed. Check path, query, paging and parameters of ${feed.name} in highwater.yaml; if the API answers only some days back, set beginAt and window.`,
  };
}

function deadLetters(feed: string, count: number, reason: string | null): FeedProblem {
  const latest = reason === null ? '' : ` The latest: ${reason}.`;
  return {
    code: 'DEAD_LETTERS',
    severity: 'warning',
    what: `${counted(count, 'row')} could not be published, and ${count === 1 ? 'is a dead letter' : 'are dead letters'}.${latest}`,
    remedy: `\`highwater dead-letters list ${feed}\` says why; then \`highwater dead-letters retry ${feed}\`.`,
  };
}

function lostHistory(feed: string, topics: readonly string[]): FeedProblem {
  const { code, message, remedy } = historyLost(feed, topics);
  return { code, severity: 'warning', what: message, remedy };
}

function withheld(feed: string, count: number): FeedProblem {
  return {
    code: 'DELETES_WITHHELD',
    severity: 'warning',
    what: `The last reconcile was not shown ${counted(count, 'record')} and kept ${count === 1 ? 'it' : 'them'}.`,
    remedy: `\`highwater reconcile ${feed} --dry-run\` says why and names some: ask the API for these. If it asks for --allow-deletes, and they are gone: \`highwater reconcile ${feed} --allow-deletes ${count}\`.`,
  };
}

/**
 * When the records of the feed were last compared with the whole API, Unix milliseconds: the last reconcile, or the snapshot; else the
 * feed's beginning. Null: the snapshot is not complete.
 */
export function comparedMs(offset: SourceOffset | null): number | null {
  if (offset?.snapshot !== 'complete') return null;
  return offset.last_reconcile_ms ?? offset.snapshot_completed_ms ?? (offset.begins_at * 1_000 || null);
}

/** A reconcile is overdue after this many of its intervals. */
const RECONCILE_INTERVALS = 2;

/** By the settings of this process. @returns null if none is, or if the last one withheld deletes: that is a problem of its own */
function reconcileOverdue({ feed, offset }: FeedKnowledge, nowMs: number): FeedProblem | null {
  const compared = comparedMs(offset);
  if (feed.reconcileEveryMs === null || compared === null) return null;
  const { paused: isPaused, withheld_deletes, last_reconcile_ms } = offset!;
  const isLate = nowMs - compared > RECONCILE_INTERVALS * feed.reconcileEveryMs;
  if (!isLate || isPaused || withheld_deletes > 0) return null;
  const last =
    last_reconcile_ms === null ? 'No reconcile has ended: the feed began' : 'The last reconcile ended';
  return {
    code: 'RECONCILE_OVERDUE',
    severity: 'warning',
    what: `${last} ${durationText(nowMs - compared)} ago, and one is due every ${settingText(feed.reconcileEveryMs)}. Deleted records are not noticed.`,
    remedy: `\`highwater reconcile ${feed.name}\` tries now and says why it fails, as the log of the publisher does. Beside \`run --once\`, run it from a timer.`,
  };
}

/** `cusip (text, 3 changes), prior.rating (list instead of string, 1 change)` */
export function driftText(members: readonly DriftedMember[]): string {
  return members
    .map(({ path, type, expected, count }) => {
      const is = expected === null ? type : `${type} instead of ${expected}`;
      return `${path} (${is}, ${counted(count, 'change')})`;
    })
    .join(', ');
}

function drift(members: readonly DriftedMember[]): FeedProblem {
  return {
    code: 'DRIFT',
    severity: 'note',
    what: `The API sends members that the schema does not have like this: ${driftText(members)}.`,
    remedy:
      'Nothing is lost: their values are JSON text in `extra`. A new version of the schema can add a field.',
  };
}
