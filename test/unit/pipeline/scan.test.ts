import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import { unknownPaging } from '../../../src/pipeline/paging';
import { rowId, rowUpdated } from '../../../src/pipeline/row';
import { type ScanStart, scan } from '../../../src/pipeline/scan';
import type { FeedName } from '../../../src/simulator/endpoints';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../src/simulator/simulator';
import type { ClosableSource } from '../../../src/source/client';
import type { ScanPage } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { quietLogger, testSource } from '../../support/source';

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
    for (const row of page.rows) seen.set(rowId(row)!, rowUpdated(row)!);
  }
  const rows = pages.reduce((sum, page) => sum + page.rows.length, 0);
  return { pages, seen, rows, requests: api.counters.requests - before, last: pages.at(-1)! };
}

function expectEverything(feed: FeedName, scanned: Scanned): void {
  const truth = new Map([...api.truth(feed)].map(([id, record]) => [id, record.updated as number]));
  expect(scanned.seen.size).toBe(truth.size);
  expect([...truth].filter(([id, updated]) => scanned.seen.get(id) !== updated)).toEqual([]);
  expect(scanned.pages.filter((page) => page.progress.complete)).toEqual([scanned.last]);
}

const newestOf = (feed: FeedName): number =>
  Math.max(...[...api.truth(feed).values()].map((r) => r.updated as number));

describe('a well-behaved server', () => {
  it('is read to its end, the mark at the newest record', async () => {
    await simulate({ records: { ipos: 2500 } });
    const scanned = await scanAll(testFeed('ipos'));
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.highWaterMark).toBe(newestOf('ipos'));
    expect(scanned.pages.every((page) => page.progress.duringSnapshot)).toBe(true);
    expect(scanned.last.progress.paging).toMatchObject({ unit: 'page', firstPage: 0, pageSize: 1000 });
  });

  it('costs one request when nothing is new', async () => {
    await simulate({ records: { ipos: 1500 } });
    const { progress } = (await scanAll(testFeed('ipos'))).last;
    const idle = await scanAll(testFeed('ipos'), { ...progress, snapshot: false });
    expect(idle.requests).toBe(1);
    expect(idle.last.progress).toMatchObject({ complete: true, highWaterMark: progress.highWaterMark });
  });

  it('never loses the mark over several polls, and shows what came in between', async () => {
    await simulate({ records: { ipos: 300 } });
    let { progress } = (await scanAll(testFeed('ipos'))).last;
    for (let i = 0; i < 5; i++) {
      const [first] = [...api.truth('ipos').values()];
      api.stores.ipos.upsert({ ...first, id: `new-${i}`, updated: newestOf('ipos') + 1 });
      const scanned = await scanAll(testFeed('ipos'), { ...progress, snapshot: false });
      expect(scanned.seen.has(`new-${i}`)).toBe(true);
      progress = scanned.last.progress;
    }
    expect(progress.highWaterMark).toBe(newestOf('ipos'));
  });

  it('of no records is asked twice before its emptiness is believed, and completes the snapshot', async () => {
    await simulate({});
    const scanned = await scanAll(testFeed('ipos'));
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
    await simulate({ records: { ipos: 6500 }, cluster: { feed: 'ipos', size: 5000 }, behaviour });
    const scanned = await scanAll(testFeed('ipos'));
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.paging).toMatchObject({
      unit: behaviour.paging === 'index' ? 'page' : 'record',
      firstPage: behaviour.firstPage,
    });
    // 5,000 rows are 5 pages up and 5 down, and not one request a record.
    expect(scanned.requests).toBeLessThan(35);
  });

  it.each(manners)('finds all of one second alone, by $paging from $firstPage', async (behaviour) => {
    await simulate({ records: { ipos: 5000 }, cluster: { feed: 'ipos', size: 5000 }, behaviour });
    expectEverything('ipos', await scanAll(testFeed('ipos')));
  });

  it.each(manners)('of a feed of three records, by $paging from $firstPage', async (behaviour) => {
    await simulate({ records: { ipos: 3 }, cluster: { feed: 'ipos', size: 3 }, behaviour });
    const scanned = await scanAll(testFeed('ipos'));
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.paging.pageSize).toBe(1000);
  });

  it.each(manners)('finds 5,000 shuffled ties, by $paging from $firstPage', async (behaviour) => {
    await simulate({
      records: { ipos: 5600 },
      cluster: { feed: 'ipos', size: 5000 },
      behaviour: { ...behaviour, ties: 'shuffled' },
    });
    expectEverything('ipos', await scanAll(testFeed('ipos')));
    expect(logger.warnings).toEqual([]);
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
    await simulate({ records: { ipos: 2500 }, spreadDays: 0.01, perSecond: 10 });
    const feed = testFeed('ipos');
    let { progress } = (await scanAll(feed)).last;
    expect(progress.paging.longestPage).toBe(1000);
    api.behave({ pageCap: 40 }, 'ipos');
    progress = (await scanAll(feed, { ...progress, snapshot: false, wide: true })).last.progress;
    expect(progress.paging.longestPage).toBe(40);
    for (const key of api.stores.ipos.keys().slice(0, 500)) api.stores.ipos.touch(key);
    const scanned = await scanAll(feed, { ...progress, snapshot: false });
    expect(
      [...api.truth('ipos')].filter(
        ([id, r]) => (r.updated as number) > progress.highWaterMark && !scanned.seen.has(id),
      ),
    ).toEqual([]);
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

  it('that was learned wrong is learned anew at the full page size, though the second that shows it is short', async () => {
    await simulate({ records: { ipos: 200 }, behaviour: { paging: 'offset', firstPage: 1 } });
    const [record] = [...api.truth('ipos').values()];
    const updated = newestOf('ipos') + 1;
    for (let i = 0; i < 15; i++) api.stores.ipos.upsert({ ...record, id: `tie-${i}`, updated });
    const feed = testFeed('ipos', { pageSize: 50 });
    const wrong = { unit: 'record', firstPage: 0, pageSize: 50, longestPage: null, ordered: true } as const;
    const whole = { snapshot: false, wide: true, whole: true };
    const first = await scanAll(feed, { ...whole, paging: wrong });
    expect(first.last.progress).toMatchObject({ settled: false, paging: { unit: 'record', firstPage: 1 } });
    const second = await scanAll(feed, { ...whole, paging: first.last.progress.paging });
    expect(second.last.progress.settled).toBe(true);
    expectEverything('ipos', second);
  });

  it('that is ignored is no harm while seconds fit into a page', async () => {
    await simulate({ records: { ipos: 2500 }, behaviour: { ignorePaging: true } });
    expectEverything('ipos', await scanAll(testFeed('ipos')));
  });

  it('that is ignored parks the feed at a second that does not fit', async () => {
    await simulate({
      records: { ipos: 2500 },
      cluster: { feed: 'ipos', size: 1200 },
      behaviour: { ignorePaging: true },
    });
    await expect(scanAll(testFeed('ipos'))).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
  });

  it('parks a second that reaches beyond its limit', async () => {
    await simulate({ records: { ipos: 700 }, cluster: { feed: 'ipos', size: 700 } });
    const failure = scanAll(testFeed('ipos', { pageSize: 100, pagingLimit: 500 }));
    await expect(failure).rejects.toBeInstanceOf(HighwaterError);
    await expect(failure).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
  });

  it('asks for smaller pages when a body is too large', async () => {
    await simulate({ records: { ipos: 1200 }, cluster: { feed: 'ipos', size: 700 } });
    source.close();
    source = testSource(api, logger, 400_000);
    const scanned = await scanAll(testFeed('ipos'));
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.paging.pageSize).toBe(250);
  });
});

describe('order', () => {
  it.each(['desc', 'shuffled', 'insertion', 'date'] as const)(
    '%s: all pages are walked, the mark moves at the end',
    async (order) => {
      await simulate({ records: { ipos: 2300 }, behaviour: { order } });
      const scanned = await scanAll(testFeed('ipos'));
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
        records: { ipos: 4000 },
        cluster: { feed: 'ipos', size: 1500, secondsAgo: 1 },
        behaviour: { order },
      });
      expectEverything('ipos', await scanAll(testFeed('ipos')));
    },
  );

  it('that changes to newest first is noticed, though the newest page is of one second', async () => {
    await simulate({
      records: { ipos: 4000 },
      spreadDays: 0.02,
      cluster: { feed: 'ipos', size: 1500, secondsAgo: 1 },
    });
    const paging = { ...unknownPaging(1000), unit: 'page' as const, longestPage: 1000 };
    api.behave({ order: 'desc' }, 'ipos');
    expectEverything('ipos', await scanAll(testFeed('ipos'), { paging }));
  });

  it('that breaks while it is read takes the mark back before anything else can fail', async () => {
    await simulate({ records: { ipos: 300 }, spreadDays: 0.01 });
    const paging = { ...unknownPaging(100), unit: 'page' as const };
    let requests = 0;
    api.onRequest(() => {
      if (++requests === 3) api.behave({ order: 'desc' }, 'ipos');
    });
    const scanned = await scanAll(testFeed('ipos', { pageSize: 100 }), { paging });
    expectEverything('ipos', scanned);
    const marks = scanned.pages.map((page) => page.progress.highWaterMark);
    expect(marks[1]).toBeGreaterThan(0);
    expect(marks.slice(2, -1).every((mark) => mark === 0)).toBe(true);
    expect(scanned.pages[2]).toMatchObject({ rows: [], progress: { paging: { ordered: false } } });
  });

  it('is learned again when it comes back', async () => {
    await simulate({ records: { ipos: 2300 }, spreadDays: 0.02, behaviour: { order: 'desc' } });
    let { progress } = (await scanAll(testFeed('ipos'))).last;
    expect(progress.paging.ordered).toBe(false);
    api.behave({ order: 'asc' }, 'ipos');
    progress = (await scanAll(testFeed('ipos'), { ...progress, snapshot: false, wide: true })).last.progress;
    expect(progress.paging.ordered).toBe(true);
    expect((await scanAll(testFeed('ipos'), { ...progress, snapshot: false })).requests).toBe(1);
  });

  it('is not doubted for a row that becomes visible late in front of a wide second', async () => {
    await simulate({
      records: { ipos: 1300 },
      cluster: { feed: 'ipos', size: 1200, secondsAgo: 1 },
      newestSecondsAgo: 3600,
    });
    const { progress } = (await scanAll(testFeed('ipos'))).last;
    const [first] = [...api.truth('ipos').values()];
    let requests = 0;
    api.onRequest(() => {
      if (++requests === 3)
        api.stores.ipos.upsert({ ...first!, id: 'late', updated: progress.highWaterMark - 2 });
    });
    const scanned = await scanAll(testFeed('ipos'), { ...progress, snapshot: false });
    expect(scanned.last.progress.paging.ordered).toBe(true);
    expect(scanned.seen.has('late')).toBe(true);
  });

  it('of one page that holds everything does not matter', async () => {
    await simulate({ records: { ipos: 400 }, behaviour: { order: 'desc' } });
    const { progress } = (await scanAll(testFeed('ipos'))).last;
    api.stores.ipos.touch([...api.truth('ipos').keys()][7]!);
    const next = await scanAll(testFeed('ipos'), { ...progress, snapshot: false });
    expect(next.last.progress.highWaterMark).toBe(newestOf('ipos'));
  });

  it('is not trusted where the filter is ignored', async () => {
    await simulate({ records: { ipos: 2300 }, behaviour: { ignoreUpdated: true, order: 'asc' } });
    const { progress } = (await scanAll(testFeed('ipos'))).last;
    const [first] = api.truth('ipos').keys();
    api.stores.ipos.touch(first!);
    const next = await scanAll(testFeed('ipos'), { ...progress, snapshot: false });
    expectEverything('ipos', next);
  });
});

describe('rows that move while the scan runs', () => {
  it.each(['first', 'random'] as const)('(%s) are seen, and so are those they passed', async (moveWhich) => {
    await simulate({ records: { ipos: 4000 }, cluster: { feed: 'ipos', size: 2500 } });
    api.behave({ moveRowsPerRequest: 3, moveWhich }, 'ipos');
    const scanned = await scanAll(testFeed('ipos'));
    api.behave({ moveRowsPerRequest: 0 }, 'ipos');
    expect([...api.truth('ipos').keys()].filter((id) => !scanned.seen.has(id))).toEqual([]);
    // Rows that moved behind the end of this scan come with the next.
    const next = await scanAll(testFeed('ipos'), { ...scanned.last.progress, snapshot: false });
    const seen = new Map([...scanned.seen, ...next.seen]);
    expect([...api.truth('ipos')].filter(([id, record]) => seen.get(id) !== record.updated)).toEqual([]);
  });

  it('do not keep a poll from ending, and do not hide rows dated ahead', async () => {
    const clock = { ms: Date.now() };
    await simulate({ records: { ipos: 3000 }, clock: () => clock.ms });
    source.close();
    source = testSource(api, logger, undefined, () => clock.ms);
    const feed = testFeed('ipos', { pageSize: 200 });
    const { progress } = (await scanAll(feed)).last;
    const [first] = [...api.truth('ipos').values()];
    api.stores.ipos.upsert({ ...first!, id: 'ahead', updated: Math.floor(clock.ms / 1000) + 86_400 });
    // With each request a second passes in which more rows move than a page holds.
    api.onRequest(() => {
      clock.ms += 1000;
      for (const key of api.stores.ipos.keys().slice(0, 400)) api.stores.ipos.touch(key);
    });
    const next = await scanAll(feed, { ...progress, snapshot: false });
    expect(next.requests).toBeLessThan(20);
    expect(next.seen.has('ahead')).toBe(true);
  });

  it('do not keep it from ending either where the vendor dates them two minutes ahead and no answer says so', async () => {
    const clock = { ms: Date.now() };
    await simulate({
      ...{ records: { ipos: 80 }, clock: () => clock.ms },
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
    const next = await scanAll(testFeed('ipos'));
    expect(next.requests).toBeLessThan(200);
    expect(next.last.progress.complete).toBe(true);
    expect(next.seen.has('ahead')).toBe(true);
  }, 20_000);
});

describe('time', () => {
  it.each([-7200, 7200])(
    'a server clock that is off by %d s: the mark passes neither clock',
    async (clockSkew) => {
      await simulate({ records: { ipos: 50 }, behaviour: { clockSkew } });
      const [, first] = [...api.truth('ipos').keys()];
      api.stores.ipos.touch(first!);
      const scanned = await scanAll(testFeed('ipos'));
      expectEverything('ipos', scanned);
      const now = Math.floor(Date.now() / 1000);
      expect(scanned.last.progress.highWaterMark).toBeLessThanOrEqual(Math.min(now, now + clockSkew) + 1);
    },
  );

  it('rows dated ahead are seen at every poll and do not move the mark beyond now', async () => {
    await simulate({ records: { ipos: 1500 }, behaviour: { dateHeader: false } });
    const ahead = Math.floor(Date.now() / 1000) + 86_400;
    const [first] = [...api.truth('ipos').values()];
    for (let i = 0; i < 1200; i++)
      api.stores.ipos.upsert({ ...first, id: `ahead-${i}`, updated: ahead + (i % 7) });
    const scanned = await scanAll(testFeed('ipos'));
    expectEverything('ipos', scanned);
    expect(scanned.last.progress.highWaterMark).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
    const next = await scanAll(testFeed('ipos'), { ...scanned.last.progress, snapshot: false });
    expect([...next.seen.keys()].filter((id) => id.startsWith('ahead-')).length).toBe(1200);
  });

  it('`updated` in milliseconds is brought to seconds', async () => {
    await simulate({ records: { ipos: 2200 }, behaviour: { drift: { milliseconds: 0.3 } } });
    const scanned = await scanAll(testFeed('ipos'));
    expect(scanned.seen.size).toBe(2200);
    expect(scanned.last.progress.highWaterMark).toBeLessThan(1e11);
  });

  it('a row that becomes visible late is found within the overlap, and by a wide poll behind it', async () => {
    await simulate({ records: { ipos: 50 } });
    const { progress } = (await scanAll(testFeed('ipos'))).last;
    const [first] = [...api.truth('ipos').values()];
    api.stores.ipos.upsert({ ...first, id: 'late-3', updated: progress.highWaterMark - 3 });
    api.stores.ipos.upsert({ ...first, id: 'late-900', updated: progress.highWaterMark - 900 });
    const near = await scanAll(testFeed('ipos'), { ...progress, snapshot: false });
    expect([near.seen.has('late-3'), near.seen.has('late-900')]).toEqual([true, false]);
    const wide = await scanAll(testFeed('ipos'), { ...progress, snapshot: false, wide: true });
    expect([wide.seen.has('late-3'), wide.seen.has('late-900')]).toEqual([true, true]);
  });
});

describe('answers', () => {
  it('an empty one where records were is asked for again', async () => {
    await simulate({ records: { ipos: 50 } });
    const { progress } = (await scanAll(testFeed('ipos'))).last;
    const [first] = api.truth('ipos').keys();
    api.stores.ipos.touch(first!);
    api.fault({ fault: { kind: 'short', rows: 0 } } as never);
    expect((await scanAll(testFeed('ipos'), { ...progress, snapshot: false })).seen.has(first!)).toBe(true);
  });

  it.each(['array', 'not-found', 'null', 'object', 'bare'] as const)(
    'an empty page as %s is the end',
    async (emptyAs) => {
      await simulate({
        records: { ipos: 1000 },
        cluster: { feed: 'ipos', size: 1000 },
        behaviour: { emptyAs },
      });
      expectEverything('ipos', await scanAll(testFeed('ipos')));
    },
  );

  it.each([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
    'an empty one to request %d of a snapshot does not end it',
    async (request) => {
      await simulate({ records: { ipos: 1500 }, cluster: { feed: 'ipos', size: 1000, secondsAgo: 86_400 } });
      api.fault({ fault: { kind: 'short', rows: 0 }, skip: request, times: 1 } as never);
      expectEverything('ipos', await scanAll(testFeed('ipos')));
    },
  );

  it('a bare array is a page', async () => {
    await simulate({ records: { analysts: 1200 }, behaviour: { bodyAs: 'bare' } });
    expectEverything('analysts', await scanAll(testFeed('analysts')));
  });

  it('the latest-day default of the insights is overruled', async () => {
    await simulate({ records: { insights: 1500, analysts: 40 }, behaviour: { latestDayDefault: true } });
    const scanned = await scanAll(testFeed('insights'));
    expectEverything('insights', scanned);
    expect(
      new Set(scanned.pages.flatMap((page) => page.rows.map((row) => (row as { date: string }).date))).size,
    ).toBeGreaterThan(1);
  });

  it('records without id or updated do not stop the walk', async () => {
    await simulate({
      records: { ipos: 2400 },
      behaviour: { drift: { withoutId: 0.1, withoutUpdated: 0.1 } },
    });
    const scanned = await scanAll(testFeed('ipos'));
    expect([...api.truth('ipos').keys()].filter((id) => !scanned.seen.has(id))).toEqual([]);
    expect(scanned.last.progress.complete).toBe(true);
  });
});
