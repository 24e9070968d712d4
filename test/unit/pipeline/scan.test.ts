import { HighwaterError } from '../../../src/errors';
import { usualShape } from '../../../src/feeds/definition';
import type { Feed } from '../../../src/feeds/feed';
import { rowKeys } from '../../../src/feeds/row-keys';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { scan } from '../../../src/pipeline/scan/scan';
import type { ScanStart } from '../../../src/pipeline/scan/scan-position';
import type { FeedName } from '../../../src/simulator/endpoints';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../src/simulator/simulator';
import type { ClosableSource } from '../../../src/source/client';
import type { ScanPage } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { quietLogger, testSource } from '../../support/source';

const keys = rowKeys(usualShape);

/** Pages of a tenth of their usual size: the same walks, of a tenth of the records. */
const pageSize = 100;
const [ipos, analysts, insights] = ['ipos', 'analysts', 'insights'].map((name) =>
  testFeed(name, { pageSize }),
) as [Feed, Feed, Feed];

let api: Simulator;
let source: ClosableSource;
const logger = quietLogger();

async function simulate(options: SimulatorOptions): Promise<void> {
  api = await startSimulator({ ...options, compress: false });
  source = testSource(api);
}

afterEach(async () => {
  source?.close();
  await api?.stop();
  logger.warnings.length = 0;
});

interface Scanned {
  readonly pages: ScanPage[];
  /** Latest version seen of each id: its `updated`. */
  readonly seen: Map<string, number>;
  readonly rows: number;
  readonly requests: number;
  readonly last: ScanPage;
}

async function scanAll(feed: Feed, start: Partial<ScanStart> = {}): Promise<Scanned> {
  const before = api.counters.requests;
  const seen = new Map<string, number>();
  const pages: ScanPage[] = [];
  const whole: ScanStart = {
    highWaterMark: 0,
    snapshot: true,
    wide: false,
    paging: unknownPaging(feed.pageSize),
    ...start,
  };
  for await (const page of scan(feed, whole, { source, logger }, new AbortController().signal)) {
    pages.push(page);
    for (const row of page.rows) seen.set(keys.id(row)!, keys.updated(row)!);
  }
  const rows = pages.reduce((sum, page) => sum + page.rows.length, 0);
  return { pages, seen, rows, requests: api.counters.requests - before, last: pages.at(-1)! };
}

function expectEverything(feed: FeedName, scanned: Scanned): void {
  const truth = new Map([...api.truth(feed)].map(([id, record]) => [id, record.updated as number]));
  expect(scanned.seen.size).toBe(truth.size);
  expect([...truth].filter(([id, updated]) => scanned.seen.get(id) !== updated)).toStrictEqual([]);
  expect(scanned.pages.filter((page) => page.progress.complete)).toEqual([scanned.last]);
}

const newestOf = (feed: FeedName): number =>
  Math.max(...[...api.truth(feed).values()].map((r) => r.updated as number));

describe('a well-behaved server', () => {
  it('is read to its end, the mark at the newest record', async () => {
    await simulate({ records: { ipos: 250 } });
    const scanned = await scanAll(ipos);
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.highWaterMark).toBe(newestOf('ipos'));
    expect(scanned.pages.every((page) => page.progress.duringSnapshot)).toBe(true);
    expect(scanned.last.progress.paging).toMatchObject({ unit: 'page', firstPage: 0, pageSize });
  });

  it('costs one request when nothing is new', async () => {
    await simulate({ records: { ipos: 150 } });
    const { progress } = (await scanAll(ipos)).last;
    const idle = await scanAll(ipos, { ...progress, snapshot: false });
    expect(idle.requests).toBe(1);
    expect(idle.last.progress).toMatchObject({ complete: true, highWaterMark: progress.highWaterMark });
  });

  it('of fewer records than tell how it pages, all of one second, costs few requests when nothing is new', async () => {
    await simulate({ records: { ipos: 12 }, cluster: { feed: 'ipos', size: 12 } });
    const { progress } = (await scanAll(ipos)).last;
    const idle = await scanAll(ipos, { ...progress, snapshot: false });
    expect(idle.requests).toBeLessThan(4);
    expect(idle.last.progress).toMatchObject({ complete: true, settled: true });
  });

  it('is read to its end by a snapshot that is not wide, whatever page is short', async () => {
    await simulate({ records: { ipos: 250 } });
    const { paging } = (await scanAll(ipos)).last.progress;
    for (const skip of [0, 1, 2]) {
      api.fault({ fault: { kind: 'short', rows: 30 }, skip, times: 1 } as never);
      expectEverything('ipos', await scanAll(ipos, { paging }));
    }
  });

  it('never loses the mark over several polls, and shows what came in between', async () => {
    await simulate({ records: { ipos: 30 } });
    let { progress } = (await scanAll(ipos)).last;
    for (let i = 0; i < 5; i++) {
      const [first] = [...api.truth('ipos').values()];
      api.stores.ipos.upsert({ ...first, id: `new-${i}`, updated: newestOf('ipos') + 1 });
      const scanned = await scanAll(ipos, { ...progress, snapshot: false });
      expect(scanned.seen.has(`new-${i}`)).toBe(true);
      progress = scanned.last.progress;
    }
    expect(progress.highWaterMark).toBe(newestOf('ipos'));
  });

  it('of no records is asked twice before its emptiness is believed, and completes the snapshot', async () => {
    await simulate({});
    const scanned = await scanAll(ipos);
    expect(scanned.seen.size).toBe(0);
    expect(scanned.last.progress).toMatchObject({ complete: true, duringSnapshot: true, highWaterMark: 0 });
    expect(
      api.requests().filter((seen) => seen.query['parameters[updated]'] === '0').length,
    ).toBeGreaterThanOrEqual(2);
  });
});

describe('paging', () => {
  const manners = [
    { paging: 'index', firstPage: 0 },
    { paging: 'index', firstPage: 1 },
    { paging: 'offset', firstPage: 0 },
    { paging: 'offset', firstPage: 1 },
  ] as const;

  it.each(manners)('is learned where the server counts by $paging from $firstPage', async (behaviour) => {
    await simulate({ records: { ipos: 650 }, cluster: { feed: 'ipos', size: 500 }, behaviour });
    const scanned = await scanAll(ipos);
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.paging).toMatchObject({
      unit: behaviour.paging === 'index' ? 'page' : 'record',
      firstPage: behaviour.firstPage,
    });
    // 500 rows are 5 pages up and 5 down, and not one request a record.
    expect(scanned.requests).toBeLessThan(35);
  });

  it.each(manners)('finds all of one second alone, by $paging from $firstPage', async (behaviour) => {
    await simulate({ records: { ipos: 500 }, cluster: { feed: 'ipos', size: 500 }, behaviour });
    expectEverything('ipos', await scanAll(ipos));
  });

  it.each(manners)('of a feed of three records, by $paging from $firstPage', async (behaviour) => {
    await simulate({ records: { ipos: 3 }, cluster: { feed: 'ipos', size: 3 }, behaviour });
    const scanned = await scanAll(ipos);
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.paging.pageSize).toBe(pageSize);
  });

  it.each(manners)('finds five pages of shuffled ties, by $paging from $firstPage', async (behaviour) => {
    await simulate({
      records: { ipos: 560 },
      cluster: { feed: 'ipos', size: 500 },
      behaviour: { ...behaviour, ties: 'shuffled' },
    });
    expectEverything('ipos', await scanAll(ipos));
    expect(logger.warnings).toStrictEqual([]);
  });

  it.each(['cap', 'asked'] as const)(
    'below a cap of 100, positions counted by %s: 3,000 records in one second',
    async (capStep) => {
      await simulate({
        records: { ipos: 3400 },
        cluster: { feed: 'ipos', size: 3000 },
        behaviour: { pageCap: 100, capStep },
      });
      const scanned = await scanAll(testFeed('ipos'));
      expectEverything('ipos', scanned);
      expect(scanned.last.progress.paging.pageSize).toBe(100);
    },
  );

  it.each(['cap', 'asked'] as const)(
    'below a cap of 100, positions counted by %s: a second of 500',
    async (capStep) => {
      await simulate({
        records: { ipos: 900 },
        cluster: { feed: 'ipos', size: 500 },
        behaviour: { pageCap: 100, capStep },
      });
      expectEverything('ipos', await scanAll(testFeed('ipos')));
    },
  );

  it('below a cap that comes later is noticed by a wide poll', async () => {
    await simulate({ records: { ipos: 250 }, spreadDays: 0.01, perSecond: 10 });
    let { progress } = (await scanAll(ipos)).last;
    expect(progress.paging.longestPage).toBe(100);
    api.behave({ pageCap: 40 }, 'ipos');
    progress = (await scanAll(ipos, { ...progress, snapshot: false, wide: true })).last.progress;
    expect(progress.paging.longestPage).toBe(40);
    for (const key of api.stores.ipos.keys().slice(0, 150)) api.stores.ipos.touch(key);
    const scanned = await scanAll(ipos, { ...progress, snapshot: false });
    expect(
      [...api.truth('ipos')].filter(
        ([id, r]) => (r.updated as number) > progress.highWaterMark && !scanned.seen.has(id),
      ),
    ).toStrictEqual([]);
  });

  it('finds the one tie that a page does not hold, in whatever order they come', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      await simulate({
        seed,
        records: { ipos: 28 },
        cluster: { feed: 'ipos', size: 8, secondsAgo: 1 },
        behaviour: { pageCap: 7, ties: 'shuffled' },
      });
      expectEverything('ipos', await scanAll(testFeed('ipos', { pageSize: 10 })));
      source.close();
      await api.stop();
    }
  });

  it('that counts records from 1, although 0 was learned, shows one row twice and hides none', async () => {
    await simulate({ records: { ipos: 200 }, behaviour: { paging: 'offset', firstPage: 1 } });
    const [record] = [...api.truth('ipos').values()];
    const updated = newestOf('ipos') + 1;
    for (let i = 0; i < 15; i++) api.stores.ipos.upsert({ ...record, id: `tie-${i}`, updated });
    const feed = testFeed('ipos', { pageSize: 50 });
    const wrong = { ...unknownPaging(50), unit: 'record' } as const;
    const whole = { snapshot: false, wide: true, whole: true };
    const scanned = await scanAll(feed, { ...whole, paging: wrong });
    expect(scanned.last.progress.settled).toBe(true);
    expectEverything('ipos', scanned);
  });

  it('that is ignored does no harm while seconds fit into a page', async () => {
    await simulate({ records: { ipos: 250 }, behaviour: { ignorePaging: true } });
    expectEverything('ipos', await scanAll(ipos));
  });

  it('that is ignored parks the feed at a second that does not fit', async () => {
    await simulate({
      records: { ipos: 250 },
      cluster: { feed: 'ipos', size: 120 },
      behaviour: { ignorePaging: true },
    });
    await expect(scanAll(ipos)).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
  });

  it('parks a second that reaches beyond its limit', async () => {
    await simulate({ records: { ipos: 700 }, cluster: { feed: 'ipos', size: 700 } });
    const failure = scanAll(testFeed('ipos', { pageSize, pagingLimit: 500 }));
    await expect(failure).rejects.toBeInstanceOf(HighwaterError);
    await expect(failure).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
  });

  it('asks for smaller pages when a body is too large', async () => {
    await simulate({ records: { ipos: 120 }, cluster: { feed: 'ipos', size: 70 } });
    source.close();
    source = testSource(api, logger, 40_000);
    const scanned = await scanAll(ipos);
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.paging.pageSize).toBe(25);
  });
});

describe('order', () => {
  it.each(['desc', 'shuffled', 'insertion', 'date'] as const)(
    '%s: all pages are walked, the mark moves at the end',
    async (order) => {
      await simulate({ records: { ipos: 230 }, behaviour: { order } });
      const scanned = await scanAll(ipos);
      expectEverything('ipos', scanned);
      expect(new Set(scanned.pages.slice(0, -1).map((page) => page.progress.highWaterMark))).toEqual(
        new Set([0]),
      );
      expect(scanned.last.progress.highWaterMark).toBe(newestOf('ipos'));
    },
  );

  it.each(['desc', 'insertion'] as const)(
    '%s with a newest second wider than a page leaves nothing older behind',
    async (order) => {
      await simulate({
        records: { ipos: 400 },
        cluster: { feed: 'ipos', size: 150, secondsAgo: 1 },
        behaviour: { order },
      });
      expectEverything('ipos', await scanAll(ipos));
    },
  );

  it('that changes to newest first is noticed, although the newest page is of one second', async () => {
    await simulate({
      records: { ipos: 400 },
      spreadDays: 0.002,
      cluster: { feed: 'ipos', size: 150, secondsAgo: 1 },
    });
    const paging = { ...unknownPaging(pageSize), unit: 'page' as const, longestPage: pageSize };
    api.behave({ order: 'desc' }, 'ipos');
    expectEverything('ipos', await scanAll(ipos, { paging }));
  });

  it('that breaks while it is read takes the mark back before anything else can fail', async () => {
    await simulate({ records: { ipos: 300 }, spreadDays: 0.01 });
    const paging = { ...unknownPaging(pageSize), unit: 'page' as const };
    let requests = 0;
    api.onRequest(() => {
      if (++requests === 3) api.behave({ order: 'desc' }, 'ipos');
    });
    const scanned = await scanAll(ipos, { paging });
    expectEverything('ipos', scanned);
    const marks = scanned.pages.map((page) => page.progress.highWaterMark);
    expect(marks[1]).toBeGreaterThan(0);
    expect(marks.slice(2, -1).every((mark) => mark === 0)).toBe(true);
    expect(scanned.pages[2]).toMatchObject({ rows: [], progress: { paging: { ordered: false } } });
  });

  it('is learned again when it comes back', async () => {
    await simulate({ records: { ipos: 230 }, spreadDays: 0.002, behaviour: { order: 'desc' } });
    let { progress } = (await scanAll(ipos)).last;
    expect(progress.paging.ordered).toBe(false);
    api.behave({ order: 'asc' }, 'ipos');
    progress = (await scanAll(ipos, { ...progress, snapshot: false, wide: true })).last.progress;
    expect(progress.paging.ordered).toBe(true);
    expect((await scanAll(ipos, { ...progress, snapshot: false })).requests).toBe(1);
  });

  it('is not doubted for a row that becomes visible late in front of a wide second', async () => {
    await simulate({
      records: { ipos: 130 },
      cluster: { feed: 'ipos', size: 120, secondsAgo: 1 },
      newestSecondsAgo: 3600,
    });
    const { progress } = (await scanAll(ipos)).last;
    const [first] = [...api.truth('ipos').values()];
    let requests = 0;
    api.onRequest(() => {
      if (++requests === 3)
        api.stores.ipos.upsert({ ...first!, id: 'late', updated: progress.highWaterMark - 2 });
    });
    const scanned = await scanAll(ipos, { ...progress, snapshot: false });
    expect(scanned.last.progress.paging.ordered).toBe(true);
    expect(scanned.seen.has('late')).toBe(true);
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
      const [first] = [...api.truth('ipos').values()];
      let requests = 0;
      api.onRequest(() => {
        if (++requests === arrival)
          api.stores.ipos.upsert({ ...first!, id: 'late', updated: progress.highWaterMark - 2 });
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

  it('is trusted again where everything from one second on is beyond what paging reaches', async () => {
    await simulate({ records: { ipos: 900 }, spreadDays: 0.01 });
    const paging = { ...unknownPaging(pageSize), unit: 'page' as const, ordered: false };
    const feed = testFeed('ipos', { pageSize, pagingLimit: 500 });
    const scanned = await scanAll(feed, { paging });
    expectEverything('ipos', scanned);
    expect(scanned.last.progress).toMatchObject({ settled: true, paging: { ordered: true } });
  });

  it('that is not given within what paging reaches parks the feed', async () => {
    await simulate({ records: { ipos: 900 }, behaviour: { order: 'desc' } });
    const feed = testFeed('ipos', { pageSize, pagingLimit: 500 });
    await expect(scanAll(feed)).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
  });

  it('of one page that holds everything does not matter', async () => {
    await simulate({ records: { ipos: 40 }, behaviour: { order: 'desc' } });
    const { progress } = (await scanAll(ipos)).last;
    api.stores.ipos.touch([...api.truth('ipos').keys()][7]!);
    const next = await scanAll(ipos, { ...progress, snapshot: false });
    expect(next.last.progress.highWaterMark).toBe(newestOf('ipos'));
  });

  it('is not trusted where the filter is ignored', async () => {
    await simulate({ records: { ipos: 230 }, behaviour: { ignoreUpdated: true, order: 'asc' } });
    const { progress } = (await scanAll(ipos)).last;
    const [first] = api.truth('ipos').keys();
    api.stores.ipos.touch(first!);
    const next = await scanAll(ipos, { ...progress, snapshot: false });
    expectEverything('ipos', next);
  });
});

describe('rows that move while the scan runs', () => {
  it.each(['first', 'random'] as const)('(%s) are seen, and so are those they passed', async (moveWhich) => {
    await simulate({ records: { ipos: 400 }, cluster: { feed: 'ipos', size: 250 } });
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
    const clock = { ms: Date.now() };
    await simulate({ records: { ipos: 750 }, clock: () => clock.ms });
    source.close();
    source = testSource(api, logger, undefined, () => clock.ms);
    const feed = testFeed('ipos', { pageSize: 50 });
    const { progress } = (await scanAll(feed)).last;
    const [first] = [...api.truth('ipos').values()];
    api.stores.ipos.upsert({ ...first!, id: 'ahead', updated: Math.floor(clock.ms / 1000) + 86_400 });
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
  ])(
    'do not keep a snapshot from ending where the vendor dates them two minutes behind, and %s',
    async (_, behaviour, skew) => {
      const clock = { ms: Date.now() };
      await simulate({ records: { ipos: 80 }, clock: () => clock.ms, behaviour });
      source.close();
      source = testSource(api, logger, undefined, () => clock.ms);
      api.onRequest(() => {
        clock.ms += 100;
        const [first] = api.stores.ipos.keys();
        const now = Math.floor(clock.ms / 1000) + (behaviour.clockSkew || skew);
        api.stores.ipos.touch(first!, now);
      });
      const scanned = await scanAll(testFeed('ipos', { pageSize: 20 }));
      expect(scanned.requests).toBeLessThan(200);
      expect(scanned.last.progress).toMatchObject({ complete: true, settled: true });
      expect(scanned.seen.size).toBe(80);
    },
  );

  it('do not end a snapshot before the present where the clocks are right, though page after page holds nothing else', async () => {
    const clock = { ms: Date.now() };
    await simulate({ records: { ipos: 200 }, clock: () => clock.ms });
    source.close();
    source = testSource(api, logger, undefined, () => clock.ms);
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
    const scanned = await scanAll(testFeed('ipos', { pageSize: 20 }));
    expect(scanned.last.progress).toMatchObject({ complete: true, settled: true });
    expect(scanned.seen.has(unread)).toBe(true);
  });

  it('do not keep it from ending either where the vendor dates them two minutes ahead and no answer says so', async () => {
    const clock = { ms: Date.now() };
    await simulate({
      records: { ipos: 80 },
      clock: () => clock.ms,
      behaviour: { clockSkew: 120, dateHeader: false, moveRowsPerRequest: 3 },
    });
    source.close();
    source = testSource(api, logger, undefined, () => clock.ms);
    api.onRequest(() => {
      clock.ms += 400;
    });
    const [first] = [...api.truth('ipos').values()];
    const ahead = Math.floor(clock.ms / 1000) + 86_400;
    api.stores.ipos.upsert({ ...first!, id: 'ahead', updated: ahead });
    const next = await scanAll(ipos);
    expect(next.requests).toBeLessThan(200);
    expect(next.last.progress.complete).toBe(true);
    expect(next.seen.has('ahead')).toBe(true);
  });
});

describe('time', () => {
  it.each([-7200, 7200])(
    'a server clock that is off by %d s: the mark passes neither clock',
    async (clockSkew) => {
      await simulate({ records: { ipos: 50 }, behaviour: { clockSkew } });
      const [, first] = [...api.truth('ipos').keys()];
      api.stores.ipos.touch(first!);
      const scanned = await scanAll(ipos);
      expectEverything('ipos', scanned);
      const now = Math.floor(Date.now() / 1000);
      expect(scanned.last.progress.highWaterMark).toBeLessThanOrEqual(Math.min(now, now + clockSkew) + 1);
    },
  );

  it('rows dated ahead are seen at every poll and do not move the mark beyond now', async () => {
    await simulate({ records: { ipos: 150 }, behaviour: { dateHeader: false } });
    const ahead = Math.floor(Date.now() / 1000) + 86_400;
    const [first] = [...api.truth('ipos').values()];
    for (let i = 0; i < 120; i++)
      api.stores.ipos.upsert({ ...first, id: `ahead-${i}`, updated: ahead + (i % 7) });
    const scanned = await scanAll(ipos);
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.highWaterMark).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
    const next = await scanAll(ipos, { ...scanned.last.progress, snapshot: false });
    expect([...next.seen.keys()].filter((id) => id.startsWith('ahead-')).length).toBe(120);
  });

  it('`updated` in milliseconds is brought to seconds', async () => {
    await simulate({ records: { ipos: 220 }, behaviour: { drift: { milliseconds: 0.3 } } });
    const scanned = await scanAll(ipos);
    expect(scanned.seen.size).toBe(220);
    expect(scanned.last.progress.highWaterMark).toBeLessThan(1e11);
  });

  it('a row that becomes visible late is found within the overlap, and by a wide poll behind it', async () => {
    await simulate({ records: { ipos: 50 } });
    const { progress } = (await scanAll(ipos)).last;
    const [first] = [...api.truth('ipos').values()];
    api.stores.ipos.upsert({ ...first, id: 'late-3', updated: progress.highWaterMark - 3 });
    api.stores.ipos.upsert({ ...first, id: 'late-900', updated: progress.highWaterMark - 900 });
    const near = await scanAll(ipos, { ...progress, snapshot: false });
    expect([near.seen.has('late-3'), near.seen.has('late-900')]).toEqual([true, false]);
    const wide = await scanAll(ipos, { ...progress, snapshot: false, wide: true });
    expect([wide.seen.has('late-3'), wide.seen.has('late-900')]).toEqual([true, true]);
  });
});

describe('answers', () => {
  it('an empty one where records were is asked for again', async () => {
    await simulate({ records: { ipos: 50 } });
    const { progress } = (await scanAll(ipos)).last;
    const [first] = api.truth('ipos').keys();
    api.stores.ipos.touch(first!);
    api.fault({ fault: { kind: 'short', rows: 0 } } as never);
    expect((await scanAll(ipos, { ...progress, snapshot: false })).seen.has(first!)).toBe(true);
  });

  it.each(['array', 'not-found', 'null', 'object', 'bare'] as const)(
    'an empty page as %s is the end',
    async (emptyAs) => {
      await simulate({
        records: { ipos: 100 },
        cluster: { feed: 'ipos', size: 100 },
        behaviour: { emptyAs },
      });
      expectEverything('ipos', await scanAll(ipos));
    },
  );

  it.each([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
    'an empty one to request %d of a snapshot does not end it',
    async (request) => {
      await simulate({ records: { ipos: 150 }, cluster: { feed: 'ipos', size: 100, secondsAgo: 86_400 } });
      api.fault({ fault: { kind: 'short', rows: 0 }, skip: request, times: 1 } as never);
      expectEverything('ipos', await scanAll(ipos));
    },
  );

  it('a bare array is a page', async () => {
    await simulate({ records: { analysts: 120 }, behaviour: { bodyAs: 'bare' } });
    expectEverything('analysts', await scanAll(analysts));
  });

  it('the latest-day default of the insights is overruled', async () => {
    await simulate({ records: { insights: 150, analysts: 40 }, behaviour: { latestDayDefault: true } });
    const scanned = await scanAll(insights);
    expectEverything('insights', scanned);
    expect(
      new Set(scanned.pages.flatMap((page) => page.rows.map((row) => (row as { date: string }).date))).size,
    ).toBeGreaterThan(1);
  });

  it('records without id or updated do not stop the walk', async () => {
    await simulate({
      records: { ipos: 240 },
      behaviour: { drift: { withoutId: 0.1, withoutUpdated: 0.1 } },
    });
    const scanned = await scanAll(ipos);
    expect([...api.truth('ipos').keys()].filter((id) => !scanned.seen.has(id))).toStrictEqual([]);
    expect(scanned.last.progress.complete).toBe(true);
  });
});
