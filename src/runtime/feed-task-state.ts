import { type ErrorCode, errorKinds } from '../errors';

/**
 * The states of a feed's loop and how it moves between them, apart from the loop that does the work (`feed-task.ts`).
 *
 *   starting ──acquired──▶ polling ──polled──▶ waiting ──due──▶ polling
 *                             │ failed                 ▲
 *                             ├──▶ backing-off ──due───┤
 *                             └ parked ──▶ parked ─due─┘        fenced: back to starting
 */
export type FeedTaskState = 'starting' | 'polling' | 'waiting' | 'backing-off' | 'parked' | 'stopped';
export type FeedTaskEvent = 'acquired' | 'polled' | 'due' | 'failed' | 'parked' | 'fenced' | 'stop';

/** Complete on purpose: the compiler asks what each event means in each state; null is a bug of the caller. */
const transitions: Record<FeedTaskState, Record<FeedTaskEvent, FeedTaskState | null>> = {
  starting: {
    acquired: 'polling',
    polled: null,
    due: 'starting',
    failed: 'backing-off',
    parked: 'parked',
    fenced: 'starting',
    stop: 'stopped',
  },
  polling: {
    acquired: null,
    polled: 'waiting',
    due: null,
    failed: 'backing-off',
    parked: 'parked',
    fenced: 'starting',
    stop: 'stopped',
  },
  waiting: {
    acquired: null,
    polled: null,
    due: 'polling',
    failed: null,
    parked: null,
    fenced: 'starting',
    stop: 'stopped',
  },
  'backing-off': {
    acquired: 'polling',
    polled: 'waiting',
    due: 'polling',
    failed: 'backing-off',
    parked: 'parked',
    fenced: 'starting',
    stop: 'stopped',
  },
  parked: {
    acquired: 'polling',
    polled: 'waiting',
    due: 'polling',
    failed: 'backing-off',
    parked: 'parked',
    fenced: 'starting',
    stop: 'stopped',
  },
  stopped: {
    acquired: null,
    polled: null,
    due: null,
    failed: null,
    parked: null,
    fenced: null,
    stop: 'stopped',
  },
};

export function nextState(state: FeedTaskState, event: FeedTaskEvent): FeedTaskState {
  const next = transitions[state][event];
  if (next === null) throw new Error(`feed task: event ${event} in state ${state}`);
  return next;
}

/** What an error means for the feed that met it. */
export function eventFor(code: ErrorCode | null): 'failed' | 'parked' | 'fenced' {
  if (code === 'LOG_FENCED') return 'fenced';
  return code !== null && errorKinds[code].parks ? 'parked' : 'failed';
}

const MOST_BACKOFF_MS = 5 * 60_000;
const LEAST_PARKED_MS = 5 * 60_000;

/** How long to wait before the next try, in ms. Each page has had its own retries already. */
export function pauseAfter(
  event: 'failed' | 'parked' | 'fenced',
  failures: number,
  intervalMs: number,
  random: number,
): number {
  if (event === 'parked') return Math.max(LEAST_PARKED_MS, 5 * intervalMs);
  const most = Math.max(intervalMs, Math.min(MOST_BACKOFF_MS, intervalMs * 2 ** (failures - 1)));
  // Half of it is jitter: many feeds behind one server must not come back together.
  return most / 2 + (most / 2) * random;
}
