import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator';
import { testFeed } from '../support/feeds';
import { carryOut } from '../support/operations';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

/** The own clock; the server's is off by what `behaviour.clockSkew` says. */
let nowMs: number;
let api: Simulator;
let publisher: TestPublisher;

async function begin(options: SimulatorOptions = {}, overrides: Partial<Feed> = {}): Promise<void> {
  nowMs = 1_790_000_000_000;
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
  const vendor = {
    records: { ipos: 60 },
    // By the server's clock, all of it is past.
    newestSecondsAgo: 2 - Math.min(0, options.behaviour?.clockSkew ?? 0),
    spreadDays: 0.02,
    clock: () => nowMs,
    ...options,
  };
  const feed = testFeed('ipos', { snapshotMode: 'never', pageSize: 50, ...overrides });
  ({ api, publisher } = await world({ feed, vendor }));
}

afterEach(() => jest.restoreAllMocks());

const events = async () =>
  (await publisher.topic('ipos')).map(({ key, decoded }) => [decoded!.op, key, decoded!.source.origin]);

function write(id: string): void {
  const [some] = [...api.truth('ipos').values()];
  const { updated: _, ...record } = {
    updated: 0,
    name: 'N',
    date: '2026',
    ...some,
    id,
    notes: `${id} ${nowMs}`,
  };
  api.stores.ipos.upsert(record as never);
}

const pass = (seconds: number) => {
  nowMs += seconds * 1000;
};

it('a feed that begins without a snapshot publishes nothing that is older, and what comes then as created', async () => {
  await begin();
  const began = Math.floor(nowMs / 1000);
  // As the owner of a feed does: the first one is wide.
  await publisher.poll({ wide: true });
  expect(await events()).toStrictEqual([]);
  const offset = await publisher.sourceOffset();
  expect(offset).toMatchObject({ snapshot: 'complete', snapshot_completed_ms: null, begins_at: began });
  expect(offset.high_water_mark).toBeGreaterThan(began - 120);
  pass(30);
  write('new');
  const [known] = [...api.truth('ipos').keys()];
  api.stores.ipos.touch(known!);
  await publisher.poll();
  expect(await events()).toEqual(
    expect.arrayContaining([
      ['c', 'new', 'poll'],
      ['c', known, 'poll'],
    ]),
  );
  pass(30);
  write('new');
  await publisher.poll({ wide: true });
  expect((await events()).map(([op]) => op)).toEqual(['c', 'c', 'u']);
});

it.each([7200, 40, 3, 0, -3, -40, -7200])(
  'an own clock that is ahead by %d s misses nothing that is written from the beginning on',
  async (ahead) => {
    await begin({ behaviour: { clockSkew: -ahead } });
    write('1 at once');
    pass(3);
    write('2 before the first answer');
    await publisher.poll({ wide: true });
    for (let i = 3; i < 8; i++) {
      pass(20);
      write(`${i} later`);
      await publisher.poll({ wide: i === 5 });
    }
    pass(7300);
    await publisher.poll();
    const found = await events();
    expect(found.map(([, id]) => String(id)[0]).join('')).toBe('1234567');
    expect(found.every(([op]) => op === 'c')).toBe(true);
    const { high_water_mark } = await publisher.sourceOffset();
    expect(high_water_mark).toBeLessThanOrEqual(Math.floor(nowMs / 1000) - ahead);
  },
);

it.each([0, 7200])(
  'an API that does not answer for an hour at the beginning hides nothing of that hour (own clock ahead by %d s)',
  async (ahead) => {
    await begin({ behaviour: { clockSkew: -ahead } });
    for (let i = 1; i <= 4; i++) {
      api.fault({ fault: { kind: 'status', status: 503 }, times: 4 } as never);
      await expect(publisher.poll({ wide: true })).rejects.toBeInstanceOf(HighwaterError);
      pass(900);
      write(`${i} meanwhile`);
    }
    api.clearFaults();
    await publisher.poll({ wide: true });
    expect((await events()).map(([op, id]) => `${op} ${String(id)[0]}`)).toEqual([
      'c 1',
      'c 2',
      'c 3',
      'c 4',
    ]);
  },
);

it('a server that ignores the filter, or gives no order, still shows nothing of before', async () => {
  await begin({ behaviour: { ignoreUpdated: true, order: 'desc' } });
  await publisher.poll({ wide: true });
  pass(10);
  write('new');
  await publisher.poll();
  expect(await events()).toEqual([['c', 'new', 'poll']]);
});

it('goes on from its mark after a restart, also with another mode', async () => {
  await begin();
  await publisher.poll({ wide: true });
  const { begins_at, incarnation } = await publisher.sourceOffset();
  pass(60);
  write('while it was away');
  await publisher.restart({ feed: testFeed('ipos', { snapshotMode: 'initial', pageSize: 50 }) });
  await publisher.poll({ wide: true });
  expect(await events()).toEqual([['c', 'while it was away', 'poll']]);
  pass(60);
  await publisher.poll();
  expect(await publisher.sourceOffset()).toMatchObject({ begins_at, incarnation });
});

it('once a snapshot was asked for, a record that comes late with an older time is new', async () => {
  await begin();
  await publisher.poll({ wide: true });
  await carryOut('snapshot', publisher, testFeed('ipos', { pageSize: 50 }), new Map());
  expect((await publisher.sourceOffset()).record_count).toBe(60);
  const [some] = [...api.truth('ipos').values()];
  api.stores.ipos.upsert({ ...some, id: 'late' } as never, { updated: Math.floor(nowMs / 1000) - 600 });
  await publisher.poll({ wide: true });
  expect((await events()).slice(60)).toEqual([['c', 'late', 'poll']]);
});

it('asked for something else, it begins anew from its mark, without a snapshot', async () => {
  await begin();
  await publisher.poll({ wide: true });
  pass(60);
  write('before');
  await publisher.poll();
  pass(60);
  write('after');
  await publisher.restart({ scope: 'other' });
  const { offset } = publisher.owned().deps.state;
  await publisher.poll({ wide: true });
  expect((await events()).filter(([op]) => op === 'c')).toEqual([
    ['c', 'before', 'poll'],
    ['c', 'after', 'poll'],
  ]);
  expect(offset).toMatchObject({ scope: 'other', snapshot: 'complete', begins_at: offset.high_water_mark });
});

it('a feed with a snapshot has no beginning', async () => {
  await begin({}, { snapshotMode: 'initial' });
  await publisher.poll({ wide: true });
  expect(await events()).toHaveLength(60);
  expect(await publisher.sourceOffset()).toMatchObject({ begins_at: 0, snapshot_completed_ms: nowMs });
});
