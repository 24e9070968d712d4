import { errorKinds } from '../../errors';
import type { FeedCondition } from '../readiness';
import { errorText } from './error-text';
import type { ProblemView } from './view';

/** What is known of a feed when it is asked what a person has to mend. */
export interface FeedTrouble {
  readonly feed: string;
  readonly condition: FeedCondition;
  readonly reason: string;
  /** The failure that lasts; `what` without secrets. */
  readonly failure: { readonly code: string; readonly what: string } | null;
  /** Nothing but time is missing: the first snapshot is being read. */
  readonly isFirstSnapshot: boolean;
  readonly deadLetters: number | null;
}

/** The first of what a person has to mend; null: nothing. */
export function problemOf(trouble: FeedTrouble): ProblemView | null {
  const { feed, condition, reason, failure, isFirstSnapshot, deadLetters } = trouble;
  if (condition === 'no-owner') {
    return {
      code: 'NO_OWNER',
      what: failure === null ? 'No live instance publishes it.' : errorText(failure.what),
      remedy:
        failure === null
          ? 'Start a publisher that has this feed (HIGHWATER_FEEDS), or see in the logs of the instances why none takes it.'
          : remedyOf(failure.code),
    };
  }
  if (condition === 'paused') return null;
  // What the next poll may mend by itself is named among the errors.
  if (failure !== null && condition !== 'up-to-date' && condition !== 'standby')
    return { ...failure, what: errorText(failure.what), remedy: remedyOf(failure.code) };
  if (condition === 'owner-unknown') {
    const remedy = '`highwater doctor` says what does not answer.';
    return { code: 'OWNER_UNKNOWN', what: sentence(reason), remedy };
  }
  if (condition === 'behind' && !isFirstSnapshot) {
    const remedy =
      'Nothing while a backfill or reconcile of a large feed runs. Else `highwater doctor` tries the API and the log, step by step.';
    return { code: 'BEHIND', what: sentence(reason), remedy };
  }
  if (deadLetters !== null && deadLetters > 0) {
    const rows =
      deadLetters === 1 ? '1 row that was read' : `${deadLetters.toLocaleString('en')} rows that were read`;
    return {
      code: 'DEAD_LETTERS',
      what: `${rows} could not be published.`,
      remedy: `\`highwater dead-letters list ${feed}\` says why; when that is mended, \`highwater dead-letters retry ${feed}\`.`,
    };
  }
  return null;
}

/** Of the table of errors; a code of another version may not be in it. */
function remedyOf(code: string): string {
  const kind = (errorKinds as Readonly<Record<string, { readonly remedy: string } | undefined>>)[code];
  return kind?.remedy ?? 'See the log of the instance that has the feed.';
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
