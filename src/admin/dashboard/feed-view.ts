import { type ErrorCode, errorKinds, summaryOf } from '../../errors';
import { driftText, type FeedProblem, problemsOf, withoutFeedName } from '../../feed-status/problems';
import { type FeedFailure, verdictOf } from '../../feed-status/verdict';
import type { Redact } from '../../secrets/redaction';
import type { SourceOffset } from '../../state/source-offset';
import { type FeedStanding, knowledgeOf } from '../feed-board';
import type { Owners } from '../owners';
import { errorText, type FeedCounts } from './feed-activity';
import type { FeedView, ProblemView } from './view';

/** Everything that the page shows of one feed, and its sources. */
export interface FeedFacts {
  readonly standing: FeedStanding;
  readonly counts: FeedCounts;
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
  const { standing, counts, owners, instance, allowedPerMinute, nowMs, redact } = facts;
  const { feed, phase, state, drift, failure } = standing;
  const { name } = feed;
  const isOwn = phase !== 'waiting';
  const offset = state?.offset ?? facts.stored;
  const verdict = verdictOf(knowledgeOf(standing, owners, facts.stored), nowMs);
  const { condition, reason, isBeingRead, pollIntervalMs } = verdict;
  const lastCompleteScanMs = offset?.last_complete_scan_ms ?? null;
  const { deadLetters, deadLetterReason } = facts;
  const problems = problemsOf(verdict, { feed: name, offset, deadLetters, deadLetterReason }, nowMs);
  const { changesPerMinute, requestsLastMinute, retriesLastMinute } = counts;
  return {
    feed: name,
    condition,
    reason,
    problem: problemView(problems, failure, redact),
    isBeingRead,
    owner: isOwn ? instance : (owners?.get(name) ?? null),
    isOwn,
    mark: offset === null || offset.high_water_mark === 0 ? null : offset.high_water_mark,
    lastCompleteScanMs,
    pollIntervalMs,
    snapshot: offset?.snapshot ?? 'pending',
    backfill: offset?.backfill ? { from: offset.backfill.from, to: offset.backfill.to } : null,
    paused: offset?.paused ?? false,
    records: state?.recordCount ?? offset?.record_count ?? 0,
    changesPerMinute,
    requests: { lastMinute: requestsLastMinute, allowedPerMinute, retriesLastMinute },
    errors: counts.errors.map((error) => ({
      ...error,
      what: withoutFeedName(error.what, name),
      lasts: error.lasts && failure !== null,
    })),
    deadLetters,
    drift: redact(driftText(offset?.drift ?? [])),
    driftedPaths: drift?.found().paths.length ?? offset?.drift.length ?? 0,
  };
}

/** The worst problem; the page shows notes elsewhere. Redacted, since an error that another owner stored may hold a secret of this instance. */
function problemView(
  problems: readonly FeedProblem[],
  failure: FeedFailure | null,
  redact: Redact,
): ProblemView | null {
  const [worst] = problems;
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
