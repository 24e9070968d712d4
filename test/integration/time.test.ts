import fc from 'fast-check';
import { createInbox } from '../../src/commands/inbox';
import { soleMembership } from '../../src/log/membership';
import { feedTopics } from '../../src/log/topics';
import { runFeedTask } from '../../src/runtime/feed-task';
import { Rotation } from '../../src/secrets/rotation';
import { type ClockedFeed, type ClockedFeedOptions, clockedFeed } from '../support/clocks';
import { until } from '../support/until';

/** Random clocks; the long form: TIME_RUNS=1000. */
const RUNS = Number(process.env.TIME_RUNS ?? 30);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

let feed: ClockedFeed;

async function start(options: ClockedFeedOptions = {}): Promise<void> {
  feed = await clockedFeed(options);
}
afterEach(() => feed.close());

const ops = async () => (await feed.judge()).map(({ decoded }) => decoded!.op as string).join('');

/** More than a page of changes, and that a poll publishes them all. */
async function writeAndPoll(wide = false): Promise<void> {
  feed.write(30);
  await feed.poll(wide);
  expect(feed.behind()).toStrictEqual([]);
}

const steps: [string, number][] = [
  ['forward by a second', 1_000],
  ['forward by an hour', HOUR],
  ['forward by a year', YEAR],
  ['back by a second', -1_000],
  ['back by an hour', -HOUR],
  ['back by a year', -YEAR],
];

describe('the own clock steps', () => {
  it.each(steps)('%s: what is written afterwards arrives with the next poll, once', async (_, step) => {
    await start();
    await feed.poll();
    await writeAndPoll();
    feed.clocks.own += step;
    await writeAndPoll();
    await feed.poll();
    await feed.publisher.restart();
    await writeAndPoll(true);
    feed.clocks.own -= step;
    await writeAndPoll();
    expect(await ops()).toBe('r'.repeat(60) + 'u'.repeat(120));
  });

  it.each(steps)('%s in the middle of a scan, with the rest of it written meanwhile', async (_, step) => {
    await start({ pageSize: 5 });
    await feed.poll();
    for (const request of [1, 2, 4]) {
      feed.write(25);
      feed.beforeRequest = (number) => {
        if (number !== request) return;
        feed.clocks.own += step;
        feed.write(3);
      };
      await feed.poll();
      feed.beforeRequest = () => {};
      feed.clocks.own -= step;
      await feed.poll();
      expect(feed.behind()).toStrictEqual([]);
    }
    await feed.judge();
  });

  it.each(steps)('%s while the snapshot is read: all of it is a read', async (_, step) => {
    await start({ pageSize: 5 });
    feed.beforeRequest = (number) => {
      if (number === 6) feed.clocks.own += step;
    };
    await feed.poll();
    feed.beforeRequest = () => {};
    expect(await ops()).toBe('r'.repeat(60));
    await writeAndPoll();
    expect(await ops()).toBe('r'.repeat(60) + 'u'.repeat(30));
  });

  it('the numbers of events go on, though their times go back', async () => {
    await start();
    await feed.poll();
    feed.clocks.own -= DAY;
    await writeAndPoll();
    const events = await feed.judge();
    const times = events.map(({ decoded }) => decoded!.ts_ms as number);
    expect(times[0]! - times.at(-1)!).toBeGreaterThan(DAY - HOUR);
  });
});

const http = (ms: number) => new Date(ms).toUTCString();
const dates: [string, ClockedFeed['date']][] = [
  ['is absent', () => undefined],
  ['cannot be parsed', () => 'the day before yesterday'],
  ['is empty', () => ''],
  ['is a day ahead', (ms) => http(ms + DAY)],
  ['is a day behind', (ms) => http(ms - DAY)],
  ['is a year ahead', (ms) => http(ms + YEAR)],
  ['is that of a clock that was never set', () => http(0)],
  ['lies before 1970', () => 'Mon, 01 Jan 1900 00:00:00 GMT'],
  ['is a number', () => '99999'],
  ['comes from one of two servers, an hour apart', (ms, answer) => http(ms - (answer % 2) * HOUR)],
  ['comes from one of two servers, the other a day ahead', (ms, answer) => http(ms + (answer % 2) * DAY)],
  ['comes from one of three servers', (ms, answer) => http(ms - (answer % 3) * HOUR)],
  ['is now and then absent', (ms, answer) => (answer % 2 ? undefined : http(ms))],
];

describe('the Date of the answers', () => {
  it.each(dates)('%s: everything arrives with the next poll, once', async (_, date) => {
    await start();
    feed.date = date;
    await feed.poll();
    expect(await ops()).toBe('r'.repeat(60));
    for (const wide of [false, true, false]) {
      feed.write(55);
      await feed.poll(wide);
      feed.pass(60_000);
      await feed.poll();
      expect(feed.behind()).toStrictEqual([]);
    }
    await feed.publisher.restart();
    await writeAndPoll(true);
    expect(await ops()).toBe('r'.repeat(60) + 'u'.repeat(165 + 30));
  });

  it.each(dates)('%s: a poll ends, though rows move faster than they are read', async (_, date) => {
    await start();
    await feed.poll();
    feed.date = date;
    feed.beforeRequest = () => feed.write(25);
    for (let i = 0; i < 3; i++) await feed.poll();
    feed.beforeRequest = () => {};
    await feed.poll();
    await feed.poll();
    await feed.judge();
  });
});

describe('a snapshot', () => {
  it.each(dates)('ends where the Date %s, though rows move faster than they are read', async (_, date) => {
    await start();
    feed.date = date;
    feed.beforeRequest = () => feed.write(25, undefined, 40);
    await feed.poll();
    feed.beforeRequest = () => {};
    expect(feed.publisher.owned().deps.state.offset.snapshot).toBe('complete');
    await feed.poll();
    await feed.poll();
    await feed.judge();
  });
});

describe('`updated`', () => {
  it('goes beyond 2038-01-19, as does the own clock', async () => {
    await start({ startMs: (2 ** 31 - 20) * 1000 });
    await feed.poll();
    await writeAndPoll();
    await writeAndPoll();
    await feed.publisher.restart();
    await writeAndPoll(true);
    expect(await ops()).toBe('r'.repeat(60) + 'u'.repeat(90));
    expect((await feed.publisher.sourceOffset()).high_water_mark).toBeGreaterThan(2 ** 31);
  });

  it.each([
    ['milliseconds', (second: number) => second * 1000 + 250],
    ['text', (second: number) => String(second)],
    ['a fraction', (second: number) => second + 0.5],
  ])('in %s', async (_, updated) => {
    await start();
    await feed.poll();
    for (let i = 0; i < 3; i++) {
      feed.write(30, updated);
      await feed.poll();
      expect(feed.behind()).toStrictEqual([]);
    }
    await writeAndPoll();
    await feed.judge();
  });

  it('ahead: published at once, and what comes before it too; then the clock catches up', async () => {
    await start();
    await feed.poll();
    feed.write(25, (second) => second + 600);
    await feed.poll();
    expect(feed.behind()).toStrictEqual([]);
    for (let i = 0; i < 20; i++) {
      await writeAndPoll();
      feed.pass(15_000);
    }
    await feed.publisher.restart();
    await writeAndPoll(true);
    await feed.judge();
  });

  it.each([HOUR, YEAR])('%d ms ahead by mistake, and put right later', async (ahead) => {
    await start();
    await feed.poll();
    feed.write(25, (second) => second + ahead / 1000);
    await feed.poll();
    feed.write(60);
    await feed.poll();
    expect(feed.behind()).toStrictEqual([]);
    await writeAndPoll();
    await feed.judge();
  });
});

describe('the clock by which the vendor dates its rows', () => {
  it('steps back by less than the overlap of a wide poll, which finds what was written meanwhile', async () => {
    await start();
    await feed.poll();
    await writeAndPoll();
    feed.clocks.vendor -= HOUR / 2;
    feed.write(30);
    await feed.poll();
    await feed.poll(true);
    expect(feed.behind()).toStrictEqual([]);
    await writeAndPoll();
    await feed.judge();
  });

  it('steps forward and back again', async () => {
    await start();
    await feed.poll();
    feed.clocks.vendor += YEAR;
    await writeAndPoll();
    feed.clocks.vendor -= YEAR;
    await writeAndPoll();
    await feed.judge();
  });
});

describe('a reconcile', () => {
  it.each(dates)(
    'where the Date %s: sees everything, and deletes what is gone and nothing else',
    async (_, date) => {
      await start();
      feed.date = date;
      await feed.poll();
      await writeAndPoll();
      const gone = feed.api.stores.ipos.keys().filter((_id, index) => index % 25 === 3);
      for (const id of gone) feed.api.stores.ipos.remove(id);
      expect(await feed.reconcile()).toMatchObject({
        created: 0,
        updated: 0,
        deleted: gone.length,
        missing: 0,
      });
      await feed.judge();
    },
  );
});

it('a reconcile by schedule comes though the time of the snapshot, as it was stored, lies a year ahead', async () => {
  await start({ startMs: Date.now() + YEAR });
  await feed.poll();
  const { owned, log, logger, sourceOffset } = feed.publisher;
  await owned().release();
  const scheduled = { ...feed.feed, pollIntervalMs: 200, reconcileEveryMs: DAY };
  const deps = {
    source: feed.source,
    log: log.commitLog,
    registry: log.registry,
    logger,
    inbox: createInbox(),
    topics: feedTopics(scheduled, ''),
    scope: 'scope',
    appId: 'test',
    instance: 'test',
    stateDir: null,
    membership: soleMembership(),
    tell: () => {},
    redact: (text: string) => text,
    rotation: new Rotation(),
  };
  const stop = new AbortController();
  const running = runFeedTask(scheduled, deps, false, stop.signal);
  try {
    await until(async () => (await sourceOffset()).last_reconcile_ms !== null);
  } finally {
    stop.abort();
    await running;
  }
});

it.each(['asc', 'desc'] as const)(
  'what is written while the mark lies ahead, for no clock was right, is read as soon as one is (%s)',
  async (order) => {
    await start({ pageSize: 5 });
    feed.api.behave({ order });
    await feed.poll();
    feed.clocks.own += YEAR;
    feed.date = () => undefined;
    feed.write(1, (second) => second + 100_000);
    await feed.poll();
    const ahead = feed.publisher.owned().deps.state.offset.high_water_mark;
    feed.write(50);
    await feed.poll();
    expect(feed.behind().length).toBeGreaterThan(20);
    feed.clocks.own -= YEAR;
    feed.date = http;
    await feed.poll();
    expect(feed.publisher.owned().deps.state.offset.high_water_mark).toBeLessThan(ahead);
    await feed.judge();
  },
);

const when = fc.integer({ min: 1, max: 6 });
const jump = fc.constantFrom(1_000, 7_000, HOUR, DAY, YEAR).chain((ms) => fc.constantFrom(ms, -ms));
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
const step = fc.oneof(
  fc.record({ kind: fc.constant('own steps'), ms: jump, when: fc.option(when) }),
  fc.record({ kind: fc.constant('date'), which: fc.nat(dates.length - 1), when: fc.option(when) }),
  fc.record({ kind: fc.constant('write'), count: fc.integer({ min: 1, max: 60 }), when: fc.option(when) }),
  fc.record({
    kind: fc.constant('pass'),
    ms: fc.constantFrom(500, 4_000, 60_000, HOUR),
    when: fc.option(when),
  }),
  fc.record({ kind: fc.constant('ahead'), count: fc.nat(5), seconds: fc.constantFrom(3, 600, 100_000) }),
  fc.constant({ kind: 'restart' }),
);

/** Everything before it is judged by polls; a poll that begins when all clocks are right has to show all that is there. */
async function play(steps: readonly Step[]): Promise<void> {
  await feed.poll();
  const right = feed.clocks.vendor - feed.clocks.own;
  for (const one of steps) {
    const act = (): void => {
      if (one.kind === 'own steps') feed.clocks.own += one.ms;
      else if (one.kind === 'date') feed.date = dates[one.which]![1];
      else if (one.kind === 'write') feed.write(one.count);
      else if (one.kind === 'pass') feed.pass(one.ms);
      else if (one.kind === 'ahead') feed.write(one.count, (second) => second + one.seconds);
    };
    if (one.kind === 'restart') await feed.publisher.restart();
    if ('when' in one && one.when !== null) feed.beforeRequest = (number) => number === one.when && act();
    else act();
    await feed.poll(one.kind === 'restart');
    feed.beforeRequest = () => {};
  }
  feed.clocks.own = feed.clocks.vendor - right;
  feed.date = http;
  await feed.poll();
  await feed.poll();
}

it('for any clocks, the mark is never ahead, every poll ends, and nothing is lost or published twice', async () => {
  const days = fc.record({
    steps: fc.array(step, { maxLength: 14 }),
    pageSize: fc.constantFrom(5, 20, 1000),
  });
  await start();
  await fc.assert(
    fc.asyncProperty(days, async ({ steps, pageSize }) => {
      await feed.close();
      await start({ pageSize });
      await play(steps);
      await feed.judge();
    }),
    { numRuns: RUNS, ...(process.env.TIME_SEED && { seed: Number(process.env.TIME_SEED) }) },
  );
}, 3_600_000);
