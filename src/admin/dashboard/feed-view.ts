import { type ErrorCode, errorKinds, summaryOf } from '../../errors';
import {
  driftText,
  type FeedFailure,
  type FeedStatus,
  feedStatus,
  withoutFeedName,
} from '../../feed-status/feed-status';
import type { Feed } from '../../feeds/feed';
import { shortText } from '../../format/short-text';
import type { PublisherEvent } from '../../runtime/publisher-events';
import type { Redact } from '../../secrets/redaction';
import type { FeedState } from '../../state/feed-state';
import type { SourceOffset } from '../../state/source-offset';
import { type FeedStanding, knowledgeOf, type Owners } from '../feed-board';
import type { ErrorView, FeedView, ProblemView } from './view';

/** Everything that the page shows of one feed, and its sources. */
export interface FeedFacts {
  readonly standing: FeedStanding;
  readonly counts: ReturnType<ReturnType<typeof feedActivity>['of']>;
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
  const all = feedStatus({ ...knowledge, deadLetterReason: facts.deadLetterReason }, facts.nowMs);
  const { last_error: _, problems, ...status } = all;
  const { changesPerMinute, requestsLastMinute, retriesLastMinute } = counts;
  const drifted = knowledge.offset?.drift ?? [];
  const isOwn = phase !== 'waiting';
  return {
    ...status,
    problem: problemView(problems, failure, redact),
    owner: isOwn ? instance : status.owner,
    isOwn,
    high_water_mark: status.high_water_mark || null,
    records: state?.recordCount ?? status.records,
    changesPerMinute,
    requests: { lastMinute: requestsLastMinute, allowedPerMinute, retriesLastMinute },
    errors: counts.errors.map((error) => ({
      ...error,
      what: withoutFeedName(error.what, status.feed),
      lasts: error.lasts && failure !== null,
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

type Committed = Pick<SourceOffset, 'incarnation' | 'seq' | 'snapshot'>;

/** Changes that were committed during a longer gap belong to minutes that were not counted. */
const LONGEST_GAP_MS = 90_000;
const MOST_ERRORS = 5;
const MOST_ERROR_CHARACTERS = 400;

/** Counters for each feed since the process began. @param clock ms, never set back */
export function feedActivity(feeds: readonly Feed[], clock = () => performance.now()) {
  const all = new Map(
    feeds.map(({ name }) => [
      name,
      {
        changes: timeSlots(60, 60_000, clock),
        requests: timeSlots(60, 1_000, clock),
        retries: timeSlots(60, 1_000, clock),
        errors: new Map<ErrorCode, ErrorView>(),
        /** State of the feed, while this instance has it. */
        state: null as FeedState | null,
        noted: null as (Omit<Committed, 'snapshot'> & { readonly atMs: number }) | null,
      },
    ]),
  );

  /**
   * Takes note of how many changes a feed has, as its owner has committed it last. Changes are numbered without gaps, including
   * changes by commands and changes that another instance committed.
   * @param reads so many since the last note are records that were only read for the first time
   */
  function note(feed: string, { incarnation, seq, snapshot }: Committed, reads = 0): void {
    const one = all.get(feed);
    if (one === undefined) return;
    const { noted, state } = one;
    const atMs = clock();
    const isNext = noted?.incarnation === incarnation;
    const isRecent = state !== null || (noted !== null && atMs - noted.atMs <= LONGEST_GAP_MS);
    const isOthersSnapshot = state === null && snapshot === 'running';
    if (isNext && isRecent && !isOthersSnapshot) one.changes.add(Math.max(0, seq - noted.seq - reads));
    one.noted = { incarnation, seq, atMs };
  }

  function tell(event: PublisherEvent): void {
    const one = all.get(event.feed);
    if (one === undefined) return;
    switch (event.kind) {
      case 'acquired':
        note(event.feed, event.state.offset);
        one.state = event.state;
        break;
      case 'released':
        one.state = null;
        break;
      case 'requested':
        one.requests.add(1);
        break;
      case 'retried':
        one.retries.add(1);
        break;
      case 'polled':
      case 'rested':
        for (const [code, error] of one.errors) one.errors.set(code, { ...error, lasts: false });
        break;
      case 'failed': {
        const { code } = event;
        const times = (one.errors.get(code)?.times ?? 0) + 1;
        one.errors.delete(code);
        one.errors.set(code, { code, what: errorText(event.what), times, lastAtMs: Date.now(), lasts: true });
        break;
      }
    }
    const reads = event.kind === 'page' ? event.report.changes.ops.r : 0;
    if (one.state !== null) note(event.feed, one.state.offset, reads);
  }

  function of(feed: string) {
    const { changes, requests, retries, errors } = all.get(feed)!;
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
    return {
      /** Counts of the last 60 minutes, without the records that a snapshot reads. */
      changesPerMinute: changes.counts(),
      requestsLastMinute: sum(requests.counts()),
      retriesLastMinute: sum(retries.counts()),
      /** Newest first. */
      errors: [...errors.values()].reverse().slice(0, MOST_ERRORS),
    };
  }

  return { note, tell, of };
}

/** The first line of an error's text, fit for the page. The log of the program has the rest, such as a stack. */
function errorText(text: string): string {
  return shortText(text.split('\n', 1)[0]!, MOST_ERROR_CHARACTERS);
}

/** Counts by spans of time of equal length, the last ones only. @param clock ms, never set back */
function timeSlots(slots: number, lengthMs: number, clock: () => number) {
  const counts: number[] = new Array(slots).fill(0);
  let at = Math.floor(clock() / lengthMs);

  function moveOn(): void {
    const now = Math.floor(clock() / lengthMs);
    for (let slot = Math.max(at + 1, now - slots + 1); slot <= now; slot++) counts[slot % slots] = 0;
    at = now;
  }

  return {
    add(count: number): void {
      moveOn();
      counts[at % slots]! += count;
    },
    /** Oldest first, the span under way last. */
    counts(): number[] {
      moveOn();
      return Array.from({ length: slots }, (_, i) => counts[(at + 1 + i) % slots]!);
    },
  };
}
