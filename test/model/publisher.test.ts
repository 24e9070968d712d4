import fc from 'fast-check';
import { createComparison } from '../../src/pipeline/compare';
import type { BehaviourChange } from '../../src/simulator/behaviour';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { testFeed } from '../support/feeds';
import { quietLogger, testSource } from '../support/source';
import { type TestPublisher, testPublisher } from '../support/test-publisher';

/** Random vendors and random days, against what the API shows in the end. The long form: MODEL_RUNS=2000. */
const RUNS = Number(process.env.MODEL_RUNS ?? 40);

type Command =
  | {
      readonly kind: 'change' | 'touch' | 'rescale' | 'create' | 'late';
      readonly at: number;
      readonly count: number;
    }
  | { readonly kind: 'poll' | 'wide poll' | 'restart' }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'fault'; readonly fault: string };

const mutation = fc.record({
  kind: fc.constantFrom('change', 'touch', 'rescale', 'create', 'late'),
  at: fc.nat(1000),
  count: fc.integer({ min: 1, max: 12 }),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: mutation as fc.Arbitrary<Command> },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Command>({ kind: 'poll' }, { kind: 'wide poll' }, { kind: 'restart' }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      seconds: fc.integer({ min: 0, max: 3 }),
    }) as fc.Arbitrary<Command>,
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('fault'),
      fault: fc.constantFrom('500', 'truncated', 'short', 'stale', 'reset'),
    }) as fc.Arbitrary<Command>,
  },
);
const vendor: fc.Arbitrary<BehaviourChange> = fc.record({
  paging: fc.constantFrom('index', 'offset'),
  firstPage: fc.constantFrom(0, 1),
  pageCap: fc.constantFrom(null, null, 7, 20),
  capStep: fc.constantFrom('cap', 'asked'),
  order: fc.constantFrom('asc', 'asc', 'asc', 'desc', 'insertion'),
  ties: fc.constantFrom('stable', 'shuffled'),
  ignoreUpdated: fc.constantFrom(false, false, false, true),
  emptyAs: fc.constantFrom('array', 'not-found', 'null', 'object', 'bare'),
  bodyAs: fc.constantFrom('keyed', 'bare'),
  clockSkew: fc.constantFrom(0, 0, -120, 120),
  dateHeader: fc.boolean(),
  moveRowsPerRequest: fc.constantFrom(0, 0, 1, 3),
});

/** A second is as wide as `records / seconds`; pages are small, so that it is often wider than one. */
const world = fc.record({
  records: fc.integer({ min: 0, max: 90 }),
  perSecond: fc.constantFrom(1, 5, 30),
  pageSize: fc.constantFrom(10, 25, 1000),
  vendor,
  commands: fc.array(command, { maxLength: 25 }),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

interface Play {
  readonly api: Simulator;
  readonly publisher: TestPublisher;
  readonly clock: { ms: number };
}

async function run({ kind, ...rest }: Command, { api, publisher, clock }: Play): Promise<void> {
  const store = api.stores.ipos;
  const keys = store.keys();
  const { at = 0, count = 1 } = rest as { at?: number; count?: number };
  for (let i = 0; i < count; i++) {
    const key = keys[(at + i) % Math.max(1, keys.length)];
    const { updated: _, ...record } = (key === undefined ? undefined : store.get(key)) ?? {
      name: 'First Inc',
      updated: 0,
    };
    const now = Math.floor(clock.ms / 1000) + api.behaviour('ipos').clockSkew;
    switch (kind) {
      case 'change':
        store.upsert({
          ...record,
          id: key ?? 'first',
          notes: `${clock.ms}-${at}-${i}`,
          deal_status: `Status ${(at + i) % 4}`,
        } as never);
        break;
      case 'create':
        store.upsert({ ...record, id: `new-${clock.ms}-${at}-${i}-${keys.length}` } as never);
        break;
      case 'late':
        // Becomes visible after its second, within the overlap.
        store.upsert({
          ...record,
          id: `late-${clock.ms}-${at}-${i}-${keys.length}`,
          updated: now - (i % 3),
        } as never);
        break;
      case 'touch':
        if (key !== undefined) store.touch(key);
        break;
      case 'rescale':
        if (key !== undefined) store.rescale(key);
        break;
      case 'wait':
        clock.ms += (rest as { seconds: number }).seconds * 1000;
        return;
      case 'restart':
        await publisher.restart();
        return;
      case 'fault': {
        const { fault } = rest as { fault: string };
        const faults = {
          '500': { kind: 'status', status: 500 },
          truncated: { kind: 'truncated' },
          short: { kind: 'short', rows: 3 },
          stale: { kind: 'stale', writes: 3 },
          reset: { kind: 'reset' },
        };
        api.fault({ fault: faults[fault as keyof typeof faults], times: 1 + (at % 3) } as never);
        return;
      }
      default:
        // Beyond reach or out of retries is an answer too: the poll fails, and nothing of it may be half done.
        await publisher.poll({ wide: kind === 'wide poll' }).catch(() => {});
        return;
    }
  }
}

async function play(world: World): Promise<void> {
  const clock = { ms: 1_790_000_000_000 };
  const api = await startSimulator({
    records: { ipos: world.records },
    perSecond: world.perSecond,
    spreadDays: world.perSecond === 30 ? 0.0001 : 1,
    behaviour: world.vendor,
    clock: () => clock.ms,
    compress: false,
  });
  const source = testSource(api, quietLogger(), undefined, () => clock.ms);
  const feed = testFeed('ipos', { pageSize: world.pageSize, pollIntervalMs: 2_000 });
  const publisher = await testPublisher(feed, source);
  try {
    for (const step of world.commands) await run(step, { api, publisher, clock });
    api.clearFaults();
    api.behave({ moveRowsPerRequest: 0, order: 'asc', ignoreUpdated: false });
    clock.ms += 1000;
    await publisher.poll({ wide: true });
    await expectTruth(api, publisher);
  } finally {
    await publisher.close();
    source.close();
    await api.stop();
  }
}

/** I1 to I4 and I6 as far as one feed's log shows them. */
async function expectTruth(api: Simulator, publisher: TestPublisher): Promise<void> {
  const { deps } = publisher.owned();
  const { image, schemas } = deps.codec;
  const compare = createComparison(schemas.record);
  const events = await publisher.topic('ipos');
  expect(events.map(({ decoded }) => decoded!.source.seq).sort((a, b) => a - b)).toEqual(
    events.map((_, i) => i + 1),
  );

  const live = new Map<string, unknown>();
  for (const { key, decoded } of [...events].sort((a, b) => a.decoded!.source.seq - b.decoded!.source.seq)) {
    expect(decoded!.before).toEqual(live.get(key) ?? null);
    expect('cr'.includes(decoded!.op)).toBe(!live.has(key));
    expect(decoded!.changed_fields.length > 0).toBe(decoded!.op === 'u');
    live.set(key, decoded!.after);
  }
  const truth = deps.decode([...api.truth('ipos').values()]).records;
  expect(live.size).toBe(truth.length);
  for (const record of truth) {
    expect(live.has(record.id)).toBe(true);
    expect(compare(live.get(record.id) as never, record)).toEqual([]);
    expect(deps.state.image(record.id)?.equals(image.encode(live.get(record.id) as never))).toBe(true);
  }
}

it(`a random vendor on a random day loses nothing, repeats nothing (${RUNS} runs)`, async () => {
  await fc.assert(fc.asyncProperty(world, play), {
    numRuns: RUNS,
    seed: Number(process.env.MODEL_SEED ?? 20_261),
    endOnFailure: false,
  });
}, 600_000);
