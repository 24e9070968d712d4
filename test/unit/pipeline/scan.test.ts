import { usualShape } from '../../../src/feeds/definition';
import type { Feed } from '../../../src/feeds/feed';
import { rowKeys } from '../../../src/feeds/row-keys';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { scan } from '../../../src/pipeline/scan/scan';
import type { ScanStart } from '../../../src/pipeline/scan/scan-position';
import type { FeedName } from '../../../src/simulator/endpoints';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../src/simulator/simulator';
import type { ClosableSource } from '../../../src/source/client';
import type { Paging, ScanPage } from '../../../src/types';
import { endsWithTest } from '../../support/ends';
import { testFeed } from '../../support/feeds';
import { quietLogger, testSource } from '../../support/source';

const keys = rowKeys(usualShape);

/** Pages of a tenth of their usual size: the same walks, of a tenth of the records. */
const pageSize = 100;
const ipos = testFeed('ipos', { pageSize });

let api: Simulator;
let source: ClosableSource;
const logger = quietLogger();

/** A clock of the server is that of the client, too. */
async function simulate(options: SimulatorOptions): Promise<void> {
  api = await startSimulator({ ...options, compress: false });
  const [started, client] = [api, testSource(api, logger, undefined, options.clock)];
  source = client;
  endsWithTest(() => started.stop());
  endsWithTest(() => client.close());
}

beforeEach(() => {
  logger.warnings.length = 0;
});

interface Scanned {
  readonly pages: ScanPage[];
  /** Latest version seen of each id: its `updated`. */
  readonly seen: Map<string, number>;
  readonly requests: number;
  readonly last: ScanPage;
}

async function scanAll(feed: Feed, start: Partial<ScanStart> = {}): Promise<Scanned> {
  const before = api.counters.requests;
  const seen = new Map<string, number>();
  const pages: ScanPage[] = [];
  const paging = unknownPaging(feed.pageSize);
  const whole: ScanStart = { highWaterMark: 0, snapshot: true, wide: false, paging, ...start };
  for await (const page of scan(feed, whole, { source, logger }, new AbortController().signal)) {
    pages.push(page);
    for (const row of page.rows) seen.set(keys.id(row)!, keys.updated(row)!);
  }
  return { pages, seen, requests: api.counters.requests - before, last: pages.at(-1)! };
}

function expectEverything(feed: FeedName, scanned: Scanned): void {
  const truth = new Map([...api.truth(feed)].map(([id, record]) => [id, record.updated as number]));
  expect(scanned.seen.size).toBe(truth.size);
  expect([...truth].filter(([id, updated]) => scanned.seen.get(id) !== updated)).toStrictEqual([]);
  expect(scanned.pages.filter((page) => page.progress.complete)).toEqual([scanned.last]);
}

const newestOf = (feed: FeedName): number =>
  Math.max(...[...api.truth(feed).values()].map((r) => r.updated as number));

/** Another record like the first one. */
function write(id: string, updated: number): void {
  const [first] = [...api.truth('ipos').values()];
  api.stores.ipos.upsert({ ...first!, id, updated });
}

const manners = [
  { paging: 'index', firstPage: 0 },
  { paging: 'index', firstPage: 1 },
  { paging: 'offset', firstPage: 0 },
  { paging: 'offset', firstPage: 1 },
] as const;

interface Server extends SimulatorOptions {
  readonly of: string;
  readonly feed?: Feed;
  readonly learned?: Partial<Paging>;
  /** 500 rows are 5 pages up and 5 down, and not one request a record. */
  readonly fewerRequests?: number;
}

const cluster = (size: number) => ({ feed: 'ipos', size }) as const;
const servers: readonly Server[] = manners.flatMap((behaviour): Server[] => [
  {
    of: `650 records by ${behaviour.paging} from ${behaviour.firstPage}, five pages of them of one second`,
    ...{ behaviour, records: { ipos: 650 }, cluster: cluster(500), fewerRequests: 38 },
    learned: { unit: behaviour.paging === 'index' ? 'page' : 'record', firstPage: behaviour.firstPage },
  },
  {
    of: `three records, by ${behaviour.paging} from ${behaviour.firstPage}`,
    ...{ behaviour, records: { ipos: 3 }, cluster: cluster(3), learned: { pageSize } },
  },
]);

const otherServers: readonly Server[] = [
  {
    of: 'everything on each page, where each second fits into one',
    ...{ records: { ipos: 250 }, behaviour: { ignorePaging: true } },
  },
  {
    of: 'the latest day only, unless it is asked for others',
    feed: testFeed('insights', { pageSize }),
    ...{ records: { insights: 150, analysts: 40 }, behaviour: { latestDayDefault: true } },
  },
];

it.each([...servers, ...otherServers])(
  'a server of $of is read to its end',
  async ({ of: _, feed = ipos, learned = {}, fewerRequests = Infinity, ...options }) => {
    await simulate(options);
    const scanned = await scanAll(feed);
    expectEverything(feed.name as FeedName, scanned);
    expect(scanned.last.progress.paging).toMatchObject(learned);
    expect(scanned.requests).toBeLessThan(fewerRequests);
  },
);

it('a server of fewer records than tell how it pages, all of one second, costs few requests when nothing is new', async () => {
  await simulate({ records: { ipos: 12 }, cluster: cluster(12) });
  const { progress } = (await scanAll(ipos)).last;
  const idle = await scanAll(ipos, { ...progress, snapshot: false });
  expect(idle.requests).toBeLessThan(4);
  expect(idle.last.progress).toMatchObject({ complete: true, settled: true });
});

describe('paging', () => {
  it.each(manners)('finds five pages of shuffled ties, by $paging from $firstPage', async (behaviour) => {
    const shuffled = { ...behaviour, ties: 'shuffled' } as const;
    await simulate({ records: { ipos: 560 }, cluster: cluster(500), behaviour: shuffled });
    expectEverything('ipos', await scanAll(ipos));
    expect(logger.warnings).toStrictEqual([]);
  });

  it.each(['cap', 'asked'] as const)(
    'below a cap of 100, positions counted by %s: 3,000 records in one second',
    async (capStep) => {
      const behaviour = { pageCap: 100, capStep };
      await simulate({ records: { ipos: 3400 }, cluster: cluster(3000), behaviour });
      const scanned = await scanAll(testFeed('ipos'));
      expectEverything('ipos', scanned);
      expect(scanned.last.progress.paging.pageSize).toBe(100);
    },
  );

  it.each([
    [true, 'cap'],
    [false, 'cap'],
    [false, 'asked'],
  ] as const)(
    'below a cap that comes later is noticed by a poll (wide: %s), positions counted by %s',
    async (wide, capStep) => {
      let now = Date.now();
      await simulate({ records: { ipos: 250 }, spreadDays: 0.01, perSecond: 10, clock: () => now });
      const { progress: before } = (await scanAll(ipos)).last;
      expect(before.paging.longestPage).toBe(100);
      api.behave({ pageCap: 40, capStep }, 'ipos');
      for (const key of api.stores.ipos.keys().slice(0, 60)) api.stores.ipos.touch(key);
      now += 10_000;
      const { seen, last } = await scanAll(ipos, { ...before, snapshot: false, wide });
      expect(last.progress.paging.longestPage).toBe(40);
      expect(
        [...api.truth('ipos')].filter(
          ([id, r]) => (r.updated as number) > before.highWaterMark && !seen.has(id),
        ),
      ).toStrictEqual([]);
    },
  );

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'finds the one tie that a page does not hold, in whatever order they come (%d)',
    async (seed) => {
      await simulate({
        seed,
        records: { ipos: 28 },
        cluster: { feed: 'ipos', size: 8, secondsAgo: 1 },
        behaviour: { pageCap: 7, ties: 'shuffled' },
      });
      expectEverything('ipos', await scanAll(testFeed('ipos', { pageSize: 10 })));
    },
  );

  it('that counts records from 1, although 0 was learned, shows one row twice and hides none', async () => {
    await simulate({ records: { ipos: 200 }, behaviour: { paging: 'offset', firstPage: 1 } });
    const updated = newestOf('ipos') + 1;
    for (let i = 0; i < 15; i++) write(`tie-${i}`, updated);
    const wrong = { ...unknownPaging(50), unit: 'record' } as const;
    const whole = { snapshot: false, wide: true, whole: true };
    const scanned = await scanAll(testFeed('ipos', { pageSize: 50 }), { ...whole, paging: wrong });
    expect(scanned.last.progress.settled).toBe(true);
    expectEverything('ipos', scanned);
  });
});

describe('order', () => {
  it.each(['desc', 'insertion'] as const)(
    '%s with a newest second wider than a page leaves nothing older behind',
    async (order) => {
      const newest = { feed: 'ipos', size: 150, secondsAgo: 1 } as const;
      await simulate({ records: { ipos: 400 }, cluster: newest, behaviour: { order } });
      expectEverything('ipos', await scanAll(ipos));
    },
  );

  it('that changes to newest first is noticed, although the newest page is of one second', async () => {
    const newest = { feed: 'ipos', size: 150, secondsAgo: 1 } as const;
    await simulate({ records: { ipos: 400 }, spreadDays: 0.002, cluster: newest });
    const paging = { ...unknownPaging(pageSize), unit: 'page' as const, longestPage: pageSize };
    api.behave({ order: 'desc' }, 'ipos');
    expectEverything('ipos', await scanAll(ipos, { paging }));
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'is not doubted for a late row in front of a wide second that arrives with request %d',
    async (arrival) => {
      await simulate({
        records: { ipos: 350 },
        cluster: { feed: 'ipos', size: 300, secondsAgo: 1 },
        newestSecondsAgo: 3600,
      });
      const { progress } = (await scanAll(ipos)).last;
      let requests = 0;
      api.onRequest(() => {
        if (++requests === arrival) write('late', progress.highWaterMark - 2);
      });
      const scanned = await scanAll(ipos, { ...progress, snapshot: false });
      expect(scanned.last.progress.settled).toBe(true);
      expect(scanned.pages.filter(({ progress: { paging } }) => !paging.ordered)).toStrictEqual([]);
      const next = await scanAll(ipos, { ...scanned.last.progress, snapshot: false });
      expect(new Set([...scanned.seen.keys(), ...next.seen.keys()]).size).toBe(301);
    },
  );

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
    'is not doubted for one answer in another order, to request %d of a snapshot',
    async (odd) => {
      await simulate({ records: { ipos: 700 }, spreadDays: 0.01 });
      let requests = 0;
      api.onRequest(() => api.behave({ order: ++requests === odd ? 'shuffled' : 'asc' }, 'ipos'));
      const scanned = await scanAll(ipos);
      expectEverything('ipos', scanned);
      expect(scanned.last.progress.settled).toBe(true);
      expect(scanned.pages.filter(({ progress: { paging } }) => !paging.ordered)).toStrictEqual([]);
    },
  );
});

describe('rows that move while the scan runs', () => {
  const clock = { ms: 0 };
  const small = testFeed('ipos', { pageSize: 20 });
  beforeEach(() => {
    clock.ms = Date.now();
  });
  const second = () => Math.floor(clock.ms / 1000);

  it.each(['first', 'random'] as const)('(%s) are seen, and so are those they passed', async (moveWhich) => {
    await simulate({ records: { ipos: 400 }, cluster: cluster(250) });
    api.behave({ moveRowsPerRequest: 3, moveWhich }, 'ipos');
    const scanned = await scanAll(ipos);
    api.behave({ moveRowsPerRequest: 0 }, 'ipos');
    expect([...api.truth('ipos').keys()].filter((id) => !scanned.seen.has(id))).toStrictEqual([]);
    // Rows that moved behind the end of this scan come with the next.
    const next = await scanAll(ipos, { ...scanned.last.progress, snapshot: false });
    const seen = new Map([...scanned.seen, ...next.seen]);
    expect([...api.truth('ipos')].filter(([id, record]) => seen.get(id) !== record.updated)).toStrictEqual(
      [],
    );
  });

  it('do not keep a poll from ending, and do not hide rows dated ahead', async () => {
    await simulate({ records: { ipos: 750 }, clock: () => clock.ms });
    const feed = testFeed('ipos', { pageSize: 50 });
    const { progress } = (await scanAll(feed)).last;
    write('ahead', second() + 86_400);
    // With each request a second passes in which more rows move than a page holds.
    api.onRequest(() => {
      clock.ms += 1000;
      for (const key of api.stores.ipos.keys().slice(0, 100)) api.stores.ipos.touch(key);
    });
    const next = await scanAll(feed, { ...progress, snapshot: false });
    expect(next.requests).toBeLessThan(20);
    expect(next.seen.has('ahead')).toBe(true);
  });

  it.each([
    ['no answer has a Date', { clockSkew: -120, dateHeader: false }, 0],
    ['the Date is not of the clock by which rows are dated', { clockSkew: 0 }, -120],
  ] as const)(
    'do not keep a snapshot from ending where the vendor dates them two minutes behind, and %s',
    async (_, behaviour, skew) => {
      await simulate({ records: { ipos: 80 }, clock: () => clock.ms, behaviour });
      api.onRequest(() => {
        clock.ms += 100;
        const [first] = api.stores.ipos.keys();
        api.stores.ipos.touch(first!, second() + (behaviour.clockSkew || skew));
      });
      const scanned = await scanAll(small);
      expect(scanned.requests).toBeLessThan(200);
      expect(scanned.last.progress).toMatchObject({ complete: true, settled: true });
      expect(scanned.seen.size).toBe(80);
    },
  );

  it('do not end a snapshot before the present where the clocks are right, though page after page holds nothing else', async () => {
    await simulate({ records: { ipos: 200 }, clock: () => clock.ms });
    const keys = api.stores.ipos.keys();
    const unread = keys.at(-1)!;
    let requests = 0;
    api.onRequest(() => {
      clock.ms += 1000;
      // Each second a few rows move that were read, and one that never is, since it moves behind them before its turn.
      const at = requests++ * 10;
      if (at > 160) return;
      for (const key of keys.slice(at, at + 10)) api.stores.ipos.touch(key);
      api.stores.ipos.touch(unread);
    });
    const scanned = await scanAll(small);
    expect(scanned.last.progress).toMatchObject({ complete: true, settled: true });
    expect(scanned.seen.has(unread)).toBe(true);
  });

  it('do not keep it from ending either where the vendor dates them two minutes ahead and no answer says so', async () => {
    const behaviour = { clockSkew: 120, dateHeader: false, moveRowsPerRequest: 3 };
    await simulate({ records: { ipos: 80 }, clock: () => clock.ms, behaviour });
    api.onRequest(() => {
      clock.ms += 400;
    });
    write('ahead', second() + 86_400);
    const next = await scanAll(ipos);
    expect(next.requests).toBeLessThan(200);
    expect(next.last.progress.complete).toBe(true);
    expect(next.seen.has('ahead')).toBe(true);
  });
});

it('a row that becomes visible late is found within the overlap, and by a wide poll behind it', async () => {
  await simulate({ records: { ipos: 50 } });
  const { progress } = (await scanAll(ipos)).last;
  write('late-3', progress.highWaterMark - 3);
  write('late-900', progress.highWaterMark - 900);
  const near = await scanAll(ipos, { ...progress, snapshot: false });
  expect([near.seen.has('late-3'), near.seen.has('late-900')]).toEqual([true, false]);
  const wide = await scanAll(ipos, { ...progress, snapshot: false, wide: true });
  expect([wide.seen.has('late-3'), wide.seen.has('late-900')]).toEqual([true, true]);
});

it.each([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
  'an empty answer to request %d of a snapshot does not end it',
  async (request) => {
    await simulate({ records: { ipos: 150 }, cluster: { feed: 'ipos', size: 100, secondsAgo: 86_400 } });
    api.fault({ fault: { kind: 'short', rows: 0 }, skip: request, times: 1 } as never);
    expectEverything('ipos', await scanAll(ipos));
  },
);
