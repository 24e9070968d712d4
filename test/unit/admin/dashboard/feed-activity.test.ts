import { type FeedBoard, feedBoard } from '../../../../src/admin/feed-board';
import type { PageReport } from '../../../../src/pipeline/poll';
import type { PublisherEvent } from '../../../../src/runtime/publisher-events';
import type { FeedState } from '../../../../src/state/feed-state';
import { testFeed } from '../../../support/feeds';

let nowMs: number;
let offset: Parameters<FeedBoard['note']>[1];
let board: FeedBoard;
const state = {
  get offset() {
    return offset;
  },
} as FeedState;

beforeEach(() => {
  nowMs = 60_000_000;
  offset = { incarnation: 'a', seq: 1_000, snapshot: 'complete' };
  board = feedBoard(
    [testFeed('ipos')],
    async () => null,
    () => nowMs,
  );
});

type Untold<Event> = Event extends PublisherEvent ? Omit<Event, 'feed'> : never;
const tell = (...events: Untold<PublisherEvent>[]) => {
  for (const event of events) board.tell({ ...event, feed: 'ipos' } as PublisherEvent);
};
const acquired = {
  kind: 'acquired',
  state,
  drift: { note() {}, found: () => ({ paths: [], others: 0 }) },
} as const;
const rested = { kind: 'rested' } as const;
const failed = (code: 'SOURCE_TIMEOUT' | 'SOURCE_UNAUTHORIZED', what: string) =>
  ({ kind: 'failed', code, parks: false, what, retryInMs: null }) as const;
const activity = () => board.feeds[0]!.activity;
const lastMinutes = (count: number) => activity().changes.counts().slice(-count);

it('counts changes by their numbers, whatever made them, and nothing that was there before', () => {
  tell(acquired);
  offset = { incarnation: 'a', seq: 1_003, snapshot: 'complete' };
  tell(rested, rested);
  nowMs += 60_000;
  offset = { incarnation: 'a', seq: 1_010, snapshot: 'complete' };
  tell({ kind: 'touched' });
  expect(lastMinutes(3)).toEqual([0, 3, 7]);
  expect(activity().changes.counts()).toHaveLength(60);
});

it('counts no record that was only read for the first time', () => {
  tell(acquired);
  offset = { ...offset, seq: 1_500 };
  const ops = { c: 2, u: 1, d: 0, r: 497 };
  tell({ kind: 'page', report: { changes: { ops } } as PageReport });
  tell({ kind: 'released' });
  board.note('ipos', { ...offset, seq: 1_900, snapshot: 'running' });
  board.note('ipos', { ...offset, seq: 1_901 });
  expect(lastMinutes(1)).toEqual([4]);
});

it('does not count the numbers of another life of the feed, nor those of minutes in which nobody looked', () => {
  tell(acquired);
  offset = { incarnation: 'b', seq: 5_000, snapshot: 'complete' };
  tell(rested);
  expect(lastMinutes(1)).toEqual([0]);
  tell({ kind: 'released' });
  nowMs += 600_000;
  board.note('ipos', { incarnation: 'b', seq: 9_000, snapshot: 'complete' });
  nowMs += 5_000;
  board.note('ipos', { incarnation: 'b', seq: 9_002, snapshot: 'complete' });
  board.note('unknown', { incarnation: 'b', seq: 1, snapshot: 'complete' });
  expect(lastMinutes(1)).toEqual([2]);
});

it('counts requests and retries of the last minute', () => {
  tell({ kind: 'requested', status: 200, seconds: 1 }, { kind: 'retried', reason: 'SOURCE_TIMEOUT' });
  nowMs += 30_000;
  tell({ kind: 'requested', status: null, seconds: 1 });
  const lastMinute = () => [activity().requests.sum(), activity().retries.sum()];
  expect(lastMinute()).toEqual([2, 1]);
  nowMs += 30_000;
  expect(lastMinute()).toEqual([1, 0]);
});

it('keeps errors by their code, the newest last, until a poll succeeds as lasting', () => {
  tell(
    failed('SOURCE_TIMEOUT', 'late'),
    failed('SOURCE_UNAUTHORIZED', 'no'),
    failed('SOURCE_TIMEOUT', 'later'),
  );
  expect([...activity().errors]).toMatchObject([
    ['SOURCE_UNAUTHORIZED', { what: 'no', times: 1, lasts: true }],
    ['SOURCE_TIMEOUT', { what: 'later', times: 2, lasts: true }],
  ]);
  tell({
    kind: 'polled',
    seconds: 1,
    result: { pages: 1, rows: 0, changes: 0, deadLetters: 0, complete: true },
  });
  expect([...activity().errors.values()].map(({ lasts }) => lasts)).toEqual([false, false]);
});
