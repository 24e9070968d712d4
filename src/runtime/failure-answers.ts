import { type ErrorCode, errorKinds } from '../errors';

type FailureEvent = 'failed' | 'parked' | 'fenced';

/**
 * The consequence of an error for its feed.
 * @param isOwned false: without the log this process reads no commands either, so that no `resume` would end a long pause
 */
export function eventFor(code: ErrorCode, isOwned: boolean): FailureEvent {
  if (code === 'LOG_FENCED') return 'fenced';
  if (code === 'LOG_FULL' && !isOwned) return 'failed';
  return errorKinds[code].parks ? 'parked' : 'failed';
}

/** No feed can be published to this log, or not with these settings: a process that went on would only look alive. */
const unusableLog: readonly ErrorCode[] = [
  ...(['LOG_OWNED', 'LOG_UNWRITABLE', 'LOG_CORRUPT', 'LOG_NEWER', 'LOG_UNRESTORED'] as const),
  'CONFIG_INVALID',
];

/** Whether an error ends the whole worker. @param isOwned the feed that met it was owned by then */
export function endsWorker(code: ErrorCode, isOwned: boolean): boolean {
  return code === 'LOG_GONE' || (!isOwned && unusableLog.includes(code));
}

/**
 * After these the feed is acquired again, and its state read back: the session is of no more use, or something about the
 * topics has changed (settings, permissions) that acquiring looks at and names.
 */
const losesFeed: readonly ErrorCode[] = [
  'LOG_FENCED',
  'LOG_OUTCOME_UNKNOWN',
  'LOG_TOPIC_LOST',
  'LOG_TOPIC_MISMATCH',
  'LOG_CLOSED',
  'KAFKA_FORBIDDEN',
  'STATE_FILE_DAMAGED',
];

/** Errors that pass by themselves are over by then. A limit that was lowered still applies. */
const FAILURES_KEPT = 3;

/** @param failures how many in a row, this one included */
export function endsOwnership(code: ErrorCode, failures: number): boolean {
  return losesFeed.includes(code) || (code === 'LOG_FAILED' && failures >= FAILURES_KEPT);
}

/** A server refused a secret, or showed a certificate that is not trusted, or a secret cannot be read yet. */
const refusals: readonly ErrorCode[] = [
  ...(['SOURCE_UNAUTHORIZED', 'SOURCE_FORBIDDEN', 'SOURCE_CERTIFICATE'] as const),
  ...(['SOURCE_TOKEN_REFUSED', 'SOURCE_TOKEN_UNAVAILABLE'] as const),
  ...(['KAFKA_UNAUTHENTICATED', 'KAFKA_CERTIFICATE'] as const),
  ...(['REGISTRY_UNAUTHORIZED', 'REGISTRY_CERTIFICATE'] as const),
];

/** Whether the feed may be well as soon as a secret or a certificate is replaced. */
export function awaitsSecret(code: ErrorCode | undefined): boolean {
  return code !== undefined && refusals.includes(code);
}

/** Whether a feed that could not be acquired is left to another instance, because only this one may have the problem. */
export function isForOthers(event: FailureEvent, failures: number): boolean {
  return event === 'parked' || (event === 'failed' && failures >= FAILURES_KEPT);
}

const MOST_BACKOFF_MS = 5 * 60_000;
const LEAST_PARKED_MS = 5 * 60_000;

/** Brokers and registries come back within seconds, and asking them costs the vendor nothing. */
const ACQUIRE_MS = { first: 1_000, most: 60_000 };

/**
 * How long to wait before the next try, in ms. Each page has had its own retries already.
 * @param isOwned false: it was the log or the registry that could not be used
 */
export function pauseAfter(
  event: FailureEvent,
  failures: number,
  intervalMs: number,
  isOwned: boolean,
  random: number,
): number {
  if (event === 'parked') return Math.max(LEAST_PARKED_MS, 5 * intervalMs);
  const first = isOwned ? intervalMs : Math.min(intervalMs, ACQUIRE_MS.first);
  const longest = isOwned ? MOST_BACKOFF_MS : ACQUIRE_MS.most;
  const most = Math.max(first, Math.min(longest, first * 2 ** (failures - 1)));
  // Half of it is jitter: many feeds behind one server must not come back together.
  return most / 2 + (most / 2) * random;
}
