import { errorKinds } from '../errors';
import { counted } from '../format/counted';
import { durationText, settingText } from '../format/durations';
import type { DriftedMember, SourceOffset } from '../state/source-offset';
import type { FeedVerdict } from './verdict';

/** Something about a feed that a person has to know or to do. */
export interface FeedProblem {
  /**
   * A code of the table of errors, or `NO_OWNER`, `OWNER_UNKNOWN`, `NO_ANSWER`, `BEHIND`, `PAUSED`,
   * `DEAD_LETTERS`, `DELETES_WITHHELD`, `DRIFT`, `NO_ROWS`.
   */
  readonly code: string;
  /** `bad`: the feed stands still until somebody acts. `note`: the feed is well all the same. */
  readonly severity: Severity;
  /** A sentence without the feed's name. */
  readonly what: string;
  readonly remedy: string;
}

export type Severity = (typeof severities)[number];
const severities = ['bad', 'warning', 'note'] as const;

/** Further problems in a list. */
export interface ProblemFacts {
  readonly feed: string;
  /** Null: nothing is committed, or it is not known. */
  readonly offset: SourceOffset | null;
  /** Null: not known. */
  readonly deadLetters: number | null;
  /** Why the latest dead letter could not be published; null: none, or not known. */
  readonly deadLetterReason?: string | null;
}

/** All problems of a feed, the worst first. */
export function problemsOf(verdict: FeedVerdict, facts: ProblemFacts, nowMs: number): FeedProblem[] {
  const { condition, failure } = verdict;
  const found = [
    ...(condition === 'paused' ? [paused(facts.feed)] : []),
    ...(failure === null ? [] : [failureProblem(verdict, failure, facts.feed)]),
    ...(condition === 'no-owner' ? [noOwner] : []),
    ...(condition === 'owner-unknown' ? [ownerUnknown] : []),
    ...(condition === 'behind' && failure === null && !verdict.isBeingRead
      ? [behind(verdict, facts, nowMs)]
      : []),
    ...(failure === null && condition !== 'paused' && condition !== 'behind' && hasNoRows(facts)
      ? [noRows(facts.feed)]
      : []),
    ...(facts.deadLetters === null || facts.deadLetters === 0 ? [] : [deadLetters(facts, facts.deadLetters)]),
    ...(facts.offset === null || facts.offset.withheld_deletes === 0
      ? []
      : [withheld(facts.feed, facts.offset.withheld_deletes)]),
    ...(facts.offset === null || facts.offset.drift.length === 0 ? [] : [drift(facts.offset.drift)]),
  ];
  return found.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}

function failureProblem(
  { condition, ready }: FeedVerdict,
  { code, what }: NonNullable<FeedVerdict['failure']>,
  feed: string,
): FeedProblem {
  const kinds: Readonly<Record<string, { readonly remedy: string } | undefined>> = errorKinds;
  const known = Object.hasOwn(errorKinds, code) ? kinds[code] : undefined;
  return {
    code,
    severity: ready ? 'note' : condition === 'parked' || condition === 'no-owner' ? 'bad' : 'warning',
    what: withoutFeedName(what, feed),
    remedy: known?.remedy ?? 'See the log of the publisher.',
  };
}

/** Many errors begin with the name of their feed, which stands beside them already. */
export function withoutFeedName(what: string, feed: string): string {
  return what.startsWith(`${feed}: `) ? what.slice(feed.length + 2) : what;
}

const noOwner: FeedProblem = {
  code: 'NO_OWNER',
  severity: 'bad',
  what: 'No live instance publishes it.',
  remedy:
    'Start a publisher that has this feed (`highwater run`, HIGHWATER_FEEDS). If one should run: `highwater doctor` says what keeps it from starting.',
};

const ownerUnknown: FeedProblem = {
  code: 'OWNER_UNKNOWN',
  severity: 'warning',
  what: 'The other instances cannot be asked whether they have it.',
  remedy: '`highwater doctor` says what does not answer.',
};

function paused(feed: string): FeedProblem {
  const what = 'Paused by an operator, and not polled.';
  return { code: 'PAUSED', severity: 'note', what, remedy: `\`highwater resume ${feed}\`` };
}

function behind({ pollIntervalMs }: FeedVerdict, { offset }: ProblemFacts, nowMs: number): FeedProblem {
  const scanned = offset?.last_complete_scan_ms ?? null;
  const since = scanned === null ? 'never' : `${durationText(nowMs - scanned)} ago`;
  return {
    code: 'BEHIND',
    severity: 'warning',
    what: `The last complete scan was ${since}, and a poll is due every ${settingText(pollIntervalMs)}.`,
    remedy:
      'Nothing while a backfill or reconcile of a large feed runs. Else see the log of the publisher; `highwater doctor` tries the API and the log, step by step.',
  };
}

/** The API was read to its end, and never showed a row. */
function hasNoRows({ offset, deadLetters }: ProblemFacts): boolean {
  if (offset === null || offset.last_complete_scan_ms === null || deadLetters) return false;
  return offset.high_water_mark === 0 && offset.record_count === 0;
}

function noRows(feed: string): FeedProblem {
  return {
    code: 'NO_ROWS',
    severity: 'warning',
    what: 'No rows yet: the API was read to its end, and has never shown one.',
    remedy: `If it should have some: \`highwater doctor\` tries the feed. Check path, query, paging and parameters of ${feed} in highwater.yaml; if the API answers only some days back, set beginAt and window.`,
  };
}

function deadLetters({ feed, deadLetterReason = null }: ProblemFacts, count: number): FeedProblem {
  const latest = deadLetterReason === null ? '' : ` The latest: ${deadLetterReason}.`;
  return {
    code: 'DEAD_LETTERS',
    severity: 'warning',
    what: `${counted(count, 'row')} could not be published, and ${count === 1 ? 'is a dead letter' : 'are dead letters'}.${latest}`,
    remedy: `\`highwater dead-letters list ${feed}\` says why; then \`highwater dead-letters retry ${feed}\`.`,
  };
}

function withheld(feed: string, count: number): FeedProblem {
  return {
    code: 'DELETES_WITHHELD',
    severity: 'warning',
    what: `The last reconcile was not shown ${counted(count, 'record')} and kept ${count === 1 ? 'it' : 'them'}: more than it deletes unasked.`,
    remedy: `\`highwater reconcile ${feed} --dry-run\` names some of them: ask the API for these. If they are really gone: \`highwater reconcile ${feed} --allow-deletes ${count}\`.`,
  };
}

/** `cusip (text, 3 changes), prior.rating (list instead of string, 1 change)` */
export function driftText(members: readonly DriftedMember[]): string {
  return members
    .map(({ path, type, expected, count }) => {
      const is = expected === null ? type : `${type} instead of ${expected}`;
      return `${path} (${is}, ${counted(count, 'change')})`;
    })
    .join(', ');
}

function drift(members: readonly DriftedMember[]): FeedProblem {
  return {
    code: 'DRIFT',
    severity: 'note',
    what: `The API sends members that the schema does not have like this: ${driftText(members)}.`,
    remedy:
      'Nothing is lost: their values are JSON text in `extra`. A new version of the schema can add a field.',
  };
}
