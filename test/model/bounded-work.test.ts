import fc from 'fast-check';
import type { BehaviourChange } from '../../src/simulator/behaviour';
import type { Simulator } from '../../src/simulator/simulator';
import type { Source } from '../../src/source/source';
import { testFeed } from '../support/feeds';
import { modelMs, modelRuns } from '../support/model-runs';
import { carryOut, ended, mostRequests, type Operation, operations } from '../support/operations';
import { world as startWorld } from '../support/world';

const RUNS = modelRuns<[World]>(8, 20_262);
const NOW_MS = 1_790_000_000_000;

/** A server that never changes: everything that may be odd about it, at once. */
const behaviour: fc.Arbitrary<BehaviourChange> = fc.record(
  {
    paging: fc.constantFrom('index', 'offset'),
    firstPage: fc.constantFrom(0, 1),
    ignorePaging: fc.boolean(),
    pageCap: fc.constantFrom(null, 1, 3, 7, 20),
    capStep: fc.constantFrom('cap', 'asked'),
    order: fc.constantFrom('asc', 'asc', 'desc', 'shuffled', 'insertion', 'date'),
    ties: fc.constantFrom('stable', 'shuffled'),
    ignoreUpdated: fc.boolean(),
    positionLimit: fc.constantFrom(null, null, 5, 30),
    emptyAs: fc.constantFrom('array', 'not-found', 'null', 'object', 'bare'),
    clockSkew: fc.constantFrom(0, 0, -120, 120, -100_000, 100_000),
    dateHeader: fc.boolean(),
    moveRowsPerRequest: fc.constantFrom(0, 0, 1, 5),
    moveWhich: fc.constantFrom('first', 'random'),
    drift: fc.record(
      {
        withoutId: fc.constantFrom(0, 0.3, 1),
        withoutUpdated: fc.constantFrom(0, 0.3, 1),
        deep: fc.constantFrom(0, 0.3, 1),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const anyWorld = fc.record({
  feed: fc.constantFrom('ipos', 'insights') as fc.Arbitrary<'ipos' | 'insights'>,
  records: fc.integer({ min: 0, max: 60 }),
  perSecond: fc.constantFrom(1, 5, 100),
  pageSize: fc.constantFrom(2, 10, 25, 1000),
  pagingLimit: fc.constantFrom(100_000, 100_000, 40),
  /** How the server behaves while the feed is first read, and afterwards. */
  before: fc.oneof(fc.constant<BehaviourChange>({}), behaviour),
  /** Behind one address, taking turns: two replicas may disagree for good. */
  replicas: fc.array(behaviour, { minLength: 1, maxLength: 2 }),
  /** Which records are gone and which are touched, the newest or the oldest last. */
  gone: fc.array(fc.integer({ min: -3, max: 20 }), { maxLength: 3 }),
  touched: fc.array(fc.nat(40), { maxLength: 3 }),
  operations: fc.array(fc.constantFrom(...operations), { minLength: 1, maxLength: 4 }),
});
/** Rows without an id that change with each request are new rows each time: they have no number that a bound could follow from. */
const world = anyWorld.map((one) => {
  const hasNoIds = [one.before, ...one.replicas].some(({ drift }) => (drift?.withoutId ?? 0) > 0);
  const still = (of: BehaviourChange) => ({ ...of, moveRowsPerRequest: 0 });
  return hasNoIds ? { ...one, before: still(one.before), replicas: one.replicas.map(still) } : one;
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

async function play(world: World): Promise<void> {
  const clock = { ms: NOW_MS };
  const name = world.feed;
  const { pageSize, pagingLimit } = world;
  const feed = testFeed(name, { pageSize, pagingLimit, pollIntervalMs: 10, deleteShare: 1 });
  let requests = 0;
  let allowed = 0;
  const between = (client: Source, api: Simulator): Source => ({
    fetchPage(of, request, signal) {
      if (++requests > allowed) throw new Error(`more than ${allowed} requests`);
      clock.ms += 100;
      api.behave({ ...world.before, ...world.replicas[requests % world.replicas.length] });
      return client.fetchPage(of, request, signal);
    },
  });
  const { api, publisher, close } = await startWorld({
    ...{ feed, between, bodyLimitBytes: 2 ** 20 },
    vendor: {
      records: { analysts: 5, [name]: world.records },
      perSecond: world.perSecond,
      spreadDays: world.perSecond === 100 ? 0.0001 : 3,
      clock: () => clock.ms,
      behaviour: world.before,
    },
  });
  const store = api.stores[name];
  const bounded = async (what: Operation, rows: number, work: () => Promise<unknown>): Promise<void> => {
    requests = 0;
    allowed = mostRequests(what, rows, world.gone.length);
    await ended(`${what} of ${rows} rows`, work);
  };
  try {
    await bounded('poll', store.size, () => publisher.poll({ wide: true }));
    const keys = store.keys();
    for (const at of world.touched) if (keys[at] !== undefined) store.touch(keys[at]);
    for (const at of world.gone) store.remove(store.keys().at(at) ?? '');
    for (const operation of world.operations) {
      clock.ms += 5_000;
      await bounded(operation, keys.length, () => carryOut(operation, publisher, feed, api.truth(name)));
    }
  } finally {
    await close();
  }
}

/** One of two replicas dates all rows ahead and moves them, the other dates none. The moves show only behind the first page. */
const movesSeenBehind: World = {
  feed: 'insights',
  records: 5,
  perSecond: 100,
  pageSize: 2,
  pagingLimit: 100_000,
  before: {},
  replicas: [
    {
      paging: 'offset',
      firstPage: 1,
      ignorePaging: false,
      capStep: 'asked',
      order: 'date',
      ignoreUpdated: false,
      clockSkew: 100_000,
      dateHeader: false,
      moveRowsPerRequest: 5,
      drift: { withoutUpdated: 0, deep: 0 },
    },
    {
      paging: 'index',
      firstPage: 0,
      ignorePaging: false,
      pageCap: 20,
      capStep: 'cap',
      order: 'date',
      ties: 'stable',
      ignoreUpdated: false,
      positionLimit: 30,
      emptyAs: 'array',
      dateHeader: false,
      moveRowsPerRequest: 5,
      moveWhich: 'first',
      drift: { withoutUpdated: 1, deep: 1 },
    },
  ],
  gone: [],
  touched: [],
  operations: [],
};

/** Full pages, of nothing but rows that move on, by a clock that is two minutes behind: the scan would follow them for two minutes. */
const movesBehindTheClock: World = {
  feed: 'ipos',
  records: 3,
  perSecond: 1,
  pageSize: 2,
  pagingLimit: 40,
  before: {
    paging: 'index',
    firstPage: 1,
    pageCap: 3,
    capStep: 'asked',
    order: 'asc',
    ties: 'shuffled',
    positionLimit: 5,
    emptyAs: 'object',
    clockSkew: 0,
    dateHeader: false,
    moveRowsPerRequest: 5,
    moveWhich: 'random',
    drift: { withoutUpdated: 0.3, deep: 1 },
  },
  replicas: [
    {
      paging: 'offset',
      firstPage: 0,
      capStep: 'cap',
      order: 'shuffled',
      ignoreUpdated: true,
      positionLimit: 5,
      emptyAs: 'object',
      clockSkew: -120,
      dateHeader: false,
      moveRowsPerRequest: 5,
      moveWhich: 'random',
      drift: { withoutUpdated: 0.3, deep: 0 },
    },
  ],
  gone: [],
  touched: [],
  operations: ['poll'],
};

it(
  `any operation on any server ends within requests that follow from its rows (${RUNS.numRuns} runs)`,
  async () => {
    const examples: [World][] = [[movesSeenBehind], [movesBehindTheClock]];
    await fc.assert(fc.asyncProperty(world, play), { ...RUNS, examples });
  },
  modelMs(RUNS.numRuns),
);
