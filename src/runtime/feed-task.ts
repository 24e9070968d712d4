import { joinSignals, pause } from '../async/wait';
import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { PollDeps } from '../pipeline/poll';
import { movePosition } from '../pipeline/transaction/transact';
import type { Redact } from '../secrets/redaction';
import type { Rotation } from '../secrets/rotation';
import {
  awaitsSecret,
  endsOwnership,
  endsWorker,
  eventFor,
  isForOthers,
  pauseAfter,
} from './failure-answers';
import { type FeedTenureDeps, feedTenure } from './feed-tenure';

/** How the last poll of a feed went. */
export interface FeedTaskReport {
  readonly feed: string;
  readonly error: HighwaterError | null;
  /** The last poll reached the end of the server's records. Also true for a paused feed. */
  readonly complete: boolean;
  /** Error of the last commit, if the signal came before a poll succeeded: nobody tries it again. */
  readonly notCommitted: HighwaterError | null;
}

export interface FeedTaskDeps extends FeedTenureDeps {
  /** For errors that are stored in the log, whose readers do not know the secrets. */
  readonly redact: Redact;
  /** Checks whether secrets were replaced, for a feed that is parked because a secret was refused. */
  readonly rotation: Pick<Rotation, 'changes' | 'look'>;
}

/**
 * The loop of one feed: wait until it is this instance's, acquire and restore, then poll at its interval until the signal,
 * with commands in between. Errors are answered here: retried with growing pauses, or the feed is parked, so that no other
 * feed notices (I9). The signal ends it after the page that is being committed, and so does another instance that gets the feed.
 *
 * @param once ends after the first poll, with any outcome
 * @throws HighwaterError LOG_* when the log cannot be published to at all: another process holds it, it cannot be written, it
 * was deleted or moved
 */
export async function runFeedTask(
  feed: Feed,
  deps: FeedTaskDeps,
  once: boolean,
  signal: AbortSignal,
): Promise<FeedTaskReport> {
  const { logger, inbox, membership, rotation } = deps;
  const tenure = feedTenure(feed, deps, once, signal);
  let trouble = noTrouble;

  /** @param notCommitted error of a commit that is not tried again */
  function report(notCommitted: HighwaterError | null): FeedTaskReport {
    const isPaused = tenure.owned?.deps.state.offset.paused ?? false;
    const complete = isPaused || (tenure.held?.work.lastPoll?.complete ?? false);
    return { feed: feed.name, error: trouble.error, complete, notCommitted };
  }

  function explain({ message, code, now, remedy }: HighwaterError, facts: object): void {
    const unrepeated = 'The poll failed and is not repeated; other feeds are not concerned.';
    logger.error(message, { feed: feed.name, code, now: once ? unrepeated : now, remedy, ...facts });
  }

  /** @throws the error when it ends the worker */
  async function answer(error: HighwaterError): Promise<void> {
    const { held, owned } = tenure;
    const { code, kind, message } = error;
    const tell = (retryInMs: number | null): void =>
      deps.tell({
        kind: 'failed',
        feed: feed.name,
        code,
        parks: kind.parks,
        what: deps.redact(message),
        retryInMs,
      });
    // Another instance may own this feed without owning all of them.
    const isOthers = held === null && code === 'LOG_OWNED';
    if (endsWorker(code, owned !== null) && !isOthers) {
      tell(null);
      throw error;
    }
    // A feed without a grant asks again at once: it may be granted as soon as the other instances can be reached.
    if (held === null && !once) {
      tell(null);
      if (trouble.error?.code !== code) explain(error, {});
      trouble = { ...trouble, error };
      return;
    }
    // An error of acquiring the feed is not that of a page.
    const notCommitted = (owned === null ? null : ofLog(error)) ?? trouble.notCommitted;
    trouble = { error, failures: trouble.failures + 1, notCommitted };
    const event = eventFor(code, owned !== null);
    if (owned === null && isForOthers(event, trouble.failures)) membership.decline(feed.name);
    const isKept = owned !== null && !endsOwnership(code, trouble.failures);
    const ownPauseMs = pauseAfter(event, trouble.failures, feed.pollIntervalMs, isKept, Math.random());
    const pauseMs = Math.max(ownPauseMs, error.retryAfterMs ?? 0);
    held?.work.postpone(pauseMs);
    tell(once ? null : pauseMs);
    explain(error, once ? {} : { retryInMs: Math.round(pauseMs) });
    if (!isKept || !(await keepError(feed, owned.deps, error, event === 'parked', deps.redact)))
      await tenure.release();
  }

  /** Waits until something is due, a command comes, or the secret that was refused is replaced. @param changes before the refusal */
  async function idle(changes: number): Promise<void> {
    const { held, owned } = tenure;
    const woken = new AbortController();
    const { signal: over, leave } = joinSignals([held?.over ?? signal, woken.signal]);
    // A timer holds no more than 2^31 ms.
    const due = Math.min(held?.work.untilDue() ?? ASK_AGAIN_MS, 86_400_000);
    await Promise.race([
      pause(due, over),
      ...(owned === null ? [] : [inbox.filled(over)]),
      ...(awaitsSecret(trouble.error?.code) ? [replaced(rotation, changes, over)] : []),
    ]);
    woken.abort();
    leave();
    if (awaitsSecret(trouble.error?.code) && rotation.changes !== changes) held?.work.postpone(0);
  }

  try {
    while (!signal.aborted) {
      const { changes } = rotation;
      if (tenure.isRevoked) {
        await tenure.leave();
        trouble = noTrouble;
      }
      try {
        const { held, owned } = await tenure.own(trouble.error?.code === 'LOG_TOPIC_LOST');
        if (await held.work.turn(owned, held.over)) {
          if (trouble.error !== null)
            logger.info(`Feed ${feed.name} is read again.`, { feed: feed.name, after: trouble.error.code });
          trouble = noTrouble;
        }
      } catch (thrown) {
        if (signal.aborted) return report(ofLog(thrown) ?? trouble.notCommitted);
        if (tenure.isRevoked) continue;
        await answer(asHighwaterError(feed, thrown));
      }
      if (once) break;
      await idle(changes);
    }
    return report(trouble.notCommitted);
  } finally {
    await tenure.leave();
  }
}

const ASK_AGAIN_MS = 1_000;
/** How often a parked feed looks for a replaced secret. */
const LOOK_MS = 2_000;

/** Failures since the feed was last read. */
interface Trouble {
  readonly error: HighwaterError | null;
  /** In a row, since the feed was granted. */
  readonly failures: number;
  /** The last error of the log among them. */
  readonly notCommitted: HighwaterError | null;
}

const noTrouble: Trouble = { error: null, failures: 0, notCommitted: null };

/** Resolves once a secret was replaced. The signal ends it, too. */
async function replaced(
  rotation: FeedTaskDeps['rotation'],
  changes: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await rotation.look()) === changes) await pause(LOOK_MS, signal);
}

/**
 * The last error goes into the source offset, where `status` finds it; a failure of that is the log's next error.
 * @returns false when the write showed that this process no longer owns the feed
 */
async function keepError(
  feed: Feed,
  deps: PollDeps,
  error: HighwaterError,
  parks: boolean,
  redact: Redact,
): Promise<boolean> {
  const last_error = `${error.code}: ${redact(error.message)}`;
  const parked = parks ? error.code : null;
  const { storedOffset: stored } = deps.state;
  const isStored =
    last_error === stored.last_error &&
    parked === stored.parked &&
    feed.pollIntervalMs === stored.poll_interval_ms;
  if (isStored) return true;
  try {
    await movePosition(deps, { last_error, parked });
    return true;
  } catch (cause) {
    const { code } = asHighwaterError(feed, cause);
    deps.logger.debug('the error could not be stored', { feed: feed.name, code });
    return !endsOwnership(code, 1);
  }
}

/** An error of the log; null for one of the API, and for the signal's own reason. */
function ofLog(thrown: unknown): HighwaterError | null {
  return thrown instanceof HighwaterError && /^(LOG|KAFKA)_/.test(thrown.code) ? thrown : null;
}

function asHighwaterError(feed: Feed, thrown: unknown): HighwaterError {
  if (thrown instanceof HighwaterError) return thrown;
  const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new HighwaterError('UNEXPECTED', `Feed ${feed.name}: ${what}`, { cause: thrown });
}
