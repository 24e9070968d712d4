import type { Command, Outcome } from '../commands/command';
import type { Request } from '../commands/inbox';
import { type ErrorCode, HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import { traced } from '../logging/tracing';
import { type PollDeps, poll } from '../pipeline/poll';
import {
  type BackfillRequest,
  backfillRound,
  describeProgress,
  unfinishedOther,
} from '../pipeline/rounds/backfill';
import { type ReconcileProgress, reconcile } from '../pipeline/rounds/reconcile';
import { resetState } from '../pipeline/rounds/reset-state';
import { retryDeadLetters } from '../pipeline/rounds/retry-dead-letters';
import { movePosition } from '../pipeline/transaction/transact';
import { assertSameIdField } from '../state/restore';
import { snapshotAgain } from '../state/source-offset';
import {
  backfilled,
  done,
  givenUp,
  progressLine,
  reconciled,
  reconcileLine,
  retried,
} from './outcome-summaries';
import type { OwnedFeed } from './owned-feed';

export function tracedCommand<Result>(
  { name }: Command,
  feed: Feed,
  work: () => Promise<Result>,
): Promise<Result> {
  const options = () => ({ attributes: { 'highwater.feed': feed.name }, parent: null });
  return traced(`${name} ${feed.name}`, options, work);
}

/** Work between the pages of a long command: the feed's own polls, when they are due. */
export interface Turns {
  /** To be called between two pages. */
  between(): Promise<void>;
  /** Lets so many ms pass. */
  rest(ms: number): Promise<void>;
  poll(): Promise<void>;
}

/**
 * Carries out what an operator asked of a feed, as its owner. Each command is one transaction, or leaves behind only what
 * polls would publish as well: an end in the middle leaves nothing half-done.
 *
 * The request is answered in any case.
 * @param turns work between the pages of a long command
 * @returns an error that the feed's loop handles as after a poll; null if there is none
 */
export async function carryOut(
  feed: Feed,
  owned: OwnedFeed,
  { command, progress, answer }: Request,
  signal: AbortSignal,
  turns: Turns,
): Promise<HighwaterError | null> {
  const { logger } = owned.deps;
  try {
    refuseWhilePaused(feed, owned, command);
    if (!['pause', 'resume', 'reset'].includes(command.name))
      assertSameIdField(owned.deps.state.offset, feed);
    const outcome = await tracedCommand(command, feed, run);
    answer(outcome);
    if (outcome.ok)
      logger.info(outcome.summary, { feed: feed.name, command: command.name, ...outcome.facts });
    return null;
  } catch (thrown) {
    const error = failureOf(feed, command, thrown);
    if (signal.aborted) {
      answer({ ok: false, error: interrupted(feed, command, 'the process that carried it out was stopped') });
      return null;
    }
    answer({ ok: false, error });
    return endsOnlyTheWork(error) ? null : error;
  }

  function refuseDuringSnapshot(): void {
    if (owned.deps.state.offset.snapshot !== 'complete')
      throw refused(`a snapshot of feed ${feed.name} is not complete yet, and shows every record`);
  }

  async function run(): Promise<Outcome> {
    const { deps } = owned;
    switch (command.name) {
      case 'pause':
        await movePosition(deps, { paused: true });
        return done(`Feed ${feed.name} is paused: it is not polled until resume.`);
      case 'resume':
        await movePosition(deps, { paused: false });
        return done(`Feed ${feed.name} is polled again.`);
      case 'reset': {
        const { records, incarnation } = await resetState(deps);
        return done(
          `Feed ${feed.name} begins again as incarnation ${incarnation}, without images: ${records} were removed.`,
          { records, incarnation },
        );
      }
      case 'snapshot': {
        refuseDuringSnapshot();
        await movePosition(deps, snapshotAgain(deps.state.offset));
        return done(`Feed ${feed.name} is read again from the beginning: every record comes once more.`);
      }
      case 'reconcile': {
        refuseDuringSnapshot();
        const { dryRun, allowDeletes } = command;
        const onProgress = (now: ReconcileProgress): void => {
          const tracked = deps.state.recordCount;
          progress(reconcileLine(now, tracked), { ...now, tracked });
        };
        const result = await reconcile(patient(deps), { dryRun, allowDeletes, onProgress, ...turns }, signal);
        return reconciled(feed, result, dryRun, deps.state.recordCount);
      }
      case 'backfill': {
        refuseDuringSnapshot();
        if (feed.updatedField === null)
          throw refused(`feed ${feed.name} has no updatedField: each poll reads everything already`);
        return backfill(feed, owned, command, signal, turns, progress);
      }
      case 'retry-dead-letters': {
        return retried(feed, await retryDeadLetters(deps, signal));
      }
    }
  }
}

/**
 * Begins a backfill, or continues an unfinished one of the same dates. There is one at a time: an unfinished one of other dates is
 * given up, which is said. A page that cannot be read however often it is requested ends the backfill, but not the polls of the
 * feed.
 * @throws HighwaterError as `poll`; the signal's reason
 */
export async function backfill(
  feed: Feed,
  { deps }: OwnedFeed,
  dates: BackfillRequest,
  signal: AbortSignal,
  turns: Turns,
  progress: Request['progress'] = () => {},
): Promise<Outcome> {
  const { state } = deps;
  /** Why rows may be missing; null: nothing says so. */
  let shortfall: string | null = null;
  const other = unfinishedOther(state.offset, dates);
  if (other !== null) {
    const { said, facts } = givenUp(other, describeProgress(state.offset, Date.now()));
    deps.logger.warn(`Feed ${feed.name}: ${said}`, facts);
    progress(said, facts);
  }
  try {
    const slow = patient(deps);
    const round = backfillRound(slow, dates);
    const onPage: PollDeps['onPage'] = (page) => {
      const { settled, shortfall: why = null } = page.progress;
      if (!settled) shortfall ??= why;
      deps.onPage?.(page);
    };
    const result = await poll({ ...slow, onPage }, { ...round, between }, signal);
    signal.throwIfAborted();
    return backfilled(feed, result, shortfall, dates, other);
  } catch (error) {
    if (!(error instanceof HighwaterError) || !error.code.startsWith('SCAN_')) throw error;
    await movePosition(deps, { backfill: null });
    return { ok: false, error };
  }

  async function between(): Promise<void> {
    const status = describeProgress(state.offset, Date.now());
    if (status !== null) progress(progressLine(status), { ...status, secondsLeft: status.secondsLeft ?? -1 });
    await turns.between();
  }
}

/** Polls go first, also polls of other feeds. */
export function patient(deps: PollDeps): PollDeps {
  return { ...deps, source: deps.patientSource };
}

function refuseWhilePaused(feed: Feed, { deps }: OwnedFeed, { name }: Command): void {
  if (deps.state.offset.paused && (name === 'reconcile' || name === 'backfill' || name === 'snapshot'))
    throw refused(`feed ${feed.name} is paused; resume it first`);
}

/** An error of a command, in the form for people. */
export function failureOf(feed: Feed, { name }: Command, thrown: unknown): HighwaterError {
  if (thrown instanceof HighwaterError) {
    const { code, message, remedy, retryAfterMs } = thrown;
    if (!isOfApi(code)) return thrown;
    // The table says what a poll does now.
    const now = `The ${name} has failed. The feed goes on as before, and is not parked by it.`;
    return new HighwaterError(code, message, { now, remedy, retryAfterMs, cause: thrown });
  }
  return new HighwaterError('UNEXPECTED', `${name} of feed ${feed.name}: ${String(thrown)}`, {
    cause: thrown,
  });
}

/**
 * Whether the feed is well although a piece of work of it failed: the API did not answer, or everything that the work wanted to
 * read cannot be read. Polls go on, and meet what concerns them by themselves. An error of the log or the registry is the feed's.
 */
export function endsOnlyTheWork({ code }: HighwaterError): boolean {
  return code === 'UNEXPECTED' || code.startsWith('COMMAND_') || isOfApi(code);
}

const isOfApi = (code: ErrorCode): boolean => /^(SOURCE|SCAN)_/.test(code);

function refused(why: string): HighwaterError {
  return new HighwaterError('COMMAND_REFUSED', why);
}

export function interrupted(feed: Feed, { name }: Command, why: string): HighwaterError {
  return new HighwaterError('COMMAND_INTERRUPTED', `${name} of feed ${feed.name}: ${why}`);
}
