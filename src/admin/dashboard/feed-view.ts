import type { Redact } from '../../redaction';
import { isBehind } from '../../state/behind';
import type { SourceOffset } from '../../state/source-offset';
import type { FeedStanding } from '../feed-board';
import { elsewhere, type Owners } from '../owners';
import { type FeedCondition, readiness } from '../readiness';
import type { FeedCounts } from './feed-activity';
import { problemOf } from './problem';
import type { FeedView } from './view';

/** All that the page is told of one feed, from where it is known. */
export interface FeedFacts {
  readonly standing: FeedStanding;
  readonly counts: FeedCounts;
  readonly owners: Owners;
  /** What the feed has committed last, of one that another instance has; null: not known. */
  readonly stored: SourceOffset | null;
  /** In the log, of a feed that another instance has; null: not known. */
  readonly storedLetters: number | null;
  readonly instance: string;
  readonly allowedPerMinute: number;
  readonly redact: Redact;
  readonly nowMs: number;
}

export function feedView(facts: FeedFacts): FeedView {
  const { standing, counts, owners, instance, allowedPerMinute } = facts;
  const { feed, phase, state, drift, failure } = standing;
  const { name, pollIntervalMs } = feed;
  const isOwn = phase !== 'waiting';
  const offset = state?.offset ?? facts.stored;
  const { condition, reason } =
    isOwn || facts.stored === null ? ownStanding(facts) : otherStanding(facts, facts.stored);
  const deadLetters = state === null ? facts.storedLetters : state.deadLetterCount;
  const lasting =
    failure === null ? storedFailure(isOwn ? null : offset, facts) : lastError(failure.code, counts);
  const { changesPerMinute, requestsLastMinute, retriesLastMinute } = counts;
  return {
    feed: name,
    condition,
    reason,
    problem: problemOf({
      ...{ feed: name, condition, reason, deadLetters },
      failure: lasting,
      isFirstSnapshot: offset !== null && offset.snapshot !== 'complete',
    }),
    owner: isOwn ? instance : (owners?.get(name) ?? null),
    isOwn,
    mark: offset === null || offset.high_water_mark === 0 ? null : offset.high_water_mark,
    lastCompleteScanMs: offset?.last_complete_scan_ms ?? null,
    pollIntervalMs,
    snapshot: offset?.snapshot ?? 'pending',
    backfill: offset?.backfill ? { from: offset.backfill.from, to: offset.backfill.to } : null,
    paused: offset?.paused ?? false,
    records: state?.recordCount ?? offset?.record_count ?? 0,
    changesPerMinute,
    requests: { lastMinute: requestsLastMinute, allowedPerMinute, retriesLastMinute },
    errors: counts.errors.map((error) => ({ ...error, lasts: error.lasts && failure !== null })),
    deadLetters,
    driftedPaths: drift?.found().paths.length ?? 0,
  };
}

interface Standing {
  readonly condition: FeedCondition;
  readonly reason: string;
}

function ownStanding({ standing, owners, nowMs }: FeedFacts): Standing {
  return readiness(standing, elsewhere(owners, standing.feed.name), nowMs);
}

/** How its owner has left it in the log, where there is one. */
function otherStanding(facts: FeedFacts, stored: SourceOffset): Standing {
  const own = ownStanding(facts);
  if (own.condition !== 'standby') return own;
  const { pollIntervalMs } = facts.standing.feed;
  const { paused, parked, last_complete_scan_ms: scanned, snapshot } = stored;
  if (paused) return { condition: 'paused', reason: 'paused by an operator' };
  if (parked !== null) return { condition: 'parked', reason: `parked by ${parked}, tried again slowly` };
  if (!isBehind(scanned, pollIntervalMs, facts.nowMs)) return own;
  if (scanned === null)
    return { condition: 'behind', reason: `never completely read yet, snapshot ${snapshot}` };
  const seconds = Math.round((facts.nowMs - scanned) / 1_000);
  return { condition: 'behind', reason: `last completely read ${seconds} s ago` };
}

function lastError(code: string, { errors }: FeedCounts): { code: string; what: string } {
  return { code, what: errors.find((error) => error.code === code)?.what ?? '' };
}

/** `CODE: what happened`, as the owner has kept it without its secrets. They may be others than those of this instance. */
function storedFailure(
  offset: SourceOffset | null,
  { redact }: FeedFacts,
): { code: string; what: string } | null {
  const [, code, what] = /^([A-Z_]+): ([\s\S]*)$/.exec(offset?.last_error ?? '') ?? [];
  return code === undefined ? null : { code, what: redact(what!) };
}
