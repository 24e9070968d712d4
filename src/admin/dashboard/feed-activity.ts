import type { ErrorCode } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { shortText } from '../../format/short-text';
import type { PublisherEvent } from '../../runtime/publisher-events';
import type { FeedState } from '../../state/feed-state';
import type { SourceOffset } from '../../state/source-offset';
import { type TimeSlots, timeSlots } from './time-slots';
import type { ErrorView } from './view';

/** Counters for each feed since the process began. */
export interface FeedActivity {
  tell(event: PublisherEvent): void;
  /** Takes note of how many changes a feed has, as its owner has committed it last. */
  note(feed: string, offset: Committed): void;
  of(feed: string): FeedCounts;
}

type Committed = Pick<SourceOffset, 'incarnation' | 'seq' | 'snapshot'>;

export interface FeedCounts {
  /** Counts of the last 60 minutes, without the records that a snapshot reads. */
  readonly changesPerMinute: readonly number[];
  readonly requestsLastMinute: number;
  readonly retriesLastMinute: number;
  /** Newest first. */
  readonly errors: readonly ErrorView[];
}

/** Changes that were committed during a longer gap belong to minutes that were not counted. */
const LONGEST_GAP_MS = 90_000;
const MOST_ERRORS = 5;
const MOST_ERROR_CHARACTERS = 400;

interface Counting {
  readonly changes: TimeSlots;
  readonly requests: TimeSlots;
  readonly retries: TimeSlots;
  readonly errors: Map<ErrorCode, { -readonly [field in keyof ErrorView]: ErrorView[field] }>;
  /** State of the feed, while this instance has it. */
  state: FeedState | null;
  noted: { readonly incarnation: string; readonly seq: number; readonly atMs: number } | null;
}

/** @param clock ms, never set back */
export function feedActivity(feeds: readonly Feed[], clock = () => performance.now()): FeedActivity {
  const all = new Map(
    feeds.map(({ name }): [string, Counting] => [
      name,
      {
        changes: timeSlots(60, 60_000, clock),
        requests: timeSlots(60, 1_000, clock),
        retries: timeSlots(60, 1_000, clock),
        errors: new Map(),
        state: null,
        noted: null,
      },
    ]),
  );

  /**
   * Changes are numbered without gaps, including changes by commands and changes that another instance committed.
   * @param reads so many since the last note are records that were only read for the first time
   */
  function note(one: Counting, { incarnation, seq, snapshot }: Committed, reads = 0): void {
    const { noted } = one;
    const atMs = clock();
    const isNext = noted?.incarnation === incarnation;
    const isRecent = one.state !== null || (noted !== null && atMs - noted.atMs <= LONGEST_GAP_MS);
    const isOthersSnapshot = one.state === null && snapshot === 'running';
    if (isNext && isRecent && !isOthersSnapshot) one.changes.add(Math.max(0, seq - noted.seq - reads));
    one.noted = { incarnation, seq, atMs };
  }

  function tell(one: Counting, event: PublisherEvent): void {
    switch (event.kind) {
      case 'acquired':
        note(one, event.state.offset);
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
        for (const error of one.errors.values()) error.lasts = false;
        break;
      case 'failed': {
        const times = (one.errors.get(event.code)?.times ?? 0) + 1;
        const what = errorText(event.what);
        one.errors.delete(event.code);
        one.errors.set(event.code, { code: event.code, what, times, lastAtMs: Date.now(), lasts: true });
        break;
      }
    }
    if (one.state !== null)
      note(one, one.state.offset, event.kind === 'page' ? event.report.changes.ops.r : 0);
  }

  return {
    tell(event) {
      const one = all.get(event.feed);
      if (one !== undefined) tell(one, event);
    },
    note(feed, offset) {
      const one = all.get(feed);
      if (one !== undefined) note(one, offset);
    },
    of(feed) {
      const { changes, requests, retries, errors } = all.get(feed)!;
      const sum = (slots: TimeSlots) => slots.counts().reduce((total, count) => total + count, 0);
      return {
        changesPerMinute: changes.counts(),
        requestsLastMinute: sum(requests),
        retriesLastMinute: sum(retries),
        errors: [...errors.values()]
          .reverse()
          .slice(0, MOST_ERRORS)
          .map((error) => ({ ...error })),
      };
    },
  };
}

/** The first line of an error's text, fit for the page. The log of the program has the rest, such as a stack. */
export function errorText(text: string): string {
  return shortText(text.split('\n', 1)[0]!, MOST_ERROR_CHARACTERS);
}
