import { pause, unlessAborted, untilAny } from '../async/wait';
import type { Command } from '../commands/command';
import type { Inbox } from '../commands/inbox';
import type { Feed } from '../feeds/feed';
import type { Logger } from '../logging/logger';
import { type PollResult, pollFeed } from '../pipeline/poll';
import { type ReconcileProgress, reconcile } from '../pipeline/rounds/reconcile';
import { movePosition } from '../pipeline/transaction/transact';
import type { Rotation } from '../secrets/rotation';
import { assertSameIdField } from '../state/restore';
import type { BackfillProgress } from '../state/source-offset';
import {
  backfill,
  carryOut,
  endsOnlyTheWork,
  failureOf,
  interrupted,
  patient,
  type Turns,
  tracedCommand,
} from './carry-out';
import { reconciled, reconcileLine } from './outcome-summaries';
import type { OwnedFeed } from './owned-feed';
import type { Tell } from './publisher-events';

export interface FeedWorkDeps {
  /** Commands for this feed: taken between polls, while it is owned. */
  readonly inbox: Inbox;
  readonly logger: Logger;
  readonly tell: Tell;
  /** The secrets, which an operator may have repaired before `resume`. */
  readonly rotation: Pick<Rotation, 'look'>;
}

/** Commands that end a long piece of work instead of waiting for it. */
const endsLongWork: readonly Command['name'][] = ['pause', 'reset', 'snapshot', 'backfill'];

/** The feed is polled at once after these commands, because the operator wants to see the result. */
const pollsAtOnce: readonly Command['name'][] = ['resume', 'reset', 'snapshot'];

/** Until long work that failed, or was ended, is tried again, in ms. */
const RETRY_MS = 10 * 60_000;

/** The log tells of a pause within a reconcile that is as long as this, in ms. */
const WORTH_TELLING_MS = 10_000;

/** Long work has as much time between two polls as the first of them took, at most so long, in ms. A first snapshot may take hours. */
const LONGEST_TURN_MS = 60_000;

/** How often, at least, a paused feed shows that it has an owner, in ms. */
const PAUSED_MS = 30_000;

/** How late, at most, a command is heard that ends a long piece of work, while that rests. */
const LISTEN_MS = 500;

export type FeedWork = ReturnType<typeof feedWork>;

/** The work of a feed's owner: commands, polls, and by schedule a reconcile. */
export function feedWork(feed: Feed, { inbox, logger, tell, rotation }: FeedWorkDeps, once: boolean) {
  let nextPollAt = Number.NEGATIVE_INFINITY;
  /** Long work goes on until then, own clock, ms: polls that take longer than their interval would leave it no time. */
  let workUntil = Number.NEGATIVE_INFINITY;
  let lastWide = Number.NEGATIVE_INFINITY;
  let lastPoll: PollResult | null = null;
  /** Own clock, ms. A reconcile that ran counts even if it asked for an operator; a failed one waits for its pause. */
  let nextReconcileAt = Number.NEGATIVE_INFINITY;
  let nextBackfillAt = Number.NEGATIVE_INFINITY;

  /** A pause ends the poll at once, since the API may not answer. @returns false if it did */
  async function pollNow(owned: OwnedFeed, signal: AbortSignal): Promise<boolean> {
    const paused = new AbortController();
    await untilAny([signal, paused.signal], (over) => {
      void inbox.filled(over).then(() => inbox.first()?.command.name === 'pause' && paused.abort());
      return pollUntil(owned, over);
    }).catch((thrown: unknown) => {
      if (signal.aborted || thrown !== paused.signal.reason) throw thrown;
    });
    // It may have left something out. The next poll looks further back.
    if (paused.signal.aborted) lastWide = Number.NEGATIVE_INFINITY;
    return !paused.signal.aborted;
  }

  async function pollUntil({ deps }: OwnedFeed, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    // The first poll of an owner looks further back, and so does one now and then.
    const wide = began - lastWide >= feed.widePollEveryMs;
    lastPoll = null;
    lastPoll = await pollFeed(deps, wide, signal);
    if (wide) lastWide = began;
    const ms = performance.now() - began;
    nextPollAt = began + feed.pollIntervalMs;
    workUntil = began + ms + Math.min(ms, LONGEST_TURN_MS);
    logger.debug('polled', { feed: feed.name, wide, ms: Math.round(ms), ...lastPoll });
    tell({ kind: 'polled', feed: feed.name, result: lastPoll, seconds: ms / 1_000 });
  }

  /** Turns within a long piece of work: polls go on in it, and a command that ends it is heard. */
  function turnsOf(owned: OwnedFeed, work: Command, signal: AbortSignal): Turns {
    const dueAt = (): number => Math.max(nextPollAt, workUntil);
    const between = async (): Promise<void> => {
      const asked = inbox.first()?.command.name;
      if (asked !== undefined && endsLongWork.includes(asked))
        throw interrupted(feed, work, `${asked} was asked for`);
      const isDue = performance.now() >= dueAt() && !owned.deps.state.offset.paused;
      if (isDue && !(await pollNow(owned, signal))) await between();
    };
    return {
      between,
      async poll() {
        // Without this poll, a reconcile proves nothing.
        if (!owned.deps.state.offset.paused && !(await pollNow(owned, signal))) await between();
      },
      async rest(ms) {
        const end = performance.now() + ms;
        for (let now = performance.now(); now < end && !signal.aborted; now = performance.now()) {
          await pause(Math.max(0, Math.min(end, dueAt(), now + LISTEN_MS) - now), signal);
          await between();
        }
      },
    };
  }

  function isReconcileDue({ deps }: OwnedFeed): boolean {
    const { reconcileEveryMs } = feed;
    const { snapshot, last_reconcile_ms, snapshot_completed_ms } = deps.state.offset;
    if (reconcileEveryMs === null || snapshot !== 'complete') return false;
    const stored = last_reconcile_ms ?? snapshot_completed_ms ?? 0;
    const since = Date.now() - stored;
    // A time that lies ahead is of a clock that went wrong, then or now.
    return performance.now() >= nextReconcileAt && (since >= reconcileEveryMs || since < 0);
  }

  async function reconcileBySchedule(owned: OwnedFeed, signal: AbortSignal): Promise<void> {
    const command = { name: 'reconcile', dryRun: false, allowDeletes: null } as const;
    const { state } = owned.deps;
    const every = feed.reconcileEveryMs!;
    nextReconcileAt = performance.now() + Math.min(every, RETRY_MS);
    await unlessEnded(owned, command, signal, async (turns) => {
      const onProgress = (now: ReconcileProgress): void => {
        const line = reconcileLine(now, state.recordCount);
        if (now.phase === 'pause' && now.pauseMs >= WORTH_TELLING_MS)
          logger.info(`Reconcile of feed ${feed.name}: ${line}.`, { feed: feed.name });
      };
      const options = { ...command, ...turns, onProgress };
      const result = await reconcile(patient(owned.deps), options, signal);
      nextReconcileAt = performance.now() + every;
      const outcome = reconciled(feed, result, false, state.recordCount);
      if (outcome.ok) logger[result.why === null ? 'info' : 'warn'](outcome.summary, outcome.facts);
    });
  }

  /** One that an earlier owner began, or that a pause has ended. */
  async function resumeBackfill(
    owned: OwnedFeed,
    { from, to }: BackfillProgress,
    signal: AbortSignal,
  ): Promise<void> {
    const command = { name: 'backfill', from, to } as const;
    logger.info(`The backfill of feed ${feed.name} goes on.`, { feed: feed.name, from, to });
    const hasFailed = await unlessEnded(owned, command, signal, async (turns) => {
      const outcome = await backfill(feed, owned, command, signal, turns);
      if (outcome.ok) logger.info(outcome.summary, outcome.facts);
      else logger.error(outcome.error.message, { feed: feed.name, code: outcome.error.code });
    });
    if (hasFailed) nextBackfillAt = performance.now() + RETRY_MS;
  }

  /**
   * Does work that nobody waits for. An error that ends the work while the feed is well is logged, and the feed is polled on.
   * @returns whether it failed; false also when an operator has ended it
   */
  async function unlessEnded(
    owned: OwnedFeed,
    command: Command,
    signal: AbortSignal,
    work: (turns: Turns) => Promise<void>,
  ): Promise<boolean> {
    try {
      await tracedCommand(command, feed, () => work(turnsOf(owned, command, signal)));
      return false;
    } catch (thrown) {
      const error = failureOf(feed, command, thrown);
      if (signal.aborted || !endsOnlyTheWork(error)) throw thrown;
      if (error.code === 'COMMAND_INTERRUPTED') {
        logger.info(error.message, { feed: feed.name });
        return false;
      }
      logger.error(`The ${command.name} of feed ${feed.name} failed: ${error.message}`, {
        feed: feed.name,
        code: error.code,
        now: 'The feed is polled on, and the work is tried again later.',
        remedy: error.remedy,
        retryInMs: RETRY_MS,
      });
      return true;
    }
  }

  return {
    get lastPoll(): PollResult | null {
      return lastPoll;
    },
    /** No poll before so many ms have passed; commands are still taken. */
    postpone(ms: number): void {
      nextPollAt = performance.now() + ms;
    },
    /** In ms. */
    untilDue: () => Math.max(0, nextPollAt - performance.now()),
    /**
     * Does the work that is due: one command, or a poll and perhaps a reconcile.
     * @returns whether it was polled
     * @throws HighwaterError that the feed's loop handles
     */
    async turn(owned: OwnedFeed, signal: AbortSignal): Promise<boolean> {
      const request = once ? null : inbox.take();
      if (request !== null) {
        const turns = turnsOf(owned, request.command, signal);
        const failure = await carryOut(feed, owned, request, signal, turns);
        if (failure !== null) throw failure;
        // Otherwise the poll would send the secret of before, and report its refusal as if it were new.
        if (request.command.name === 'resume') await unlessAborted(rotation.look(true), signal);
        // These operators want to see the next changes now.
        if (pollsAtOnce.includes(request.command.name)) nextPollAt = Number.NEGATIVE_INFINITY;
        return false;
      }
      if (performance.now() < nextPollAt) return false;
      if (owned.deps.state.offset.paused) {
        if (once)
          logger.warn(`Feed ${feed.name} is paused and was not polled.`, {
            feed: feed.name,
            remedy: `highwater resume ${feed.name}`,
          });
        // An owner that commits nothing would never learn that the feed has another owner.
        await movePosition(owned.deps, {});
        tell({ kind: 'rested', feed: feed.name });
        nextPollAt = performance.now() + Math.max(feed.pollIntervalMs, PAUSED_MS);
        return false;
      }
      assertSameIdField(owned.deps.state.offset, feed);
      if (!(await pollNow(owned, signal))) return false;
      if (once) return true;
      const { snapshot, backfill: begun } = owned.deps.state.offset;
      const isBackfillDue = begun !== null && performance.now() >= nextBackfillAt;
      if (isBackfillDue && snapshot === 'complete') await resumeBackfill(owned, begun, signal);
      if (isReconcileDue(owned)) await reconcileBySchedule(owned, signal);
      return true;
    },
  };
}
