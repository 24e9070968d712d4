import {
  boardStatus,
  type FeedBoard,
  type FeedStanding,
  feedBoard,
  knowledgeOf,
  liveHealth,
  ownersOf,
  readyHealth,
} from '../../../src/admin/feed-board';
import { feedStatus } from '../../../src/feed-status/feed-status';
import type { CommitLog } from '../../../src/log/commit-log';
import type { PageReport } from '../../../src/pipeline/poll';
import type { PublisherEvent } from '../../../src/runtime/publisher-events';
import type { FeedState } from '../../../src/state/feed-state';
import { firstSourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';

let board: FeedBoard;
let clockMs: number;

beforeEach(() => {
  clockMs = 0;
  board = feedBoard(
    [testFeed('ipos'), testFeed('analysts')],
    async () => null,
    () => clockMs,
  );
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
const failed = { ...parked, code: 'SOURCE_TIMEOUT', parks: false, what: 'late', retryInMs: 60_000 } as const;

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
  expect(feedStatus(knowledgeOf(ipos(), owners, null), 0).condition).toBe('standby');
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
  expect(feedStatus(knowledgeOf(ipos(), owners, null), 0)).toMatchObject({
    condition: 'parked',
    reason: 'parked by STATE_DAMAGED, tried again slowly',
  });
});

it('keeps why the others cannot be asked while it waits for their word', () => {
  tell({ kind: 'waiting' }, { ...failed, code: 'KAFKA_UNREACHABLE' }, { kind: 'waiting' });
  expect(feedStatus(knowledgeOf(ipos(), null, null), 0).reason).toContain('KAFKA_UNREACHABLE');
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

describe('the activity of a feed', () => {
  let offset: Parameters<FeedBoard['note']>[1];
  const state = {
    get offset() {
      return offset;
    },
  } as FeedState;
  const counting = { ...acquired, state } as Told;
  const activity = () => ipos().activity;
  const lastMinutes = (count: number) => activity().changes.counts().slice(-count);

  beforeEach(() => {
    offset = { incarnation: 'a', seq: 1_000, snapshot: 'complete' };
  });

  it('counts changes by their numbers, whatever made them, and nothing that was there before', () => {
    tell(counting);
    offset = { incarnation: 'a', seq: 1_003, snapshot: 'complete' };
    tell({ kind: 'rested' }, { kind: 'rested' });
    clockMs += 60_000;
    offset = { incarnation: 'a', seq: 1_010, snapshot: 'complete' };
    tell({ kind: 'touched' });
    expect(lastMinutes(3)).toEqual([0, 3, 7]);
    expect(activity().changes.counts()).toHaveLength(60);
  });

  it('counts no record that was only read for the first time', () => {
    tell(counting);
    offset = { ...offset, seq: 1_500 };
    const ops = { c: 2, u: 1, d: 0, r: 497 };
    tell({ kind: 'page', report: { changes: { ops } } as PageReport });
    tell({ kind: 'released' });
    board.note('ipos', { ...offset, seq: 1_900, snapshot: 'running' });
    board.note('ipos', { ...offset, seq: 1_901 });
    expect(lastMinutes(1)).toEqual([4]);
  });

  it('does not count the numbers of another life of the feed, nor those of minutes in which nobody looked', () => {
    tell(counting);
    offset = { incarnation: 'b', seq: 5_000, snapshot: 'complete' };
    tell({ kind: 'rested' });
    expect(lastMinutes(1)).toEqual([0]);
    tell({ kind: 'released' });
    clockMs += 600_000;
    board.note('ipos', { incarnation: 'b', seq: 9_000, snapshot: 'complete' });
    clockMs += 5_000;
    board.note('ipos', { incarnation: 'b', seq: 9_002, snapshot: 'complete' });
    board.note('unknown', { incarnation: 'b', seq: 1, snapshot: 'complete' });
    expect(lastMinutes(1)).toEqual([2]);
  });

  it('counts requests and retries of the last minute', () => {
    tell({ kind: 'requested', status: 200, seconds: 1 }, { kind: 'retried', reason: 'SOURCE_TIMEOUT' });
    clockMs += 30_000;
    tell({ kind: 'requested', status: null, seconds: 1 });
    const lastMinute = () => [activity().requests.sum(), activity().retries.sum()];
    expect(lastMinute()).toEqual([2, 1]);
    clockMs += 30_000;
    expect(lastMinute()).toEqual([1, 0]);
  });

  it('keeps errors by their code, the newest last, until a poll succeeds as lasting', () => {
    tell(failed, parked, { ...failed, what: 'later' });
    expect([...activity().errors]).toMatchObject([
      ['KAFKA_FORBIDDEN', { what: 'no', times: 1, lasts: true }],
      ['SOURCE_TIMEOUT', { what: 'later', times: 2, lasts: true }],
    ]);
    tell(polled);
    expect([...activity().errors.values()].map(({ lasts }) => lasts)).toEqual([false, false]);
  });
});

const feed = testFeed('ipos', { pollIntervalMs: 60_000 });

function standing(change: Partial<FeedStanding> = {}): FeedStanding {
  const offset = { ...firstSourceOffset('ipos', 'a', 's'), snapshot: 'complete' as const };
  return {
    ...feedBoard(
      [feed],
      async () => null,
      () => 0,
    ).feeds[0]!,
    phase: 'owned',
    state: { offset: { ...offset, last_complete_scan_ms: Date.now() } } as FeedState,
    ...change,
  };
}
const waiting = standing({ phase: 'waiting', state: null });
const readyWith = (one: FeedStanding, owners: ReadonlyMap<string, string> | null) =>
  boardStatus({ feeds: [one], owners: async () => owners }).then(readyHealth);

it('a publisher whose feed is up to date is ready, without asking other instances', async () => {
  const health = readyHealth(
    await boardStatus({ feeds: [standing()], owners: () => Promise.reject(new Error('asked')) }),
  );
  expect(health).toMatchObject({ ok: true, reasons: [], feeds: { ipos: { condition: 'up-to-date' } } });
});

it('a publisher with a parked feed is not ready, and its answer holds the code and no text of the error', async () => {
  const failure = { code: 'SOURCE_UNAUTHORIZED', parks: true, what: 'GET http://api answered 401' };
  const reason = 'parked by SOURCE_UNAUTHORIZED, tried again slowly';
  expect(await readyWith(standing({ failure }), null)).toEqual({
    ok: false,
    reasons: [`ipos: ${reason}`],
    feeds: { ipos: { ready: false, condition: 'parked', reason } },
  });
});

it.each([
  ['another instance has the feed', new Map([['ipos', 'host:1']]), true, 'standby'],
  ['no instance has the feed', new Map<string, string>(), false, 'no-owner'],
  ['the instances cannot be asked', null, false, 'owner-unknown'],
])('an instance that waits while %s is ready: %s', async (_, owners, ok, condition) => {
  expect(await readyWith(waiting, owners)).toMatchObject({ ok, feeds: { ipos: { condition } } });
});

describe('the loop of a feed seems to stand still', () => {
  const minutes = 60_000;
  const slow = standing({ feed: { ...feed, pollIntervalMs: 5 * minutes } });
  it.each([
    ['after a quarter of an hour of nothing', standing(), 15 * minutes + 1, true],
    ['not before', standing(), 15 * minutes, false],
    ['after ten intervals when these are longer', slow, 50 * minutes + 1, true],
    ['not within ten intervals', slow, 50 * minutes, false],
    ['while it restores too', standing({ phase: 'restoring' }), 16 * minutes, true],
    ['never while it waits for its turn', waiting, 1_000 * minutes, false],
  ] as const)('%s', (_, one, clockMs, isSilent) => {
    expect(liveHealth({ feeds: [one] }, clockMs).ok).toBe(!isSilent);
  });

  it('with the seconds', () =>
    expect(liveHealth({ feeds: [standing()] }, 16 * minutes).reasons).toEqual([
      'ipos: the loop has done nothing for 960 s',
    ]));
});

const logWith = (owners: CommitLog['owners']) => ({ owners }) as CommitLog;

it('asks once for probes that come together, and tells who has what', async () => {
  let asked = 0;
  const owners = ownersOf(
    logWith(async () => {
      asked++;
      return new Map([['ipos', 'host:1']]);
    }),
    ['ipos', 'analysts'],
  );
  const [first, second] = await Promise.all([owners(), owners()]);
  expect([first!.get('ipos'), second!.has('analysts')]).toEqual(['host:1', false]);
  expect(asked).toBe(1);
});

it.each([
  ['cannot be asked', () => Promise.reject(new Error('no broker'))],
  ['does not answer', () => new Promise<never>(() => {})],
])('does not know when the log %s', async (_, owners) => {
  expect(await ownersOf(logWith(owners), ['ipos'])()).toBeNull();
});
