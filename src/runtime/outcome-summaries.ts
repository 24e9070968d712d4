import type { Facts, Outcome } from '../commands/command';
import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import { counted } from '../format/counted';
import { durationText } from '../format/durations';
import { shortText } from '../format/short-text';
import type { PollResult } from '../pipeline/poll';
import type { BackfillRequest, BackfillStatus } from '../pipeline/rounds/backfill';
import type { ReconcileProgress, ReconcileResult } from '../pipeline/rounds/reconcile';
import type { RetryResult } from '../pipeline/rounds/retry-dead-letters';

export function done(summary: string, facts: Facts = {}): Outcome {
  return { ok: true, summary, facts };
}

/** Summary of a reconcile for people, also for the log line of a scheduled one. */
export function reconciled(feed: Feed, result: ReconcileResult, dryRun: boolean, tracked: number): Outcome {
  const { created, updated, ordinary, deleted, missing, withheldIds, why, pages, rows } = result;
  const would = dryRun ? 'would be ' : '';
  const parts = [
    `${counted(rows, 'row')} in ${counted(pages, 'page')}`,
    `${counted(created, 'late record')} ${would}created`,
    `${counted(updated, 'silent change')} ${would}updated`,
    `${counted(deleted, 'record')} ${would}deleted`,
  ];
  const withheld = why !== null && why !== 'not-proved' && why !== 'round-number';
  const facts = { pages, rows, created, updated, ordinary, deleted, missing, withheld, tracked, dryRun };
  const also =
    ordinary === 0
      ? ''
      : ` ${counted(ordinary, 'more change')} ${dryRun ? 'would be' : ordinary === 1 ? 'was' : 'were'} published that the next poll finds too.`;
  const isUndated = why === 'not-proved' && feed.updatedField === null;
  const rest =
    why === null
      ? ''
      : ` ${counted(missing, 'record was', 'records were')} not shown, and ${missing === 1 ? 'is' : 'are'} kept: ${isUndated ? UNDATED : reasons[why]}.${named(withheldIds, missing)}`;
  return done(`Feed ${feed.name} was compared with the API: ${parts.join(', ')}.${also}${rest}`, facts);
}

function named(ids: readonly string[], all: number): string {
  if (ids.length === 0) return '';
  const more = all > ids.length ? ', …' : '';
  return ` Ids: ${ids.map((id) => shortText(id, MOST_ID_CHARACTERS)).join(', ')}${more}`;
}

/** The ids come from the API. */
const MOST_ID_CHARACTERS = 100;

const UNDATED =
  'records without a time have to be known for 15 minutes, and others have to be shown; no number helps, but a later reconcile does';

const reasons: Record<NonNullable<ReconcileResult['why']>, string> = {
  'too-many':
    'that is a larger part of the feed than is deleted unasked; when they are gone, say --allow-deletes with their number',
  'nothing-shown':
    'the API showed no record of the feed at all, which proves nothing; no number helps, but a record that the API shows does',
  'rows-without-id': 'rows without an id came, and any of them may be one of these records',
  'not-proved':
    'the answers around them do not prove that they are gone; no number helps, but a later record that the API shows does',
  'round-number':
    'the API ended behind a round number of rows or pages, which may be the most that it shows, and they may be behind it; no number helps, but another number of rows does, and so does pagingLimit of the feed, if the API is known to show more',
  'too-large': 'their deletes are larger than the log takes, and are kept as dead letters',
  'scan-not-complete': 'a scan did not reach its end',
  'old-answers': 'the second scan got answers that a cache had kept since the first one',
};

/**
 * @param shortfall why rows may be missing, for people. No poll asks for them, so the backfill has failed. Null: nothing says so
 * @param other an unfinished backfill that was given up for this one
 */
export function backfilled(
  feed: Feed,
  { pages, rows, changes }: PollResult,
  shortfall: string | null,
  { from, to }: BackfillRequest,
  other: BackfillRequest | null,
): Outcome {
  const gone =
    other === null
      ? ''
      : ` The one from ${other.from} to ${other.to} was given up for it: ask for its rest again.`;
  const found = `${changes.toLocaleString('en-US')} of ${counted(rows, 'row')} in ${counted(pages, 'page')} ${changes === 1 ? 'was' : 'were'} unknown or differed`;
  if (shortfall !== null) {
    const error = new HighwaterError(
      'POLL_NOT_COUNTED',
      `The backfill of feed ${feed.name} is not complete: ${shortfall}`,
      {
        now: `The rows that came are published: ${found}. The backfill does not count as done, and polls may never ask for the missing rows.${gone}`,
        remedy: `Look at what the message names, then ask again: highwater backfill ${feed.name} --from ${from} --to ${to}`,
      },
    );
    return { ok: false, error };
  }
  const summary = `The backfill of feed ${feed.name} is done: ${found}.${gone}`;
  const facts = { pages, rows, changes, settled: true };
  return done(summary, other === null ? facts : { ...facts, ...factsOf(other) });
}

/** Summary of a backfill that was given up because a backfill of other dates was requested. */
export function givenUp(
  other: BackfillRequest,
  status: BackfillStatus | null,
): { readonly said: string; readonly facts: Facts } {
  const { from, to } = other;
  const done = Math.floor((status?.done ?? 0) * 100);
  const said = `the backfill from ${from} to ${to} is given up at ${done} %, since one of other dates is asked for`;
  return { said, facts: factsOf(other) };
}

function factsOf({ from, to }: BackfillRequest): Facts {
  return { givenUpFrom: from, givenUpTo: to };
}

export function retried(feed: Feed, result: RetryResult): Outcome {
  const { published, still, tooOld, superseded } = result;
  const older =
    tooOld === 0
      ? ''
      : ` ${tooOld} of these are records from before the feed began, which a backfill or a snapshot publishes.`;
  const outdated =
    superseded === 0
      ? ''
      : ` ${superseded} of these are not shown by the API now: their records have a later version, or are gone.`;
  return done(
    `${result.retried} dead letters of feed ${feed.name} are records now and removed, ${published} of them published as news; ${still} stay.${older}${outdated}`,
    { retried: result.retried, published, still, tooOld, superseded },
  );
}

export function progressLine({ done, rows, secondsLeft, reached }: BackfillStatus): string {
  const left = secondsLeft === null ? '' : `, about ${durationText(secondsLeft * 1_000)} left`;
  return `${Math.floor(done * 100)} %, ${counted(rows, 'row')}, at ${reached}${left}`;
}

/** How a reconcile goes. @param tracked records of the feed: about as many rows as a scan reads */
export function reconcileLine(progress: ReconcileProgress, tracked: number): string {
  const { scan, phase, scanRows, created, updated, missing, probed, pauseMs } = progress;
  const number = (count: number) => count.toLocaleString('en-US');
  if (phase === 'pause') {
    const unseen = counted(missing, 'record was', 'records were');
    return `scan 1 is done: ${unseen} not shown, so that a second one begins in ${durationText(pauseMs)}`;
  }
  if (phase === 'probe')
    return `${number(probed)} of ${counted(missing, 'record')} probed that neither scan showed`;
  const found = [
    ...(created === 0 ? [] : [counted(created, 'late record')]),
    ...(updated === 0 ? [] : [counted(updated, 'silent change')]),
  ];
  const so = found.length === 0 ? '' : `; found: ${found.join(', ')}`;
  return `scan ${scan}: ${counted(scanRows, 'row')} of about ${number(tracked)}${so}`;
}
