import { feedActivity } from '../../../../src/admin/dashboard/feed-view';
import type { PageReport } from '../../../../src/pipeline/poll';
import type { PublisherEvent } from '../../../../src/runtime/publisher-events';
import type { FeedState } from '../../../../src/state/feed-state';
import { testFeed } from '../../../support/feeds';

let nowMs: number;
let offset: Parameters<typeof activity.note>[1];
let activity: ReturnType<typeof feedActivity>;
const state = {
  get offset() {
    return offset;
  },
} as FeedState;

beforeEach(() => {
  nowMs = 60_000_000;
  offset = { incarnation: 'a', seq: 1_000, snapshot: 'complete' };
  activity = feedActivity([testFeed('ipos')], () => nowMs);
});

type Untold<Event> = Event extends PublisherEvent ? Omit<Event, 'feed'> : never;
const tell = (...events: Untold<PublisherEvent>[]) => {
  for (const event of events) activity.tell({ ...event, feed: 'ipos' } as PublisherEvent);
};
const acquired = {
  kind: 'acquired',
  state,
  drift: { note() {}, found: () => ({ paths: [], others: 0 }) },
} as const;
const rested = { kind: 'rested' } as const;
const failed = (code: 'SOURCE_TIMEOUT' | 'SOURCE_UNAUTHORIZED', what: string) =>
  ({ kind: 'failed', code, parks: false, what, retryInMs: null }) as const;
const lastMinutes = (count: number) => activity.of('ipos').changesPerMinute.slice(-count);

it('counts changes by their numbers, whatever made them, and nothing that was there before', () => {
  tell(acquired);
  offset = { incarnation: 'a', seq: 1_003, snapshot: 'complete' };
  tell(rested, rested);
  nowMs += 60_000;
  offset = { incarnation: 'a', seq: 1_010, snapshot: 'complete' };
  tell({ kind: 'touched' });
  expect(lastMinutes(3)).toEqual([0, 3, 7]);
  expect(activity.of('ipos').changesPerMinute).toHaveLength(60);
});

it('counts no record that was only read for the first time', () => {
  tell(acquired);
  offset = { ...offset, seq: 1_500 };
  const ops = { c: 2, u: 1, d: 0, r: 497 };
  tell({ kind: 'page', report: { changes: { ops } } as PageReport });
  tell({ kind: 'released' });
  activity.note('ipos', { ...offset, seq: 1_900, snapshot: 'running' });
  activity.note('ipos', { ...offset, seq: 1_901 });
  expect(lastMinutes(1)).toEqual([4]);
});

it('does not count the numbers of another life of the feed, nor those of minutes in which nobody looked', () => {
  tell(acquired);
  offset = { incarnation: 'b', seq: 5_000, snapshot: 'complete' };
  tell(rested);
  expect(lastMinutes(1)).toEqual([0]);
  tell({ kind: 'released' });
  nowMs += 600_000;
  activity.note('ipos', { incarnation: 'b', seq: 9_000, snapshot: 'complete' });
  nowMs += 5_000;
  activity.note('ipos', { incarnation: 'b', seq: 9_002, snapshot: 'complete' });
  activity.note('unknown', { incarnation: 'b', seq: 1, snapshot: 'complete' });
  expect(lastMinutes(1)).toEqual([2]);
});

it('counts requests and retries of the last minute', () => {
  tell({ kind: 'requested', status: 200, seconds: 1 }, { kind: 'retried', reason: 'SOURCE_TIMEOUT' });
  nowMs += 30_000;
  tell({ kind: 'requested', status: null, seconds: 1 });
  expect(activity.of('ipos')).toMatchObject({ requestsLastMinute: 2, retriesLastMinute: 1 });
  nowMs += 30_000;
  expect(activity.of('ipos')).toMatchObject({ requestsLastMinute: 1, retriesLastMinute: 0 });
});

it('keeps errors by their code, the newest first, until a poll succeeds as lasting, in one line', () => {
  tell(
    failed('SOURCE_TIMEOUT', 'late'),
    failed('SOURCE_UNAUTHORIZED', 'no'),
    failed('SOURCE_TIMEOUT', 'late\n at x'),
  );
  expect(activity.of('ipos').errors).toMatchObject([
    { code: 'SOURCE_TIMEOUT', what: 'late', times: 2, lasts: true },
    { code: 'SOURCE_UNAUTHORIZED', what: 'no', times: 1, lasts: true },
  ]);
  tell({
    kind: 'polled',
    seconds: 1,
    result: { pages: 1, rows: 0, changes: 0, deadLetters: 0, complete: true },
  });
  expect(activity.of('ipos').errors.map(({ lasts }) => lasts)).toEqual([false, false]);
});
