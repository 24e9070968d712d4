import { type ErrorCode, errorKinds, summaryOf } from '../../errors';
import {
  driftText,
  type FeedFailure,
  type FeedStatus,
  feedStatus,
  withoutFeedName,
} from '../../feed-status/feed-status';
import { shortText } from '../../format/short-text';
import type { Redact } from '../../secrets/redaction';
import type { SourceOffset } from '../../state/source-offset';
import { type FeedStanding, knowledgeOf, type Owners } from '../feed-board';
import type { FeedView, ProblemView } from './view';

const MOST_ERRORS = 5;
const MOST_ERROR_CHARACTERS = 400;

/** Everything that the page shows of one feed, and its sources. */
export interface FeedFacts {
  readonly standing: FeedStanding;
  readonly owners: Owners;
  /** Last committed source offset, if another instance has the feed; null: unknown. */
  readonly stored: SourceOffset | null;
  /** In the log; null: not known. */
  readonly deadLetters: number | null;
  /** Why the latest of them could not be published; null: not known. */
  readonly deadLetterReason: string | null;
  readonly instance: string;
  readonly allowedPerMinute: number;
  readonly redact: Redact;
  readonly nowMs: number;
}

export function feedView(facts: FeedFacts): FeedView {
  const { standing, owners, stored, deadLetters, instance, allowedPerMinute, redact } = facts;
  const { phase, state, drift, failure, activity } = standing;
  const knowledge = { ...knowledgeOf(standing, owners, stored), deadLetters };
  const all = feedStatus({ ...knowledge, deadLetterReason: facts.deadLetterReason }, facts.nowMs);
  const { last_error: _, problems, ...status } = all;
  const drifted = knowledge.offset?.drift ?? [];
  const isOwn = phase !== 'waiting';
  return {
    ...status,
    problem: problemView(problems, failure, redact),
    owner: isOwn ? instance : status.owner,
    isOwn,
    high_water_mark: status.high_water_mark || null,
    records: state?.recordCount ?? status.records,
    changesPerMinute: activity.changes.counts(),
    requests: {
      lastMinute: activity.requests.sum(),
      allowedPerMinute,
      retriesLastMinute: activity.retries.sum(),
    },
    errors: [...activity.errors]
      .reverse()
      .slice(0, MOST_ERRORS)
      .map(([code, { what, lasts, ...error }]) => ({
        code,
        ...error,
        what: withoutFeedName(errorText(what), status.feed),
        lasts: lasts && failure !== null,
      })),
    drift: redact(driftText(drifted)),
    driftedPaths: drift?.found().paths.length ?? drifted.length,
  };
}

/** The worst problem; the page shows notes elsewhere. Redacted, since an error that another owner stored may hold a secret of this instance. */
function problemView(
  [worst]: FeedStatus['problems'],
  failure: FeedFailure | null,
  redact: Redact,
): ProblemView | null {
  if (worst === undefined || worst.severity === 'note') return null;
  const { code, severity, remedy } = worst;
  const what = errorText(redact(worst.what));
  const known = Object.hasOwn(errorKinds, code) ? (code as ErrorCode) : null;
  const cause = known === null ? what : summaryOf(known);
  const page = known === null ? undefined : errorKinds[known].see;
  const { sinceMs = null, retryAtMs = null } = failure?.code === code ? failure : {};
  return {
    code,
    severity,
    cause,
    what,
    remedy,
    see: page === undefined ? null : `docs/${page}`,
    sinceMs,
    retryAtMs,
  };
}

/** The first line of an error's text, fit for the page. The log of the program has the rest, such as a stack. */
function errorText(text: string): string {
  return shortText(text.split('\n', 1)[0]!, MOST_ERROR_CHARACTERS);
}
