import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import type { BehaviourChange } from '../../src/simulator/behaviour';
import type { FeedName } from '../../src/simulator/endpoints';
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator';
import type { Source } from '../../src/source/source';
import { backfill, daysAgo, published, shownBetween } from '../support/backfill';
import { testFeed } from '../support/feeds';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

let api: Simulator;
let source: Source;
let publisher: TestPublisher;
let feed: Feed;

/** A feed that began without a snapshot, so it knows no record of the server. */
async function begin(
  name: FeedName,
  options: SimulatorOptions,
  overrides: Partial<Feed> = {},
): Promise<TestPublisher> {
  feed = testFeed(name, { snapshotMode: 'never', pageSize: 20, pollIntervalMs: 60_000, ...overrides });
  ({ api, source, publisher } = await world({ feed, vendor: { newestSecondsAgo: 4000, ...options } }));
  await publisher.poll();
  api.clearRequests();
  return publisher;
}

const asks = (name: FeedName) => api.requests(name).map(({ query }) => query);
const secondsOf = (date: string) => Date.parse(`${date}T00:00:00Z`) / 1000;

describe('a backfill by date', () => {
  const records = { insights: 400, analysts: 20 };
  const range = { from: daysAgo(30), to: daysAgo(10) };

  it('publishes the unknown records of its dates as reads, once, and nothing else', async () => {
    await begin('insights', { records, spreadDays: 50 });
    const mark = publisher.owned().deps.state.offset.high_water_mark;
    const wanted = shownBetween(api, 'insights', 'date', range.from, range.to);
    expect(wanted.length).toBeGreaterThan(100);
    const result = await backfill(publisher, feed, range);
    expect(result).toMatchObject({ complete: true, changes: wanted.length });
    const events = await publisher.topic('insights');
    expect(published(events, 'r', 'backfill')).toEqual(wanted);
    expect(events).toHaveLength(wanted.length);
    // A read says nothing about a move.
    expect(await publisher.topic('insights.rating-changes')).toStrictEqual([]);
    expect(await publisher.sourceOffset()).toMatchObject({ high_water_mark: mark, backfill: null });
    expect(await backfill(publisher, feed, range)).toMatchObject({ complete: true, changes: 0 });
  });

  it('publishes what changed without moving `updated` as updates', async () => {
    await begin('insights', { records, spreadDays: 50 });
    await backfill(publisher, feed, range);
    const [id] = shownBetween(api, 'insights', 'date', range.from, range.to);
    api.stores.insights.upsert({ ...api.truth('insights').get(id!)!, rating: 'Silently Otherwise' });
    expect(await backfill(publisher, feed, range)).toMatchObject({ changes: 1 });
    expect(published(await publisher.topic('insights'), 'u', 'backfill')).toEqual([id]);
  });

  it('does not believe one answer that is older than what it knows', async () => {
    await begin('insights', { records, spreadDays: 50 });
    await backfill(publisher, feed, range);
    const [id] = shownBetween(api, 'insights', 'date', range.from, range.to);
    const record = api.truth('insights').get(id!)!;
    const older = { ...record, rating: 'Older', updated: (record.updated as number) - 100 };
    const once: Source = {
      async fetchPage(of, request, signal) {
        const page = await source.fetchPage(of, request, signal);
        const rows = page.rows.map((row) => (lies && (row as { id: string }).id === id ? older : row));
        lies = rows.every((row) => row !== older) && lies;
        return { ...page, rows };
      },
    };
    let lies = true;
    expect(await backfill(publisher, feed, range, { source: once })).toMatchObject({ changes: 0 });
    expect(lies).toBe(false);
  });

  const manners: [string, BehaviourChange][] = [
    ['positions in records', { paging: 'offset' }],
    ['pages from 1', { firstPage: 1 }],
    ['positions in records from 1', { paging: 'offset', firstPage: 1 }],
    ['a cap of 7', { pageCap: 7 }],
    ['a cap of 7, positions counted by what was asked for', { pageCap: 7, capStep: 'asked' }],
    ['shuffled ties', { ties: 'shuffled' }],
    ['newest first', { order: 'desc' }],
    ['another order each time', { order: 'shuffled' }],
    ['the order of insertion', { order: 'insertion' }],
    ['the filter ignored', { ignoreUpdated: true }],
    ['bare empty answers', { emptyAs: 'not-found', bodyAs: 'bare' }],
    ['the latest day alone where no date is named', { latestDayDefault: true }],
  ];
  it.each(manners)('misses nothing with %s', async (_, behaviour) => {
    await begin('insights', { records, spreadDays: 30, perSecond: 12, behaviour });
    const wanted = shownBetween(api, 'insights', 'date', range.from, range.to);
    expect(await backfill(publisher, feed, range)).toMatchObject({ complete: true });
    expect(published(await publisher.topic('insights'), 'r', 'backfill')).toEqual(wanted);
    expect(publisher.logger.warnings).toStrictEqual([]);
  });

  it.each(['first', 'random'] as const)('misses nothing while rows move (%s)', async (moveWhich) => {
    await begin('insights', { records, spreadDays: 30 });
    const wanted = shownBetween(api, 'insights', 'date', range.from, range.to);
    api.behave({ moveRowsPerRequest: 1, moveWhich }, 'insights');
    await backfill(publisher, feed, range);
    api.behave({ moveRowsPerRequest: 0 }, 'insights');
    // Those that moved are the polls' by now.
    await publisher.poll();
    const keys = (await publisher.topic('insights')).map(({ key }) => key);
    expect(wanted.filter((id) => !keys.includes(id))).toStrictEqual([]);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('names the one day that is beyond reach, and has published what lies before it', async () => {
    await begin('insights', { records, spreadDays: 30 }, { pagingLimit: 60 });
    const heavy = daysAgo(20);
    const [some] = [...api.truth('insights').values()];
    for (let i = 0; i < 90; i++)
      api.stores.insights.upsert({ ...some!, id: `heavy-${i}`, date: heavy, updated: secondsOf(heavy) + i });
    const failure = await backfill(publisher, feed, range).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HighwaterError);
    expect(failure).toMatchObject({
      code: 'SCAN_BEYOND_REACH',
      message: `The day ${heavy} of feed insights holds more records than paging reaches (60).`,
      now: expect.stringContaining('polls of the feed continue'),
    });
    const before = shownBetween(api, 'insights', 'date', range.from, daysAgo(21));
    const found = published(await publisher.topic('insights'), 'r', 'backfill');
    expect(before.filter((id) => !found.includes(id))).toStrictEqual([]);
    expect(publisher.owned().deps.state.offset.backfill).toMatchObject({ ...range, next_date: heavy });
  });

  it('stays within the dates to which the feed is narrowed', async () => {
    const query = { date_from: daysAgo(25), date_to: daysAgo(15) };
    await begin('insights', { records, spreadDays: 50 }, { query });
    await backfill(publisher, feed, range);
    expect(published(await publisher.topic('insights'), 'r', 'backfill')).toEqual(
      shownBetween(api, 'insights', 'date', query.date_from, query.date_to),
    );
  });
});

describe('a backfill by `updated`', () => {
  const range = { from: daysAgo(30), to: daysAgo(20) };
  const [first, last] = [secondsOf(range.from), secondsOf(range.to) + 86_399];

  it('reads from the first second of its first day to the last of its last, and no further', async () => {
    await begin('ipos', { records: { ipos: 500 }, spreadDays: 50 });
    const [some] = [...api.truth('ipos').values()];
    for (const updated of [first - 1, first, last, last + 1])
      api.stores.ipos.upsert({ ...some!, id: `at-${updated}`, updated });
    const wanted = shownBetween(api, 'ipos', 'updated', first, last);
    expect(wanted).toEqual(expect.arrayContaining([`at-${first}`, `at-${last}`]));
    const mark = publisher.owned().deps.state.offset.high_water_mark;
    await backfill(publisher, feed, range);
    expect(published(await publisher.topic('ipos'), 'r', 'backfill')).toEqual(wanted);
    expect(await publisher.topic('ipos')).toHaveLength(wanted.length);
    expect(await publisher.topic('ipos.deal-status')).toStrictEqual([]);
    expect(await publisher.sourceOffset()).toMatchObject({ high_water_mark: mark, backfill: null });
    // It ends with the page that passes its end.
    const asked = asks('ipos').map((query) => Number(query['parameters[updated]']));
    expect(Math.max(...asked)).toBeLessThanOrEqual(last);
    expect(asks('ipos').some((query) => 'parameters[date_from]' in query)).toBe(false);
  });

  it.each<[string, BehaviourChange]>([
    ['newest first', { order: 'desc' }],
    ['another order each time', { order: 'shuffled' }],
    ['the filter ignored', { ignoreUpdated: true }],
    ['shuffled ties below a cap', { ties: 'shuffled', pageCap: 7 }],
    ['positions in records', { paging: 'offset' }],
  ])('misses nothing with %s', async (_, behaviour) => {
    await begin('ipos', { records: { ipos: 300 }, spreadDays: 40, perSecond: 12, behaviour });
    const wanted = shownBetween(api, 'ipos', 'updated', first, last);
    expect(await backfill(publisher, feed, range)).toMatchObject({ complete: true });
    expect(published(await publisher.topic('ipos'), 'r', 'backfill')).toEqual(wanted);
  });

  it('goes on to the end of what there is when that comes first', async () => {
    await begin('analysts', { records: { analysts: 150 }, spreadDays: 20 });
    await backfill(publisher, feed, { from: range.from, to: daysAgo(-3) });
    expect(published(await publisher.topic('analysts'), 'r', 'backfill')).toEqual(
      [...api.truth('analysts').keys()].sort(),
    );
  });
});

describe('while a backfill runs', () => {
  it('a record that is new is the creation that a poll publishes, with its transition', async () => {
    await begin('insights', { records: { insights: 200, analysts: 10 }, spreadDays: 20 });
    const [some] = [...api.truth('insights').values()];
    let pages = 0;
    const { updated: _, ...live } = {
      ...some!,
      updated: 0,
      id: 'live',
      rating: 'Unheard Of',
      date: daysAgo(0),
    };
    await backfill(
      publisher,
      feed,
      { from: daysAgo(30), to: daysAgo(0) },
      {
        between: async () => {
          if (++pages === 2) api.stores.insights.upsert(live as never);
          if (pages % 4 === 0) await publisher.poll();
        },
      },
    );
    await publisher.poll();
    const events = await publisher.topic('insights');
    expect(published(events, 'c', 'poll')).toEqual(['live']);
    expect(published(events, 'r', 'backfill')).toHaveLength(200);
    expect((await publisher.topic('insights.rating-changes')).map(({ decoded }) => decoded!.id)).toEqual([
      'live',
    ]);
    expect(events.map(({ decoded }) => decoded!.source.seq).sort((a, b) => a - b)).toEqual(
      events.map((_, i) => i + 1),
    );
  });

  it('a record from just before a feed without a snapshot began is left by nobody to the other', async () => {
    await begin('ipos', { records: { ipos: 60 }, spreadDays: 0.0002, newestSecondsAgo: 3 });
    await backfill(publisher, feed, { from: daysAgo(1), to: daysAgo(0) });
    await publisher.poll();
    const keys = (await publisher.topic('ipos')).map(({ key }) => key);
    expect(keys.sort()).toEqual([...api.truth('ipos').keys()].sort());
  });

  it.each(['insights', 'ipos'] as const)(
    'the feed (%s) has its turn after every few requests',
    async (name) => {
      await begin(name, {
        records: { insights: 300, ipos: 300, analysts: 10 },
        spreadDays: 200,
        perSecond: 3,
      });
      let most = 0;
      let before = 0;
      await backfill(
        publisher,
        feed,
        { from: daysAgo(200), to: daysAgo(0) },
        {
          between: async () => {
            most = Math.max(most, api.requests(name).length - before);
            before = api.requests(name).length;
          },
        },
      );
      expect(before).toBeGreaterThan(15);
      // Two of them prove the end of the pages.
      expect(most).toBeLessThanOrEqual(6);
    },
  );
});

describe('a backfill that was interrupted', () => {
  /** Answers so many requests, then none: the process ends without a word. */
  const dyingAfter = (requests: number): Source => {
    let left = requests;
    return {
      async fetchPage(of, request, signal) {
        if (left-- <= 0) throw new Error('killed');
        return source.fetchPage(of, request, signal);
      },
    };
  };

  it.each([
    ['insights', 0],
    ['insights', 3_600_000],
    ['ipos', 0],
    ['ipos', 3_600_000],
  ] as const)(
    'goes on where the log says it was (%s, pages without news kept every %d ms): nothing lost, nothing twice',
    async (name, pollIntervalMs) => {
      await begin(
        name,
        { records: { insights: 240, ipos: 480, analysts: 10 }, spreadDays: 100 },
        { pollIntervalMs },
      );
      const range = { from: daysAgo(90), to: daysAgo(5) };
      const wanted =
        name === 'insights'
          ? shownBetween(api, name, 'date', range.from, range.to)
          : shownBetween(api, name, 'updated', secondsOf(range.from), secondsOf(range.to) + 86_399);
      let deaths = 0;
      const reached: (string | number | null)[] = [];
      for (let requests = name === 'insights' ? 12 : 4; ; requests++) {
        const source = dyingAfter(requests);
        const end = await backfill(publisher, feed, range, { source }).catch((error: Error) => error.message);
        if (end !== 'killed') break;
        deaths++;
        await publisher.restart();
        const { backfill: progress } = publisher.owned().deps.state.offset;
        expect(progress).toMatchObject(range);
        reached.push(progress!.next_date ?? progress!.next_second);
        // Meanwhile the feed is polled.
        await publisher.poll();
        expect(publisher.owned().deps.state.offset.backfill).toEqual(progress);
      }
      expect(deaths).toBeGreaterThan(2);
      expect(reached).toEqual([...reached].sort());
      expect(new Set(reached).size).toBeGreaterThan(1);
      expect(published(await publisher.topic(name), 'r', 'backfill')).toEqual(wanted);
      expect(publisher.owned().deps.state.offset.backfill).toBeNull();
    },
  );

  it('is in the log before anything is read, and gone from it at its end', async () => {
    await begin('insights', { records: { insights: 50, analysts: 5 }, spreadDays: 20 });
    const range = { from: daysAgo(30), to: daysAgo(1) };
    await backfill(publisher, feed, range, { source: dyingAfter(0) }).catch(() => {});
    expect((await publisher.sourceOffset()).backfill).toMatchObject({
      ...range,
      next_date: range.from,
      rows: 0,
    });
    await publisher.restart();
    await backfill(publisher, feed, range);
    expect((await publisher.sourceOffset()).backfill).toBeNull();
  });

  it('by `updated`, on a server that gives up its order meanwhile, begins again', async () => {
    await begin('ipos', { records: { ipos: 200 }, spreadDays: 60 });
    const range = { from: daysAgo(60), to: daysAgo(5) };
    const wanted = shownBetween(api, 'ipos', 'updated', secondsOf(range.from), secondsOf(range.to) + 86_399);
    await backfill(publisher, feed, range, { source: dyingAfter(6) }).catch(() => {});
    expect(publisher.owned().deps.state.offset.backfill!.next_second).toBeGreaterThan(secondsOf(range.from));
    // A row that the ordered part would never show again.
    const [some] = [...api.truth('ipos').values()];
    api.stores.ipos.upsert({ ...some!, id: 'early', updated: secondsOf(range.from) + 5 });
    api.behave({ order: 'desc' }, 'ipos');
    await backfill(publisher, feed, range);
    expect(published(await publisher.topic('ipos'), 'r', 'backfill')).toEqual([...wanted, 'early'].sort());
  });
});
