import type { Inbox } from '../commands/inbox';
import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { Grant, Membership } from '../log/membership';
import { commit } from '../pipeline/commit';
import { encodeTransaction } from '../pipeline/encode';
import type { PollDeps } from '../pipeline/poll';
import type { Redact } from '../redaction';
import { joinSignals, pause } from '../wait';
import {
  endsOwnership,
  endsWorker,
  eventFor,
  type FeedTaskState,
  isForOthers,
  nextState,
  pauseAfter,
} from './feed-task-state';
import { feedWork } from './feed-work';
import { acquireFeed, type OwnedFeed, type OwnedFeedDeps } from './owned-feed';
import type { Tell } from './publisher-events';

/** How the last poll of a feed went. */
export interface FeedTaskReport {
  readonly feed: string;
  readonly error: HighwaterError | null;
  /** The last poll reached the end of what the server showed; also of a feed that an operator has paused. */
  readonly complete: boolean;
  /** What the log said to the last commit, when the signal came meanwhile: nobody tries it again. */
  readonly notCommitted: HighwaterError | null;
}

export interface FeedTaskDeps extends OwnedFeedDeps {
  /** By which this instance is told which feeds are its own. */
  readonly membership: Membership;
  readonly tell: Tell;
  /** For what is kept in the log of an error, where whoever reads it knows no secrets. */
  readonly redact: Redact;
  /** Commands for this feed: taken between polls, while it is owned. */
  readonly inbox: Inbox;
}

/**
 * The loop of one feed: wait until it is this instance's, acquire and restore, then poll at its interval until the signal,
 * with commands in between. Errors are answered here: retried with growing pauses, or the feed is parked, so that no other
 * feed notices (I9). The signal ends it after the page that is being committed, and so does another instance that gets the feed.
 *
 * @param once ends after the first poll, whatever its outcome
 * @throws HighwaterError LOG_* when the log cannot be published to at all: another process holds it, it cannot be written
 */
export async function runFeedTask(
  feed: Feed,
  deps: FeedTaskDeps,
  once: boolean,
  signal: AbortSignal,
): Promise<FeedTaskReport> {
  const { logger, inbox, membership } = deps;
  let work = feedWork(feed, deps, once);
  let state: FeedTaskState = 'starting';
  let hold: Hold | null = null;
  let owned: OwnedFeed | null = null;
  let failures = 0;
  let error: HighwaterError | null = null;
  let notCommitted: HighwaterError | null = null;
  let isPaused = false;

  function tell({ message, code, now, remedy }: HighwaterError, facts: object): void {
    const unrepeated = 'The poll failed and is not repeated; other feeds are not concerned.';
    logger.error(message, { feed: feed.name, code, now: once ? unrepeated : now, remedy, ...facts });
  }

  try {
    while (!signal.aborted) {
      if (hold?.grant.revoked.aborted) {
        owned = await letGo(owned);
        state = nextState(state, 'revoked');
        work = feedWork(feed, deps, once);
        [hold, failures, error] = [null, 0, null];
      }
      try {
        hold ??= await holdFeed(feed, deps, signal);
        owned ??= await takeOver(feed, deps, hold);
        const { over } = hold;
        if (state === 'starting') state = nextState(state, 'acquired');
        const isPolled = await work.turn(owned, over);
        if (isPolled && error !== null)
          logger.info(`Feed ${feed.name} is read again.`, { feed: feed.name, after: error.code });
        if (isPolled) [failures, error] = [0, null];
        isPaused = owned.deps.state.offset.paused;
        state = nextState(state, 'polled');
      } catch (thrown) {
        if (signal.aborted) {
          notCommitted = ofLog(thrown);
          break;
        }
        if (hold?.grant.revoked.aborted) continue;
        const before: HighwaterError | null = error;
        error = asHighwaterError(feed, thrown);
        const { code, kind, message } = error;
        deps.tell({ kind: 'failed', feed: feed.name, code, parks: kind.parks, what: deps.redact(message) });
        // Another instance that has this feed has not all of them.
        const isOthers = hold === null && error.code === 'LOG_OWNED';
        if (owned === null && endsWorker(error.code) && !isOthers) throw error;
        const event = eventFor(error.code);
        state = nextState(state, event);
        // Who waits for the others' word asks again at once: the feed may be its own as soon as they can be reached.
        if (hold === null && !once) {
          if (before?.code !== error.code) tell(error, {});
          work.postpone(ASK_AGAIN_MS);
          await idle(ASK_AGAIN_MS, null, signal);
          if (!signal.aborted && state !== 'starting') state = nextState(state, 'due');
          continue;
        }
        failures++;
        const isKept = owned !== null && !endsOwnership(error.code, failures);
        if (owned === null && isForOthers(event, failures)) membership.decline(feed.name);
        const pauseMs = pauseAfter(event, failures, feed.pollIntervalMs, isKept, Math.random());
        work.postpone(pauseMs);
        tell(error, once ? {} : { retryInMs: Math.round(pauseMs) });
        if (!isKept || !(await keepError(feed, owned!.deps, error, event === 'parked', deps.redact)))
          owned = await letGo(owned);
      }
      if (once) break;
      const over: AbortSignal = hold?.over ?? signal;
      await idle(work.untilDue(), owned === null ? null : inbox, over);
      if (!over.aborted && state !== 'starting') state = nextState(state, 'due');
    }
    const complete = isPaused || (work.lastPoll?.complete ?? false);
    return { feed: feed.name, error, complete, notCommitted };
  } finally {
    nextState(state, 'stop');
    await letGo(owned);
  }
}

const ASK_AGAIN_MS = 1_000;

/** The feed is this instance's until `over`: it was revoked, or the signal came. */
interface Hold {
  readonly grant: Grant;
  readonly over: AbortSignal;
}

async function holdFeed(feed: Feed, { membership, tell }: FeedTaskDeps, signal: AbortSignal): Promise<Hold> {
  tell({ kind: 'waiting', feed: feed.name });
  const grant = await membership.grant(feed.name, signal);
  return { grant, over: AbortSignal.any([signal, grant.revoked]) };
}

async function takeOver(feed: Feed, deps: FeedTaskDeps, { grant, over }: Hold): Promise<OwnedFeed> {
  const { tell } = deps;
  tell({ kind: 'restoring', feed: feed.name });
  const onTouch = () => tell({ kind: 'touched', feed: feed.name });
  const onOtherChanges: NonNullable<PollDeps['onOtherChanges']> = (changes, observedAtMs) =>
    tell({ kind: 'otherChanges', feed: feed.name, changes, observedAtMs });
  // A sign of life: a large state takes a while, and nobody must take that for a loop that stands still.
  const onRestore: OwnedFeedDeps['onRestore'] = (name, progress) => {
    deps.onRestore?.(name, progress);
    tell({ kind: 'restoring', feed: name });
  };
  const owned = await acquireFeed(feed, { ...deps, onTouch, onOtherChanges, onRestore }, over, grant);
  const { state, drift } = owned.deps;
  tell({ kind: 'acquired', feed: feed.name, state, drift });
  return owned;
}

/** Until something is due, a command comes, or the signal. */
async function idle(ms: number, inbox: Inbox | null, signal: AbortSignal): Promise<void> {
  const woken = new AbortController();
  const either = joinSignals([signal, woken.signal]);
  const over = either.signal;
  // A timer holds no more than 2^31 ms.
  await Promise.race([
    pause(Math.min(ms, 86_400_000), over),
    ...(inbox === null ? [] : [inbox.filled(over)]),
  ]);
  woken.abort();
  either.leave();
}

/** What goes wrong in letting go must not hide why, nor end the other feeds: the next owner fences this one anyway. */
async function letGo(owned: OwnedFeed | null): Promise<null> {
  await owned?.session.release().catch((error: unknown) => {
    owned.deps.logger.debug('the feed could not be released', { feed: owned.deps.topics.feed, error });
  });
  return null;
}

/**
 * The last error goes into the source offset, where `status` finds it; a failure of that is the log's next error.
 * @returns false when it showed that the feed is owned no more
 */
async function keepError(
  feed: Feed,
  deps: PollDeps,
  error: HighwaterError,
  parks: boolean,
  redact: Redact,
): Promise<boolean> {
  const { state, session, topics, codec, instance: owner } = deps;
  const last_error = `${error.code}: ${redact(error.message)}`;
  const parked = parks ? error.code : null;
  if (last_error === state.offset.last_error && parked === state.offset.parked) return true;
  const pending = state.begin();
  pending.moveOffset({ last_error, parked });
  const context = { feed, topics, codec, owner, ownerEpoch: session.ownerEpoch, observedAtMs: Date.now() };
  try {
    await commit(encodeTransaction([], pending, context, session), pending, session);
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
