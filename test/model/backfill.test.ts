import fc from 'fast-check';
import { recordShape } from '../../src/avro/record-shape';
import { HighwaterError } from '../../src/errors';
import { createComparison } from '../../src/pipeline/changes/compare';
import type { BehaviourChange } from '../../src/simulator/behaviour';
import type { JsonRecord } from '../../src/simulator/endpoints';
import type { Source } from '../../src/source/source';
import { backfill } from '../support/backfill';
import { testFeed } from '../support/feeds';
import { modelMs, modelRuns } from '../support/model-runs';
import { world as startWorld } from '../support/world';

/** Random vendors and dates, with deaths and market days in between. */
const RUNS = modelRuns<[World]>(15, 20_263);
const NOW_MS = 1_790_000_000_000;
/** More requests than this for at most some hundred rows: it would never end. */
const MOST_REQUESTS = 20_000;

const vendor: fc.Arbitrary<BehaviourChange> = fc.record({
  paging: fc.constantFrom('index', 'offset'),
  firstPage: fc.constantFrom(0, 1),
  pageCap: fc.constantFrom(null, null, 22),
  capStep: fc.constantFrom('cap', 'asked'),
  order: fc.constantFrom('asc', 'asc', 'desc', 'insertion'),
  ties: fc.constantFrom('stable', 'shuffled'),
  ignoreUpdated: fc.constantFrom(false, false, false, true),
  emptyAs: fc.constantFrom('array', 'not-found', 'null'),
  clockSkew: fc.constantFrom(0, -120, 120),
  dateHeader: fc.boolean(),
  moveRowsPerRequest: fc.constantFrom(0, 0, 1),
  moveWhich: fc.constantFrom('first', 'random'),
});

/** Event after a page. */
const meanwhile = fc.constantFrom(
  'nothing',
  'nothing',
  'nothing',
  'poll',
  'create',
  'change',
) as fc.Arbitrary<'nothing' | 'poll' | 'create' | 'change'>;

const world = fc.record({
  feed: fc.constantFrom('insights', 'ipos', 'analysts') as fc.Arbitrary<'insights' | 'ipos' | 'analysts'>,
  // Fewer than twenty on a page do not tell what paging counts, and every walk is then made twenty times.
  records: fc.integer({ min: 40, max: 150 }),
  perSecond: fc.constantFrom(1, 3),
  spreadDays: fc.constantFrom(0.01, 3, 60),
  pageSize: fc.constantFrom(22, 40, 1000),
  pagingLimit: fc.constantFrom(100_000, 100_000, 80),
  vendor,
  /** Days before now; the window is from the older to the newer one. */
  ends: fc.tuple(fc.integer({ min: -2, max: 70 }), fc.integer({ min: -2, max: 70 })),
  meanwhile: fc.array(meanwhile, { minLength: 1, maxLength: 10 }),
  /** Requests after which the process dies, one after the other. */
  deaths: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 4 }),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

async function play(world: World): Promise<void> {
  const clock = { ms: NOW_MS };
  const now = jest.spyOn(Date, 'now').mockImplementation(() => clock.ms);
  const name = world.feed;
  // Without a Date nothing tells that the own clock is wrong.
  const skew = world.vendor.dateHeader ? (world.vendor.clockSkew ?? 0) : 0;
  const { pageSize } = world;
  // Where only the window's width decides whether paging reaches.
  const isSteady = name === 'insights' && world.vendor.order === 'asc' && world.vendor.paging === 'index';
  const pagingLimit = isSteady ? world.pagingLimit : 100_000;
  const feed = testFeed(name, { pageSize, pagingLimit, snapshotMode: 'never', pollIntervalMs: 2_000 });
  let requests = 0;
  let diesAt = Number.POSITIVE_INFINITY;
  const between = (client: Source): Source => ({
    fetchPage(of, request, signal) {
      if (++requests > MOST_REQUESTS) throw new Error('the backfill does not end');
      if (requests > diesAt) throw new Error('killed');
      clock.ms += 200;
      return client.fetchPage(of, request, signal);
    },
  });
  const { api, publisher, close } = await startWorld({
    ...{ feed, between },
    vendor: {
      records: { analysts: 8, [name]: world.records },
      perSecond: world.perSecond,
      spreadDays: world.spreadDays,
      newestSecondsAgo: 300 - Math.min(0, skew),
      behaviour: { ...world.vendor, clockSkew: skew, moveRowsPerRequest: 0 },
      clock: () => clock.ms,
    },
  });
  const dateOf = (days: number) => new Date(NOW_MS - days * 86_400_000).toISOString().slice(0, 10);
  const range = { from: dateOf(Math.max(...world.ends)), to: dateOf(Math.min(...world.ends)) };
  const store = api.stores[name];
  try {
    await publisher.poll({ wide: true });
    const before = [...api.truth(name).values()];
    api.behave({ moveRowsPerRequest: world.vendor.moveRowsPerRequest ?? 0 });
    let pages = 0;
    // Records that come with every few pages would keep a walk without order from its end.
    let writes = 20;
    const between = async (): Promise<void> => {
      const event = world.meanwhile[pages++ % world.meanwhile.length]!;
      if (event === 'poll') await publisher.poll();
      const key = store.keys()[pages % Math.max(1, store.size)];
      if (key === undefined || event === 'nothing' || event === 'poll' || --writes < 0) return;
      const { updated: _, ...record } = { updated: 0, ...store.get(key) } as JsonRecord;
      store.upsert({
        ...record,
        ...(event === 'create'
          ? { id: `new-${pages}` }
          : { firm_id: `firm-${pages}`, name: `Name ${pages}` }),
      });
    };
    for (const death of world.deaths) {
      diesAt = requests + death;
      const end = await backfill(publisher, feed, range, { between }).catch((error: unknown) => error);
      diesAt = Number.POSITIVE_INFINITY;
      if (end instanceof HighwaterError) throw end;
      await publisher.restart();
    }
    expect(await backfill(publisher, feed, range, { between })).toMatchObject({ complete: true });
    expect(publisher.owned().deps.state.offset.backfill).toBeNull();
    api.behave({ moveRowsPerRequest: 0, order: 'asc', ignoreUpdated: false });
    for (let i = 0; i < 2; i++) {
      clock.ms += 10_000;
      await publisher.poll({ wide: true });
    }

    const events = await publisher.topic(name);
    const seqs = events.map(({ decoded }) => decoded!.source.seq as number).sort((a, b) => a - b);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    const born = events.filter(({ decoded }) => decoded!.op !== 'u').map(({ key }) => key);
    expect(born.length).toBe(new Set(born).size);
    for (const { decoded } of events)
      expect([decoded!.op, decoded!.source.origin]).toEqual(
        decoded!.op === 'r' ? ['r', 'backfill'] : [decoded!.op, expect.stringMatching(/poll|backfill/)],
      );
    const isDated = name === 'insights';
    const inside = before.filter((record) => {
      const date = isDated
        ? String(record.date)
        : new Date((record.updated as number) * 1000).toISOString().slice(0, 10);
      return date >= range.from && date <= range.to;
    });
    const { state, codec } = publisher.owned().deps;
    const compare = createComparison(recordShape(codec.schemas.record));
    const shown = new Map(
      publisher
        .owned()
        .deps.decode([...api.truth(name).values()])
        .records.map((r) => [r.id, r]),
    );
    expect(
      inside.filter(({ id }) => state.image(String(id)) === undefined).map(({ id }) => id),
    ).toStrictEqual([]);
    for (const id of born) {
      const image = codec.image.decode(state.image(id)!);
      expect([id, compare(image.values, shown.get(id)!.values)]).toStrictEqual([id, []]);
    }
  } catch (error) {
    if (!isBeyondReach(error, world, [...api.truth(name).values()])) throw error;
  } finally {
    now.mockRestore();
    await close();
  }
}

/** With a limit of a few pages, one day may really be beyond it, and so may a poll that has to read everything. */
function isBeyondReach(
  error: unknown,
  { pagingLimit, pageSize, vendor: { order, ignoreUpdated } }: World,
  records: JsonRecord[],
): boolean {
  if (!(error instanceof HighwaterError) || error.code !== 'SCAN_BEYOND_REACH') return false;
  const counts = new Map<unknown, number>();
  for (const { date } of records) counts.set(date, (counts.get(date) ?? 0) + 1);
  const most = order === 'asc' && !ignoreUpdated ? Math.max(...counts.values()) : records.length;
  return most > pagingLimit - 2 * pageSize;
}

it(
  'a backfill of random dates from a random vendor leaves out no record of them, and publishes each once',
  async () => {
    await fc.assert(fc.asyncProperty(world, play), RUNS);
  },
  modelMs(RUNS.numRuns),
);
