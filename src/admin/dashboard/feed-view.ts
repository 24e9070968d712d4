import { type ErrorCode, errorKinds, summaryOf } from '../../errors';
import {
  driftText,
  type FeedFailure,
  type FeedStatus,
  feedStatus,
  withoutFeedName,
} from '../../feed-status/feed-status';
import type { Redact } from '../../secrets/redaction';
import type { SourceOffset } from '../../state/source-offset';
import { type FeedStanding, knowledgeOf, type Owners } from '../feed-board';
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
  const { standing, counts, owners, stored, deadLetters, instance, allowedPerMinute, redact } = facts;
  const { phase, state, drift, failure } = standing;
  const knowledge = { ...knowledgeOf(standing, owners, stored), deadLetters };
  const status = feedStatus({ ...knowledge, deadLetterReason: facts.deadLetterReason }, facts.nowMs);
  const { feed, condition, reason, high_water_mark: mark, snapshot, backfill, paused } = status;
  const { changesPerMinute, requestsLastMinute, retriesLastMinute } = counts;
  const drifted = knowledge.offset?.drift ?? [];
  const isOwn = phase !== 'waiting';
  return {
    feed,
    condition,
    reason,
    problem: problemView(status, failure, redact),
    isBeingRead: status.being_read,
    owner: isOwn ? instance : status.owner,
    isOwn,
    mark: mark || null,
    lastCompleteScanMs: status.last_complete_scan_ms,
    pollIntervalMs: status.poll_interval_ms,
    snapshot,
    backfill,
    paused,
    records: state?.recordCount ?? status.records,
    changesPerMinute,
    requests: { lastMinute: requestsLastMinute, allowedPerMinute, retriesLastMinute },
    errors: counts.errors.map((error) => ({
      ...error,
      what: withoutFeedName(error.what, feed),
      lasts: error.lasts && failure !== null,
    })),
    deadLetters,
    drift: redact(driftText(drifted)),
    driftedPaths: drift?.found().paths.length ?? drifted.length,
  };
}

/** The worst problem; the page shows notes elsewhere. Redacted, since an error that another owner stored may hold a secret of this instance. */
function problemView(
  { problems }: FeedStatus,
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
