import { errorKinds } from '../errors';
import { counted } from '../format/counted';
import { durationText } from '../format/durations';
import type { FeedVerdict } from './verdict';

/** Something about a feed that a person has to know or to do. */
export interface FeedProblem {
  /** Of the table of errors, or `NO_OWNER`, `OWNER_UNKNOWN`, `BEHIND`, `PAUSED`, `DEAD_LETTERS`. */
  readonly code: string;
  /** `bad`: the feed stands still until somebody acts. `note`: the feed is well all the same. */
  readonly severity: Severity;
  /** A sentence without the feed's name. */
  readonly what: string;
  readonly remedy: string;
}

export type Severity = (typeof severities)[number];
const severities = ['bad', 'warning', 'note'] as const;

/** What else a list of problems names. */
export interface ProblemFacts {
  readonly feed: string;
  readonly lastCompleteScanMs: number | null;
  /** Null: not known. */
  readonly deadLetters: number | null;
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
    ...(facts.deadLetters === null || facts.deadLetters === 0
      ? []
      : [deadLetters(facts.feed, facts.deadLetters)]),
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
    'Start a publisher that has this feed (`highwater run`, HIGHWATER_FEEDS). If one should run: `highwater doctor` says what is in its way.',
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

function behind(
  { pollIntervalMs }: FeedVerdict,
  { lastCompleteScanMs: scanned }: ProblemFacts,
  nowMs: number,
): FeedProblem {
  const since = scanned === null ? 'never' : `${durationText(nowMs - scanned)} ago`;
  return {
    code: 'BEHIND',
    severity: 'warning',
    what: `The last complete scan was ${since}, and a poll is due every ${durationText(pollIntervalMs)}.`,
    remedy:
      'Nothing while a backfill or reconcile of a large feed runs. Else see the log of the publisher; `highwater doctor` tries the API and the log, step by step.',
  };
}

function deadLetters(feed: string, count: number): FeedProblem {
  return {
    code: 'DEAD_LETTERS',
    severity: 'warning',
    what: `${counted(count, 'row')} could not be published, and ${count === 1 ? 'is a dead letter' : 'are dead letters'}.`,
    remedy: `\`highwater dead-letters list ${feed}\` says why; then \`highwater dead-letters retry ${feed}\`.`,
  };
}
