import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { stringify } from 'safe-stable-stringify';
import { valueAt } from '../../src/avro/path';
import { recordShape } from '../../src/avro/record-shape';
import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import { removeMembers } from '../../src/json/remove-members';
import { type Comparison, createComparison, equalDecimalText } from '../../src/pipeline/changes/compare';
import { poll } from '../../src/pipeline/poll';
import { pollRound } from '../../src/pipeline/round';
import { type ReconcileResult, reconcile } from '../../src/pipeline/rounds/reconcile';
import { resetState } from '../../src/pipeline/rounds/reset-state';
import { retryDeadLetters } from '../../src/pipeline/rounds/retry-dead-letters';
import { movePosition } from '../../src/pipeline/transaction/transact';
import type { BehaviourChange } from '../../src/simulator/behaviour';
import type { Simulator } from '../../src/simulator/simulator';
import type { Source } from '../../src/source/source';
import type { RecordValues, VendorRecord } from '../../src/types';
import { backfill } from '../support/backfill';
import { testFeed } from '../support/feeds';
import { idsIn } from '../support/ids-in';
import { modelMs, modelRuns } from '../support/model-runs';
import type { Published } from '../support/published';
import type { TestPublisher } from '../support/test-publisher';
import { world as startWorld } from '../support/world';

/** Random vendors and random days, compared with the API's rows at the end. */
const RUNS = modelRuns<[World]>(20, 20_261);
/** More requests than this in one poll of at most some hundred rows: it would never end. */
const MOST_REQUESTS = 20_000;

const mutations = [
  'change',
  'touch',
  'rescale',
  'create',
  'late',
  'ahead',
  'burst',
  'remove',
  'return',
  // Changes that no poll can see.
  'silent',
  'too late',
] as const as readonly Mutation[];
type Mutation =
  | 'change'
  | 'touch'
  | 'rescale'
  | 'create'
  | 'late'
  | 'ahead'
  | 'burst'
  | 'remove'
  | 'return'
  | 'silent'
  | 'too late';
type Command =
  | { readonly kind: Mutation; readonly at: number; readonly count: number }
  | { readonly kind: 'poll' | 'wide poll' | 'restart' | 'snapshot' | 'reset' | 'backfill' | 'retry' }
  | { readonly kind: 'reconcile'; readonly dryRun: boolean; readonly allows: boolean }
  | { readonly kind: 'aborted poll'; readonly request: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'behave'; readonly change: BehaviourChange }
  | {
      readonly kind: 'fault';
      readonly fault: keyof typeof faults;
      readonly skip: number;
      readonly times: number;
    };

const faults = {
  '500': { kind: 'status', status: 500 },
  truncated: { kind: 'truncated' },
  short: { kind: 'short', rows: 3 },
  empty: { kind: 'short', rows: 0 },
  stale: { kind: 'stale', writes: 3 },
  reset: { kind: 'reset' },
  large: { kind: 'large', megabytes: 1 },
  'not ok': { kind: 'not-ok', beside: 'list' },
} as const;

const drift = fc
  .record(
    {
      members: fc.constantFrom(0, 0.5),
      types: fc.constantFrom(0, 0.5),
      withoutId: fc.constantFrom(0, 0.2, 1),
      withoutUpdated: fc.constantFrom(0, 0.2, 1),
      milliseconds: fc.constantFrom(0, 0.5),
      surrogates: fc.constantFrom(0, 0.5),
      deep: fc.constantFrom(0, 0.2, 1),
    },
    { requiredKeys: [] },
  )
  // Rows without an id are told apart by their text, which takes long for deep ones.
  .map((drifts) => (drifts.withoutId === 1 ? { ...drifts, deep: 0 } : drifts));
const command = fc.oneof<fc.Arbitrary<Command>[]>(
  ...([
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constantFrom(...mutations),
        at: fc.nat(1000),
        count: fc.integer({ min: 1, max: 12 }),
      }),
    },
    {
      weight: 7,
      arbitrary: fc.constantFrom(
        { kind: 'poll' },
        { kind: 'poll' },
        { kind: 'wide poll' },
        { kind: 'restart' },
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'snapshot' }, { kind: 'reset' }) },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'backfill' }, { kind: 'retry' }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('reconcile'),
        dryRun: fc.constantFrom(false, false, false, true),
        allows: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('aborted poll'), request: fc.integer({ min: 1, max: 8 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('wait'), seconds: fc.integer({ min: 0, max: 3 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('behave'),
        change: fc.oneof(
          fc.record({ pageCap: fc.constantFrom(null, 5, 12, 30) }),
          fc.record({ order: fc.constantFrom('asc', 'desc', 'insertion') }),
          fc.record({ paging: fc.constantFrom('index', 'offset') }),
          fc.record({ firstPage: fc.constantFrom(0, 1) }),
          fc.record({ ignorePaging: fc.boolean() }),
          fc.record({ drift }),
        ),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('fault'),
        fault: fc.constantFrom(...(Object.keys(faults) as (keyof typeof faults)[])),
        skip: fc.nat(6),
        times: fc.integer({ min: 1, max: 3 }),
      }),
    },
  ] as never[]),
) as unknown as fc.Arbitrary<Command>;

const vendor: fc.Arbitrary<BehaviourChange> = fc.record({
  paging: fc.constantFrom('index', 'offset'),
  firstPage: fc.constantFrom(0, 1),
  pageZero: fc.constantFrom('first', 'first', 'empty', 'refused'),
  pastEnd: fc.constantFrom('empty', 'empty', 'empty', 'first', 'last'),
  ignorePaging: fc.constantFrom(false, false, false, true),
  pageCap: fc.constantFrom(null, null, 7, 20),
  capStep: fc.constantFrom('cap', 'asked'),
  order: fc.constantFrom('asc', 'asc', 'asc', 'desc', 'insertion'),
  ties: fc.constantFrom('stable', 'shuffled', 'by-page'),
  since: fc.constantFrom('from', 'from', 'after', 'minute', 'hours', 'earlier'),
  charset: fc.constantFrom('utf-8', 'iso-8859-1'),
  cacheSeconds: fc.constantFrom(0, 0, 0, 3, 60),
  ignoreUpdated: fc.constantFrom(false, false, false, true),
  emptyAs: fc.constantFrom('array', 'not-found', 'null', 'object', 'bare'),
  bodyAs: fc.constantFrom('keyed', 'bare'),
  clockSkew: fc.constantFrom(0, 0, -120, 120),
  dateHeader: fc.boolean(),
  visibilityDelay: fc.constantFrom(0, 0, 3),
  moveRowsPerRequest: fc.constantFrom(0, 0, 1, 3),
});

/** A second is as wide as `records / seconds`; pages are small, so that it is often wider than one. */
const world = fc.record({
  feed: fc.constantFrom('ipos', 'insights'),
  records: fc.noBias(fc.integer({ min: 0, max: 90 })),
  perSecond: fc.constantFrom(1, 5, 30, 100),
  pageSize: fc.constantFrom(10, 25, 1000),
  /** How long each request takes. */
  requestMs: fc.constantFrom(0, 0, 400, 2500),
  vendor,
  drift: fc.option(drift, { freq: 3, nil: {} }),
  omit: fc.constantFrom(
    [],
    ['description', 'analyst_insights', 'links', 'security.cusip', 'sentiment.score', 'action_pt'],
  ),
  ignore: fc.constantFrom([], ['notes', 'views', 'cusip', 'sentiment', 'security.cusip', 'offering_value']),
  commands: fc.array(command, { maxLength: 25, size: 'max' }),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

interface Play {
  readonly name: 'ipos' | 'insights';
  readonly api: Simulator;
  readonly publisher: TestPublisher;
  readonly clock: { ms: number };
  readonly requests: { count: number; abortAt: number; abort: () => void };
  readonly overrides: Pick<Feed, 'pageSize' | 'pollIntervalMs' | 'omit' | 'ignore'>;
  readonly removed: [string, unknown][];
  /** No poll has succeeded since the feed was acquired. */
  isNew: boolean;
  /** Nothing has happened that a poll may answer by an incomplete scan. */
  strict: boolean;
  /** Rows may come without an id or a time stamp: if all rows of a snapshot do, it ends by name. */
  readonly mayBeUnreadable: boolean;
}

async function run(command: Command, p: Play): Promise<void> {
  const { api, publisher, clock, requests } = p;
  switch (command.kind) {
    case 'wait':
      clock.ms += command.seconds * 1000;
      return;
    case 'restart':
      p.isNew = true;
      return publisher.restart();
    case 'snapshot': {
      const { deps } = publisher.owned();
      if (deps.state.offset.snapshot !== 'complete') return;
      const { seq } = deps.state.offset;
      const begins = { snapshot: 'pending', snapshot_seq: seq, high_water_mark: 0 } as const;
      return movePosition(deps, begins);
    }
    case 'reset':
      await resetState(publisher.owned().deps);
      return;
    case 'reconcile':
      requests.count = 0;
      // Refused by the owner.
      if (publisher.owned().deps.state.offset.snapshot !== 'complete') return;
      await reconcileNow(p, command).catch(unlessNamed);
      return;
    case 'backfill':
      requests.count = 0;
      if (publisher.owned().deps.state.offset.snapshot !== 'complete') return;
      await backfill(publisher, testFeed(p.name, p.overrides), {
        from: '2026-09-19',
        to: '2026-09-22',
      }).catch(unlessNamed);
      return;
    case 'retry':
      requests.count = 0;
      await retryDeadLetters(publisher.owned().deps).catch(unlessNamed);
      return;
    case 'behave':
      p.strict = false;
      api.behave(command.change as never);
      letRowsRest(p);
      return;
    case 'fault': {
      p.strict = false;
      const { fault, skip, times } = command;
      api.fault({
        fault: faults[fault],
        skip,
        times,
        ...(fault === 'large' && { pageSizeAbove: 4 }),
      } as never);
      return;
    }
    case 'aborted poll': {
      const abort = new AbortController();
      Object.assign(requests, { count: 0, abortAt: command.request, abort: () => abort.abort() });
      const { deps } = publisher.owned();
      await poll(deps, pollRound(deps, p.isNew), abort.signal).catch(() => {});
      requests.abortAt = 0;
      return;
    }
    case 'poll':
    case 'wide poll': {
      requests.count = 0;
      const shown = shownNow(p);
      try {
        // As the feed's task does: the first poll of an owner that succeeds is a wide one.
        await publisher.poll({ wide: p.isNew || command.kind === 'wide poll' });
        p.isNew = false;
      } catch (error) {
        // Out of retries or beyond reach is an answer too: the poll fails, and nothing of it may be half done.
        if (!(error instanceof HighwaterError)) throw error;
        if (p.strict && !(p.mayBeUnreadable && isUnreadable(error))) throw error;
        return;
      }
      if (p.strict) expectKnown(p, shown);
      return;
    }
    default:
      mutate(command, p);
  }
}

/**
 * A row without an id that moves is a new row on each page, so only the paging limit ends a poll if paging is ignored: 4,000 requests,
 * which take minutes if rows are deep.
 */
function letRowsRest({ api, name }: Pick<Play, 'api' | 'name'>): void {
  const { drift, ignorePaging } = api.behaviour(name);
  if (drift.withoutId === 1 || (drift.withoutId > 0 && ignorePaging)) api.behave({ moveRowsPerRequest: 0 });
}

/** An operation may fail by name, and nothing of it may be half done. */
function unlessNamed(error: unknown): void {
  if (!(error instanceof HighwaterError)) throw error;
}

/** With the polls in between, while the market rests. */
async function reconcileNow(
  p: Play,
  { dryRun, allows }: { readonly dryRun: boolean; readonly allows: boolean },
): Promise<ReconcileResult> {
  const feed = testFeed(p.name, { ...p.overrides, deleteShare: 0.1 });
  const deps = { ...p.publisher.owned().deps, feed };
  const known = new Set(idsIn(deps.state));
  const { seq } = deps.state.offset;
  const result = await reconcile(
    deps,
    {
      dryRun,
      allowDeletes: allows ? 1_000 : null,
      between: async () => {},
      async poll() {
        if (!dryRun) await p.publisher.poll().catch(unlessUnreadable);
      },
      async rest(ms) {
        p.clock.ms += ms;
        if (!dryRun) await p.publisher.poll().catch(unlessUnreadable);
      },
    },
    new AbortController().signal,
  );
  const shown = p.api.truth(p.name);
  const deleted = [...known].filter((id) => deps.state.image(id) === undefined);
  expect(deleted.filter((id) => shown.has(id))).toStrictEqual([]);
  expect(deleted).toHaveLength(dryRun ? 0 : result.deleted);
  if (dryRun) expect(deps.state.offset.seq).toBe(seq);
  if (!allows) expect(deleted.length).toBeLessThanOrEqual(0.1 * known.size + 1);
  return result;
}

function shownNow({ api, name, publisher, overrides }: Play): readonly VendorRecord[] {
  return publisher.owned().deps.decode(withoutOmitted([...api.truth(name).values()], overrides)).records;
}

function withoutOmitted<Row>(rows: readonly Row[], { omit }: Play['overrides']): readonly Row[] {
  const copies = structuredClone(rows);
  removeMembers(copies, omit);
  return copies;
}

/** A row that was shown when a poll began is published when the poll has succeeded, in that version or a later one. */
function expectKnown({ publisher }: Play, shown: readonly VendorRecord[]): void {
  const { codec, state, images } = publisher.owned().deps;
  for (const record of shown) {
    const wire = state.image(record.id);
    if (wire === undefined)
      throw new Error(
        `${record.id} of ${record.updated} was shown and is not known; ${JSON.stringify(state.offset)}`,
      );
    const image = codec.image.decode(wire);
    if (image.updated < record.updated && images.compare(wire, record).changedFields.length > 0)
      throw new Error(
        `${record.id} of ${record.updated} is still at ${image.updated}; ${JSON.stringify(state.offset)}`,
      );
  }
}

/** Groups of their own, whose names are the same text if they are only joined. */
const likeGroups = [
  { security: { symbol: 'S|F' }, firm_id: 'G' },
  { security: { symbol: 'S' }, firm_id: 'F|G' },
];

let counter = 0;
function mutate(
  { kind, at, count }: { readonly kind: Mutation; readonly at: number; readonly count: number },
  p: Play,
): void {
  if (kind === 'silent' || kind === 'too late') p.strict = false;
  const { api, clock, name } = p;
  const store = api.stores[name];
  const keys = store.keys();
  for (let i = 0; i < (kind === 'burst' ? count * 4 : count); i++) {
    const key = keys[(at + i) % Math.max(1, keys.length)];
    const { updated: _, ...record } = (key === undefined ? undefined : store.get(key)) ?? {
      updated: 0,
      date: '2026-01-01',
    };
    const now = Math.floor(clock.ms / 1000 + api.behaviour(name).clockSkew);
    const id = `${kind}-${++counter}`;
    const content =
      name === 'ipos'
        ? { notes: `${id} é`, views: counter, deal_status: `Status ${(at + i) % 4}` }
        : {
            rating: ['Buy', 'Hold', 'Sell'][(at + i) % 3],
            views: counter,
            pt: `${(at + i) % 5}.00`,
            date: i % 4 === 0 ? '2020-01-01' : '2026-09-20',
            ...(at % 3 === 0 && likeGroups[i % 2]),
          };
    switch (kind) {
      case 'change':
        store.upsert({ ...record, ...content, id: key?.startsWith('#') ? id : (key ?? id) } as never);
        break;
      case 'burst':
      case 'create':
        store.upsert({ ...record, ...content, id } as never);
        break;
      case 'late':
        // Becomes visible after its second, within the overlap.
        if (api.behaviour(name).visibilityDelay === 0)
          store.upsert({ ...record, id, updated: now - (i % 3) } as never);
        break;
      case 'ahead':
        // A record that comes back from the future needs two agreeing reads, which shuffled ties may not give in time.
        if (api.behaviour(name).ties === 'stable')
          store.upsert({ ...record, ...content, id, updated: now + 1 + ((at * 7 + i) % 3000) } as never);
        break;
      case 'remove':
        if (key === undefined || i > 2 || store.get(key) === undefined) break;
        p.removed.push([key, store.get(key)!]);
        store.remove(key);
        break;
      case 'return': {
        const [gone, old] = p.removed.shift() ?? [];
        if (gone === undefined) break;
        const { updated: _old, ...back } = old as { updated?: unknown };
        // Where it was, as if it had only been hidden, or now.
        store.upsert((at % 2 ? old : back) as never, { key: gone });
        if (at % 2) p.strict = false;
        break;
      }
      case 'silent':
        if (key !== undefined)
          store.upsert({ ...store.get(key), ...content } as never, {
            key,
            updated: store.get(key)!.updated as number,
          });
        break;
      case 'too late':
        store.upsert({ ...record, ...content, id, updated: now - 100_000 - i } as never);
        break;
      case 'touch':
        if (key !== undefined) store.touch(key);
        break;
      case 'rescale':
        if (key !== undefined) store.rescale(key);
    }
  }
}

async function play(world: World): Promise<void> {
  const clock = { ms: 1_790_000_000_000 };
  const name = world.feed as 'ipos' | 'insights';
  const requests: Play['requests'] = { count: 0, abortAt: 0, abort: () => {} };
  const between = (client: Source): Source => ({
    fetchPage(feed, request, signal) {
      if (++requests.count > MOST_REQUESTS) throw new Error('the poll does not end');
      if (requests.count === requests.abortAt) requests.abort();
      clock.ms += world.requestMs;
      return client.fetchPage(feed, request, signal);
    },
  });
  const { omit, ignore } = world;
  const overrides = { pageSize: world.pageSize, pollIntervalMs: 2_000, omit, ignore };
  const { api, publisher, close } = await startWorld({
    ...{ feed: testFeed(name, overrides), between, bodyLimitBytes: 2 ** 20 },
    vendor: {
      records: { [name]: world.records },
      perSecond: world.perSecond,
      spreadDays: world.perSecond >= 30 ? 0.0001 : 1,
      behaviour: { ...world.vendor, drift: world.drift },
      clock: () => clock.ms,
    },
  });
  letRowsRest({ api, name });
  const {
    order,
    ignoreUpdated,
    ignorePaging,
    dateHeader,
    clockSkew,
    moveRowsPerRequest,
    cacheSeconds,
    pastEnd,
  } = world.vendor;
  // Rows that move while a poll reads are left to the next one.
  const strict =
    order === 'asc' &&
    !ignoreUpdated &&
    !ignorePaging &&
    moveRowsPerRequest === 0 &&
    cacheSeconds === 0 &&
    pastEnd === 'empty' &&
    (dateHeader || clockSkew === 0);
  const { withoutId = 0, withoutUpdated = 0, deep = 0 } = { ...world.drift } as Record<string, number>;
  const mayBeUnreadable = withoutId + withoutUpdated + deep > 0;
  const known = { strict, mayBeUnreadable, overrides, isNew: true, removed: [] };
  const p: Play = { name, api, publisher, clock, requests, ...known };
  try {
    for (const step of world.commands) await run(step, p);
    api.clearFaults();
    api.behave({
      moveRowsPerRequest: 0,
      order: 'asc',
      ignoreUpdated: false,
      ignorePaging: false,
      visibilityDelay: 0,
      cacheSeconds: 0,
      pastEnd: 'empty',
      // A page 0 that comes to be refused is an error until paging.first says where pages begin.
      ...(world.vendor.pageZero === 'refused' && { firstPage: world.vendor.firstPage }),
      // Nothing tells that a row without an id stands in the place of another.
      ...(withoutId > 0 && { ties: 'stable' }),
    });
    // The poll after the one that sees a fixed server trusts it again.
    for (let i = 0; i < 2; i++) {
      clock.ms += 5000;
      requests.count = 0;
      await publisher.poll({ wide: true }).catch(unlessUnreadable);
    }
    // The first poll may have to learn the unit of the paging again.
    for (let i = 0; i < 2; i++) {
      requests.count = 0;
      const { why } = await reconcileNow(p, { dryRun: false, allows: true });
      if (why !== 'scan-not-complete' || i > 0) await expectTruth(p, why);
    }
  } finally {
    await close();
  }
}

/** A round in which every row is a dead letter says so; the letters are published all the same. */
function unlessUnreadable(error: unknown): void {
  if (!isUnreadable(error)) throw error;
}

function isUnreadable(error: unknown): boolean {
  return error instanceof HighwaterError && /^(SNAPSHOT|POLL)_UNREADABLE$/.test(error.code);
}

/** I1 to I4, I6 and I8 as far as one feed's log shows them. */
async function expectTruth(p: Play, why: ReconcileResult['why']): Promise<void> {
  const { api, publisher, name, overrides } = p;
  const { deps } = publisher.owned();
  const { image, schemas } = deps.codec;
  const compareAll = createComparison(recordShape(schemas.record));
  const isIgnored = (field: string) => overrides.ignore.includes(field.replace(/^extra\./, ''));
  const compare: Comparison = (before, after) =>
    compareAll(before, after).filter((field) => !isIgnored(field));
  const events = await publisher.topic(name);
  const lives = new Map<string, number[]>();
  for (const { decoded } of events) {
    const { incarnation, seq } = decoded!.source;
    lives.set(incarnation, [...(lives.get(incarnation) ?? []), seq]);
  }
  for (const numbers of lives.values()) expect(numbers).toEqual(numbers.map((_, i) => i + 1));

  let life = '';
  const live = new Map<string, RecordValues>();
  const transitions: Transition[] = [];
  for (const { key, decoded } of events) {
    const { op, before, after, changed_fields, source } = decoded!;
    if (source.incarnation !== life) live.clear();
    life = source.incarnation;
    // A read says again what there is, or begins.
    expect(before).toEqual(op === 'r' ? null : (live.get(key) ?? null));
    if (op !== 'r') expect(op === 'c').toBe(!live.has(key));
    else if (live.has(key)) expect(compare(live.get(key)!, after)).toStrictEqual([]);
    expect(changed_fields).toStrictEqual(op === 'u' ? compare(before, after) : []);
    expect(changed_fields.length > 0).toBe(op === 'u');
    transitions.push(...expectedTransition(name, decoded!, live));
    if (op === 'd') live.delete(key);
    else live.set(key, after);
  }
  const found = await publisher.topic(name === 'ipos' ? 'ipos.deal-status' : 'insights.rating-changes');
  const place = new Map(events.map(({ decoded }, i) => [decoded!.event_id as string, i]));
  const inOrder = found.map(asTransition).sort((a, b) => place.get(a.cause)! - place.get(b.cause)!);
  expect(inOrder).toEqual(transitions);

  const truth = shownNow(p);
  const missing = truth.filter(({ id }) => !live.has(id));
  expect(missing.map(({ id, updated }) => `${id} ${updated}`)).toStrictEqual([]);
  for (const record of truth) {
    expect([record.id, compare(live.get(record.id)!, record.values)]).toStrictEqual([record.id, []]);
    expect(
      deps.state.image(record.id)?.equals(image.encode({ ...record, values: live.get(record.id)! })),
    ).toBe(true);
  }

  const gone = [...live.keys()].filter((id) => !api.truth(name).has(id));
  if (why === 'rows-without-id') expect(api.stores[name].unusable().length).toBeGreaterThan(0);
  else if (why === 'not-proved') {
    // Nothing is shown at or behind their second, as by a server that lags.
    const last = Math.max(...truth.map(({ updated }) => updated));
    const place = (id: string) => deps.state.seenAt(id) ?? (live.get(id)!.updated as number);
    expect(gone.filter((id) => Math.floor(place(id)) <= last)).toStrictEqual([]);
  }
  // One second that is wider than a page, before anything has shown what pages are counted in.
  else if (why === 'scan-not-complete') expect(deps.state.offset.page_offset_unit).toBeNull();
  else
    expect({ why, gone: gone.filter((id) => !isShownUnusable(api, name, id)) }).toEqual({
      why: null,
      gone: [],
    });

  const letters = await publisher.topic(`${name}.dead-letters`);
  const hashes = letters.map(({ key }) => key);
  expect(new Set(hashes).size).toBe(hashes.length);
  for (const row of withoutOmitted(api.stores[name].unusable(), overrides)) {
    const sha256 = createHash('sha256').update(stringify(row)!).digest('hex');
    if (!hashes.includes(sha256)) throw new Error(`no dead letter of ${JSON.stringify(row).slice(0, 300)}`);
  }
}

interface Transition {
  readonly cause: string;
  readonly from: readonly unknown[];
  readonly to: readonly unknown[];
}
type Envelope = NonNullable<Published['decoded']>;

/** The transitions written down once more, without an index: from all images, by the words of the specification. */
function expectedTransition(
  name: string,
  event: Envelope,
  live: ReadonlyMap<string, RecordValues>,
): Transition[] {
  const { op, before, after, event_id: cause } = event;
  if (op === 'r' || op === 'd') return [];
  if (name === 'ipos') {
    const [from, to] = [before?.deal_status ?? null, after.deal_status ?? null];
    return (from || null) === (to || null) ? [] : [{ cause, from: [from], to: [to] }];
  }
  const group = (r: RecordValues) => [valueAt(r, 'security.symbol'), r.firm_id];
  const mine = group(after);
  if (mine.some((part) => part === null || part === '')) return [];
  const newest = (records: Iterable<RecordValues>): RecordValues | null => {
    const members = [...records].filter(
      (r) => isDeepStrictEqual(group(r), mine) && !group(r).includes('') && !group(r).includes(null),
    );
    const rank = (r: RecordValues) => [String(r.date ?? ''), r.updated as number, r.id as string] as const;
    return members.reduce<RecordValues | null>((a, b) => {
      if (a === null) return b;
      const [x, y] = [rank(a), rank(b)];
      const i = x.findIndex((_, k) => x[k] !== y[k]);
      return i >= 0 && x[i]! < y[i]! ? b : a;
    }, null);
  };
  const was = newest(live.values());
  const is = newest(new Map(live).set(after.id, after).values());
  if (is?.id !== after.id) return [];
  if (was !== null && ['rating', 'pt'].every((field) => equalDecimalText(was[field], after[field])))
    return [];
  return [
    {
      cause,
      from: [was?.rating_id ?? null, was?.rating ?? null, was?.pt ?? null],
      to: [after.rating_id, after.rating, after.pt],
    },
  ];
}

function asTransition({ decoded }: Published): Transition {
  const d = decoded!;
  return 'status' in d
    ? { cause: d.caused_by, from: [d.previous_status], to: [d.status] }
    : {
        cause: d.caused_by,
        from: [d.previous_rating_id, d.previous_rating, d.previous_pt],
        to: [d.rating_id, d.rating, d.pt],
      };
}

/** A row that shows the record, although it could not be one. */
function isShownUnusable(api: Simulator, name: Play['name'], id: string): boolean {
  return api.stores[name].unusable().some((row) => row.id === id);
}

it(
  `a random vendor on a random day loses nothing, repeats nothing (${RUNS.numRuns} runs)`,
  async () => {
    await fc.assert(fc.asyncProperty(world, play), RUNS);
  },
  modelMs(RUNS.numRuns),
);
