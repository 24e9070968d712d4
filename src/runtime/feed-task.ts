import { setTimeout as sleep } from 'node:timers/promises';
import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import { commit } from '../pipeline/commit';
import { encodeTransaction } from '../pipeline/encode';
import { type PollDeps, poll } from '../pipeline/poll';
import { pollRound } from '../pipeline/round';
import {
  endsOwnership,
  endsWorker,
  eventFor,
  type FeedTaskState,
  nextState,
  pauseAfter,
} from './feed-task-state';
import { acquireFeed, type OwnedFeed, type OwnedFeedDeps } from './owned-feed';

/** How the last poll of a feed went. */
export interface FeedTaskReport {
  readonly feed: string;
  readonly error: HighwaterError | null;
  /** The last poll reached the end of what the server showed. */
  readonly complete: boolean;
  /** What the log said to the last commit, when the signal came meanwhile: nobody tries it again. */
  readonly notCommitted: HighwaterError | null;
}

/**
 * The loop of one feed: acquire and restore, then poll at its interval until the signal. Errors are answered here: retried
 * with growing pauses, or the feed is parked, so that no other feed notices (I9). The signal ends it after the page that
 * is being committed.
 *
 * @param once ends after the first poll, whatever its outcome
 * @throws HighwaterError LOG_* when the log cannot be published to at all: another process holds it, it cannot be written
 */
export async function runFeedTask(
  feed: Feed,
  deps: OwnedFeedDeps,
  once: boolean,
  signal: AbortSignal,
): Promise<FeedTaskReport> {
  const { logger } = deps;
  let state: FeedTaskState = 'starting';
  let owned: OwnedFeed | null = null;
  let failures = 0;
  let error: HighwaterError | null = null;
  let lastWide = Number.NEGATIVE_INFINITY;
  let complete = false;
  let notCommitted: HighwaterError | null = null;

  try {
    while (!signal.aborted) {
      const began = performance.now();
      let pauseMs: number;
      try {
        owned ??= await acquireFeed(feed, deps, signal);
        if (state === 'starting') state = nextState(state, 'acquired');
        // The first poll of an owner looks further back, and so does one now and then.
        const wide = began - lastWide >= feed.widePollEveryMs;
        complete = false;
        const result = await poll(
          feed,
          owned.deps,
          pollRound(feed, owned.deps.state.offset, wide, owned.deps),
          signal,
        );
        complete = result.complete;
        if (wide) lastWide = began;
        if (failures > 0 && error !== null)
          logger.info(`Feed ${feed.name} is read again.`, { feed: feed.name, after: error.code });
        logger.debug('polled', {
          feed: feed.name,
          wide,
          ms: Math.round(performance.now() - began),
          ...result,
        });
        failures = 0;
        error = null;
        state = nextState(state, 'polled');
        pauseMs = Math.max(0, began + feed.pollIntervalMs - performance.now());
      } catch (thrown) {
        if (signal.aborted) {
          notCommitted = ofLog(thrown);
          break;
        }
        error = asHighwaterError(feed, thrown);
        if (owned === null && endsWorker(error.code)) throw error;
        failures++;
        const event = eventFor(error.code);
        state = nextState(state, event);
        const isKept = owned !== null && !endsOwnership(error.code, failures);
        pauseMs = pauseAfter(event, failures, feed.pollIntervalMs, isKept, Math.random());
        logger.error(error.message, {
          feed: feed.name,
          code: error.code,
          now: once ? 'The poll failed and is not repeated; other feeds are not concerned.' : error.now,
          remedy: error.remedy,
          ...(once ? {} : { retryInMs: Math.round(pauseMs) }),
        });
        if (!isKept || !(await keepError(feed, owned!.deps, error, event === 'parked')))
          owned = await letGo(owned);
      }
      if (once) break;
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted && state !== 'starting') state = nextState(state, 'due');
    }
    return { feed: feed.name, error, complete, notCommitted };
  } finally {
    nextState(state, 'stop');
    await letGo(owned);
  }
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
): Promise<boolean> {
  const { state, session, topics, codec, instance: owner } = deps;
  const last_error = `${error.code}: ${error.message}`;
  const parked = parks ? error.code : null;
  if (last_error === state.offset.last_error && parked === state.offset.parked) return true;
  const pending = state.begin();
  pending.moveOffset({ last_error, parked });
  const context = { feed, topics, codec, owner, ownerEpoch: session.ownerEpoch, observedAtMs: Date.now() };
  try {
    await commit(encodeTransaction([], pending, context), pending, session);
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
