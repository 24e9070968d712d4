import { type FeedBoard, feedBoard, knowledgeOf } from '../../../src/admin/feed-board';
import { verdictOf } from '../../../src/feed-status/verdict';
import type { PublisherEvent } from '../../../src/runtime/publisher-events';
import type { FeedState } from '../../../src/state/feed-state';
import { firstSourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';

let board: FeedBoard;
let clockMs: number;

beforeEach(() => {
  clockMs = 0;
  board = feedBoard([testFeed('ipos'), testFeed('analysts')], () => clockMs);
});

type Told = PublisherEvent extends infer One
  ? One extends PublisherEvent
    ? Omit<One, 'feed'>
    : never
  : never;
const tell = (...events: Told[]) => {
  for (const event of events) board.tell({ ...event, feed: 'ipos' } as PublisherEvent);
};
const ipos = () => board.feeds[0]!;

const state = { offset: { ...firstSourceOffset('ipos', 'a', 's'), last_complete_scan_ms: 0 } } as FeedState;
const acquired = {
  kind: 'acquired',
  state,
  drift: { note() {}, found: () => ({ paths: [], others: 0 }) },
} as Told;
const polled = { kind: 'polled', result: {} as never, seconds: 1 } as const;
const parked = { kind: 'failed', code: 'KAFKA_FORBIDDEN', parks: true, what: 'no', retryInMs: null } as const;
const failed = {
  kind: 'failed',
  code: 'SOURCE_TIMEOUT',
  parks: false,
  what: 'late',
  retryInMs: 60_000,
} as const;

it('follows a feed from waiting to owned', () => {
  expect(ipos()).toMatchObject({ phase: 'waiting', state: null, failure: null });
  tell({ kind: 'restoring' });
  expect(ipos()).toMatchObject({ phase: 'restoring', state: null });
  tell(acquired);
  expect(ipos()).toMatchObject({ phase: 'owned', state });
  expect(board.feeds[1]).toMatchObject({ phase: 'waiting', state: null });
});

it('keeps a failure through every try, until a poll succeeds', () => {
  tell(acquired, failed, { kind: 'retried', reason: 'SOURCE_TIMEOUT' });
  const { failure } = ipos();
  expect(failure).toMatchObject({ code: 'SOURCE_TIMEOUT', parks: false, what: 'late' });
  expect(failure!.retryAtMs).toBe(failure!.sinceMs! + 60_000);
  tell({ ...failed, retryInMs: 120_000 });
  expect(ipos().failure).toMatchObject({ sinceMs: failure!.sinceMs });
  tell(polled);
  expect(ipos().failure).toBeNull();
});

it('waits without a failure of its own once another instance has the feed', () => {
  tell({ kind: 'restoring' }, parked, { kind: 'released' });
  expect(ipos()).toMatchObject({ phase: 'restoring', failure: { parks: true } });
  tell({ kind: 'waiting' });
  expect(ipos()).toMatchObject({ phase: 'waiting', failure: null });
  const owners = new Map([['ipos', 'host:1']]);
  expect(verdictOf(knowledgeOf(ipos(), owners, null), 0).condition).toBe('standby');
});

it('a feed that could not be taken over is parked, though the group counts this instance as its owner', () => {
  // The feed is released before the failure is reported.
  tell(
    { kind: 'waiting' },
    { kind: 'restoring' },
    { kind: 'released' },
    { ...parked, code: 'STATE_DAMAGED' },
  );
  const owners = new Map([['ipos', 'this:1']]);
  expect(verdictOf(knowledgeOf(ipos(), owners, null), 0)).toMatchObject({
    condition: 'parked',
    reason: 'parked by STATE_DAMAGED, tried again slowly',
  });
});

it('keeps why the others cannot be asked while it waits for their word', () => {
  tell({ kind: 'waiting' }, { ...failed, code: 'KAFKA_UNREACHABLE' }, { kind: 'waiting' });
  expect(verdictOf(knowledgeOf(ipos(), null, null), 0).reason).toContain('KAFKA_UNREACHABLE');
});

it('takes back a feed that it has lost by a failure, and waits for one that was taken from it', () => {
  tell(acquired, { kind: 'released' });
  expect(ipos()).toMatchObject({ phase: 'waiting', state: null });
  tell(acquired, { ...failed, code: 'LOG_FENCED' }, { kind: 'released' });
  expect(ipos()).toMatchObject({ phase: 'restoring', state: null });
});

it('knows the last sign of life of each feed, and nothing of a feed that is not configured', () => {
  clockMs = 500;
  tell({ kind: 'requested', status: 200, seconds: 1 });
  board.tell({ kind: 'waiting', feed: 'unknown' });
  expect(board.feeds.map(({ lastSignMs }) => lastSignMs)).toEqual([500, 0]);
});
