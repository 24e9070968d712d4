import type { Facts, Outcome } from '../commands/command';
import type { Feed } from '../feeds/feed';
import type { BackfillStatus } from '../pipeline/backfill';
import type { PollResult } from '../pipeline/poll';
import type { ReconcileResult } from '../pipeline/reconcile';

export function done(summary: string, facts: Facts = {}): Outcome {
  return { ok: true, summary, facts };
}

/** What a reconcile found, for people: also what a scheduled one writes into the log. */
export function reconciled(feed: Feed, result: ReconcileResult, dryRun: boolean, tracked: number): Outcome {
  const { created, updated, deleted, missing, why, pages, rows } = result;
  const would = dryRun ? 'would be ' : '';
  const parts = [
    `${rows} rows in ${pages} pages`,
    `${created} late records ${would}created`,
    `${updated} silent changes ${would}updated`,
    `${deleted} records ${would}deleted`,
  ];
  const withheld = why !== null && why !== 'not-proved';
  const facts = { pages, rows, created, updated, deleted, missing, withheld, tracked, dryRun };
  const rest = why === null ? '' : ` ${missing} records were not shown, and are kept: ${reasons[why]}.`;
  return {
    ok: true,
    summary: `Feed ${feed.name} was compared with the API: ${parts.join(', ')}.${rest}`,
    facts,
  };
}

const reasons: Record<NonNullable<ReconcileResult['why']>, string> = {
  'too-many':
    'that is a larger part of the feed than is deleted unasked; when they are gone, say --allow-deletes with their number',
  'rows-without-id': 'rows without an id came, and any of them may be one of these records',
  'not-proved': 'the answers around them do not prove that they are gone',
  'scan-not-complete': 'a scan did not reach its end',
};

export function backfilled(feed: Feed, { pages, rows, changes }: PollResult, isSettled: boolean): Outcome {
  const rest = isSettled ? '' : ' Rows moved while they were read, and some may be missing: ask again.';
  const summary = `The backfill of feed ${feed.name} is done: ${changes} of ${rows} rows in ${pages} pages were unknown or differed.${rest}`;
  return { ok: true, summary, facts: { pages, rows, changes, settled: isSettled } };
}

export function progressLine({ done, rows, secondsLeft }: BackfillStatus): string {
  const left = secondsLeft === null ? '' : `, about ${secondsLeft} s left`;
  return `${Math.floor(done * 100)} %, ${rows} rows${left}`;
}
