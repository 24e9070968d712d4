import { unlessAborted } from '../async/wait';
import type { ErrorCode } from '../errors';
import {
  type FeedKnowledge,
  type FeedStatus,
  feedStatus,
  isReady,
  type LiveKnowledge,
  type ReadyFeeds,
} from '../feed-status/feed-status';
import type { Feed } from '../feeds/feed';
import type { CommitLog } from '../log/commit-log';
import type { Drift } from '../pipeline/records/drift';
import type { PublisherEvent } from '../runtime/publisher-events';
import type { FeedState } from '../state/feed-state';
import type { SourceOffset } from '../state/source-offset';

/** Where each feed of this process stands, as far as the publisher has told. */
export type FeedBoard = ReturnType<typeof feedBoard>;

export interface FeedStanding extends LiveKnowledge {
  readonly feed: Feed;
  /** The feed's state while it is owned. */
  readonly state: FeedState | null;
  /** Drift in the answers that this process read. */
  readonly drift: Omit<Drift, 'first'> | null;
  /** Time of the last page that had changes, ms; null: no page in this process had any. */
  readonly lastChangeMs: number | null;
  /** When the feed's loop last did something, ms of `performance.now()`. */
  readonly lastSignMs: number;
  /** Counts since the process began. */
  readonly activity: ReturnType<typeof feedActivity>;
}

function feedActivity(clock: () => number) {
  return {
    /** Change events of the last 60 minutes, without the records that a snapshot reads. */
    changes: timeSlots(60, 60_000, clock),
    /** Requests and retries of the last minute. */
    requests: timeSlots(60, 1_000, clock),
    retries: timeSlots(60, 1_000, clock),
    /** By code, newest last. */
    errors: new Map<ErrorCode, { what: string; times: number; lastAtMs: number; lasts: boolean }>(),
    /** The number of changes that the feed's owner had committed when it was last looked at. */
    noted: null as (Omit<Committed, 'snapshot'> & { readonly atMs: number }) | null,
  };
}

type Committed = Pick<SourceOffset, 'incarnation' | 'seq' | 'snapshot'>;

/** Changes that were committed during a longer gap belong to minutes that were not counted. */
const LONGEST_GAP_MS = 90_000;

type Moving = { -readonly [field in keyof FeedStanding]: FeedStanding[field] };

/**
 * @param owners never rejects
 * @param clock ms, never set back
 */
export function feedBoard(
  feeds: readonly Feed[],
  owners: () => Promise<Owners>,
  clock = () => performance.now(),
) {
  const standings = new Map<string, Moving>(
    feeds.map((feed) => [
      feed.name,
      {
        feed,
        phase: 'waiting',
        failure: null,
        state: null,
        drift: null,
        lastChangeMs: null,
        lastSignMs: clock(),
        activity: feedActivity(clock),
      },
    ]),
  );

  /**
   * Takes note of how many changes a feed has, as its owner has committed it last. Changes are numbered without gaps, including
   * changes by commands and changes that another instance committed.
   * @param reads so many since the last note are records that were only read for the first time
   */
  function note(feed: string, { incarnation, seq, snapshot }: Committed, reads = 0): void {
    const standing = standings.get(feed);
    if (standing === undefined) return;
    const { activity, state } = standing;
    const { noted } = activity;
    const atMs = clock();
    const isNext = noted?.incarnation === incarnation;
    const isRecent = state !== null || (noted !== null && atMs - noted.atMs <= LONGEST_GAP_MS);
    const isOthersSnapshot = state === null && snapshot === 'running';
    if (isNext && isRecent && !isOthersSnapshot) activity.changes.add(Math.max(0, seq - noted.seq - reads));
    activity.noted = { incarnation, seq, atMs };
  }

  return {
    feeds: [...standings.values()] as readonly FeedStanding[],
    owners,
    note,
    tell(event: PublisherEvent): void {
      const standing = standings.get(event.feed);
      if (standing === undefined) return;
      standing.lastSignMs = clock();
      if (event.kind === 'acquired') note(event.feed, event.state.offset);
      move(standing, event);
      const reads = event.kind === 'page' ? event.report.changes.ops.r : 0;
      if (standing.state !== null) note(event.feed, standing.state.offset, reads);
    },
  };
}

function move(standing: Moving, event: PublisherEvent): void {
  const { requests, retries, errors } = standing.activity;
  switch (event.kind) {
    case 'waiting':
      // A failure of this instance to take the feed over does not affect the next owner.
      if (standing.phase !== 'waiting') standing.failure = null;
      standing.phase = 'waiting';
      break;
    case 'restoring':
      standing.phase = 'restoring';
      break;
    case 'acquired':
      standing.phase = 'owned';
      standing.state = event.state;
      standing.drift = event.drift;
      break;
    case 'released':
      // An instance that failed takes the feed again by itself; an instance that lost it to another waits. If the feed could not be
      // taken over, its session is released before the failure is told.
      if (standing.phase === 'owned') standing.phase = standing.failure === null ? 'waiting' : 'restoring';
      standing.state = null;
      break;
    case 'page':
      if (event.report.changes.count > 0) standing.lastChangeMs = event.report.observedAtMs;
      break;
    case 'otherChanges':
      if (event.changes.count > 0) standing.lastChangeMs = event.observedAtMs;
      break;
    case 'requested':
      requests.add(1);
      break;
    case 'retried':
      retries.add(1);
      break;
    case 'polled':
    case 'rested':
      standing.failure = null;
      for (const error of errors.values()) error.lasts = false;
      break;
    case 'failed': {
      const { code, what } = event;
      const times = (errors.get(code)?.times ?? 0) + 1;
      errors.delete(code);
      errors.set(code, { what, times, lastAtMs: Date.now(), lasts: true });
      standing.failure = {
        code: event.code,
        parks: event.parks,
        what: event.what,
        sinceMs: standing.failure?.sinceMs ?? Date.now(),
        retryAtMs: event.retryInMs === null ? null : Date.now() + event.retryInMs,
      };
      break;
    }
  }
}

/** Counts by spans of time of equal length, the last ones only. @param clock ms, never set back */
function timeSlots(slots: number, lengthMs: number, clock: () => number) {
  const counted: number[] = new Array(slots).fill(0);
  let at = Math.floor(clock() / lengthMs);

  function moveOn(): void {
    const now = Math.floor(clock() / lengthMs);
    for (let slot = Math.max(at + 1, now - slots + 1); slot <= now; slot++) counted[slot % slots] = 0;
    at = now;
  }

  function counts(): number[] {
    moveOn();
    return Array.from({ length: slots }, (_, i) => counted[(at + 1 + i) % slots]!);
  }

  return {
    add(count: number): void {
      moveOn();
      counted[at % slots]! += count;
    },
    /** Oldest first, the span under way last. */
    counts,
    sum: (): number => counts().reduce((total, count) => total + count, 0),
  };
}

/** Names of live instances by feed; null while that cannot be asked. */
export type Owners = ReadonlyMap<string, string> | null;

/** Probes come often; the coordinator of the group need not be asked for each. */
const KEEP_MS = 5_000;
/** Probes give up after seconds. */
const WAIT_MS = 2_000;

/** The owner of each feed, asked now and then. Never fails. */
export function ownersOf(log: Pick<CommitLog, 'owners'>, feeds: readonly string[]): () => Promise<Owners> {
  return askedNowAndThen<Owners>((signal) => log.owners(feeds, signal), null);
}

/** Never fails. @param unknown the answer while nobody can be asked */
export function askedNowAndThen<Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  unknown: Answer,
): () => Promise<Answer> {
  let asked: Promise<Answer> | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (asked === null || performance.now() - askedAt > KEEP_MS) {
      askedAt = performance.now();
      const late = AbortSignal.timeout(WAIT_MS);
      asked = unlessAborted(ask(late), late).catch(() => unknown);
    }
    return asked;
  };
}

/**
 * This process's knowledge of a feed.
 * @param stored position in the log, of a feed that another instance has; null: not read
 */
export function knowledgeOf(
  { feed, phase, failure, state }: FeedStanding,
  owners: Owners,
  stored: SourceOffset | null,
): FeedKnowledge {
  const live = { phase, failure };
  if (phase !== 'waiting') return { feed, offset: state?.offset ?? null, owner: 'this instance', live };
  return { feed, offset: stored, owner: owners === null ? undefined : (owners.get(feed.name) ?? null), live };
}

/** The other instances are asked when a feed may be theirs. */
export async function ownersFor({ feeds, owners }: Pick<FeedBoard, 'feeds' | 'owners'>): Promise<Owners> {
  return feeds.some(({ phase }) => phase === 'waiting') ? owners() : new Map();
}

/**
 * How each feed stands, without a look into the log: if an instance that waits were not ready because another cannot read the feed, a
 * roll-out of the settings that help would never end.
 */
export async function boardStatus(
  board: Pick<FeedBoard, 'feeds' | 'owners'>,
): Promise<readonly FeedStatus[]> {
  const known = await ownersFor(board);
  return board.feeds.map((standing) => feedStatus(knowledgeOf(standing, known, null), Date.now()));
}

/** The answers of `/readyz` and `/livez`: 200 if `ok`, else 503. */
export interface Health {
  readonly ok: boolean;
  /** Why not: `ipos: parked by SOURCE_UNAUTHORIZED, tried again slowly`. */
  readonly reasons: readonly string[];
  readonly feeds?: ReadyFeeds;
}

/** The answer of `/readyz`. */
export function readyHealth(all: readonly FeedStatus[]): Health {
  const reasons = all.filter((one) => !isReady(one)).map(({ feed, reason }) => `${feed}: ${reason}`);
  const feeds = all.map((one) => [
    one.feed,
    { ready: isReady(one), condition: one.condition, reason: one.reason },
  ]);
  return { ok: reasons.length === 0, reasons, feeds: Object.fromEntries(feeds) };
}

/** The answer of `/livez`. @param clockMs ms of `performance.now()` */
export function liveHealth({ feeds }: Pick<FeedBoard, 'feeds'>, clockMs = performance.now()): Health {
  const reasons = feeds.flatMap(({ feed, phase, lastSignMs }) => {
    const silentMs = clockMs - lastSignMs;
    // A loop that waits for another instance's feed has nothing to do.
    const isLive = phase === 'waiting' || silentMs <= Math.max(LEAST_SILENCE_MS, 10 * feed.pollIntervalMs);
    return isLive ? [] : [`${feed.name}: the loop has done nothing for ${Math.round(silentMs / 1_000)} s`];
  });
  return { ok: reasons.length === 0, reasons };
}

/** Longer than any pause that a feed's loop makes on purpose, and than a page with all its tries. */
const LEAST_SILENCE_MS = 15 * 60_000;
