import type { Feed } from '../../src/feeds/feed';
import { absenceProbe } from '../../src/pipeline/rounds/prove-absent';
import { type ReconcileOptions, type ReconcileResult, reconcile } from '../../src/pipeline/rounds/reconcile';
import type { BehaviourChange } from '../../src/simulator/behaviour';
import type { Simulator } from '../../src/simulator/simulator';
import { testFeed } from '../support/feeds';
import { writeAgain } from '../support/records';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

let api: Simulator;
let publisher: TestPublisher;
let feed: Feed;

async function start(records: number, behaviour: BehaviourChange = {}): Promise<void> {
  feed = testFeed('ipos', { pageSize: 20, pollIntervalMs: 10, deleteShare: 0.2 });
  const vendor = { records: { insights: 0, analysts: 0, ipos: records } };
  ({ api, publisher } = await world({ feed, vendor }));
  api.behave(behaviour);
  await publisher.poll();
}

function reconciled(options: Partial<ReconcileOptions> = {}): Promise<ReconcileResult> {
  const { deps } = publisher.owned();
  const poll = async () => void (await publisher.poll());
  const alone = { between: async () => {}, rest: async () => {}, poll };
  const all = { dryRun: false, allowDeletes: null, ...alone, ...options };
  return reconcile(deps, all, new AbortController().signal);
}

/** For the probe: which numbers are those of these ids. */
const among = (ids: readonly string[]) => (number: number) =>
  ids.includes(publisher.owned().deps.state.records.idOf(number));

const keys = () => api.stores.ipos.keys();
const events = async () => (await publisher.topic('ipos')).map(({ decoded }) => decoded!);
/** Events after the first snapshot. */
const news = async () => (await events()).filter(({ op }) => op !== 'r');

/** A change that the vendor does not date. */
function changeSilently(key: string, change: Record<string, unknown>): void {
  const record = api.stores.ipos.get(key)!;
  api.stores.ipos.upsert({ ...record, ...change } as never, { updated: record.updated as number });
}

it('reads all once with the filter and once without it, and says nothing, when all is as published', async () => {
  await start(50);
  const before = (await events()).length;
  const result = await reconciled();

  expect(result).toMatchObject({ created: 0, updated: 0, deleted: 0, missing: 0, why: null });
  expect(result.rows).toBeLessThan(3 * 50);
  expect(await events()).toHaveLength(before);
  expect((await publisher.sourceOffset()).last_reconcile_ms).toEqual(expect.any(Number));
});

it('does not call silent or late what the next poll would have found too', async () => {
  await start(50);
  const [changed, silent, late] = [keys()[3]!, keys()[4]!, keys()[5]!];
  changeSilently(silent, { notes: 'silently' });
  writeAgain(api.stores.ipos, changed, { notes: 'dated' });
  writeAgain(api.stores.ipos, changed, { id: 'new' });
  // It was dated when it changed, but became visible after a poll had read that time.
  const passed = (api.stores.ipos.get(keys()[10]!)!.updated as number) + 1;
  api.stores.ipos.upsert({ ...api.stores.ipos.get(late)!, notes: 'late' } as never, { updated: passed });

  const found = { created: 0, updated: 2, ordinary: 2, deleted: 0 };
  expect(await reconciled({ dryRun: true })).toMatchObject(found);
  expect(await reconciled()).toMatchObject(found);
  expect((await news()).map(({ op, after }) => `${op} ${after!.id}`).sort()).toEqual(
    ['c new', ...[changed, late, silent].map((id) => `u ${id}`)].sort(),
  );
});

it('publishes what moved no `updated` as an update, and a row that became visible too late as a create', async () => {
  await start(50);
  changeSilently(keys()[3]!, { notes: 'silently' });
  const { updated } = api.stores.ipos.get(keys()[10]!)!;
  api.stores.ipos.upsert({ ...api.stores.ipos.get(keys()[10]!)!, id: 'late' } as never, { updated } as never);
  await publisher.poll();
  expect(await news()).toStrictEqual([]);

  expect(await reconciled()).toMatchObject({ created: 1, updated: 1, deleted: 0 });
  const found = await news();
  expect(found.map(({ op, source: { origin } }) => `${op} ${origin}`).sort()).toEqual([
    'c reconcile',
    'u reconcile',
  ]);
  expect(found.find(({ op }) => op === 'u')!.changed_fields).toEqual(['notes']);
});

it('deletes what is gone, with a tombstone and the last image, and creates it again when it returns', async () => {
  await start(50);
  const key = keys()[20]!;
  const record = api.stores.ipos.get(key)!;
  api.stores.ipos.remove(key);
  const result = await reconciled();

  expect(result).toMatchObject({ deleted: 1, missing: 0, why: null });
  const [event] = await news();
  expect(event).toMatchObject({ op: 'd', after: null, before: { id: key }, source: { origin: 'reconcile' } });
  const images = (await publisher.topic('ipos.current')).filter((image) => image.key === key);
  expect(images.at(-1)!.decoded).toBeNull();
  expect((await publisher.sourceOffset()).record_count).toBe(49);

  const { updated: _, ...returned } = record;
  api.stores.ipos.upsert(returned as never);
  await publisher.restart();
  await publisher.poll();
  expect((await news()).map(({ op }) => op)).toEqual(['d', 'c']);
});

it('deletes the oldest record; the newest only when something newer shows that the server does not lag', async () => {
  await start(50);
  const [oldest, newest] = [keys()[0]!, writeAgain(api.stores.ipos, keys()[5]!, { id: 'newest' })];
  await publisher.poll();
  for (const key of [oldest, newest]) api.stores.ipos.remove(key);

  const why = 'not-proved';
  expect(await reconciled()).toMatchObject({ deleted: 1, missing: 1, withheldIds: [newest], why });
  expect(publisher.owned().deps.state.offset.withheld_deletes).toBe(1);
  api.stores.ipos.touch(keys()[10]!);
  expect(await reconciled()).toMatchObject({ deleted: 1, missing: 0, withheldIds: [] });
  expect(publisher.owned().deps.state.offset.withheld_deletes).toBe(0);
  const deleted = (await news()).filter(({ op }) => op === 'd').map(({ before }) => before.id);
  expect(deleted).toEqual([oldest, newest]);
});

it('takes no empty answer for a proof of what lies behind it', async () => {
  await start(100);
  const some = [20, 60, 70, 80].map((at) => keys()[at]!);
  api.stores.ipos.remove(some[0]!);
  const { deps } = publisher.owned();
  const probe = await absenceProbe(deps, among(some), new AbortController().signal);
  api.fault({ fault: { kind: 'short', rows: 0 }, skip: 1, times: 1 } as never);

  expect(await probe.gone(some)).toEqual([some[0]]);
});

it('sees what moves while it reads, by polls', async () => {
  await start(400);
  // The same rows are touched again and again, so that no scan reaches them.
  const hot = keys().slice(0, 40);
  const touch = () => {
    for (const key of hot) api.stores.ipos.touch(key);
  };
  touch();
  await publisher.poll();
  const result = await reconciled({
    allowDeletes: 1_000,
    between: async () => touch(),
    rest: async () => touch(),
  });

  expect(result).toMatchObject({ deleted: 0 });
});

it('only says what would happen in a dry run', async () => {
  await start(50);
  api.stores.ipos.remove(keys()[20]!);
  changeSilently(keys()[3]!, { notes: 'silently' });
  const offset = await publisher.sourceOffset();

  expect(await reconciled({ dryRun: true, poll: async () => {} })).toMatchObject({
    updated: 1,
    deleted: 1,
    created: 0,
  });
  expect(await news()).toStrictEqual([]);
  expect(await publisher.sourceOffset()).toEqual(offset);
});

it('deletes nothing above the share of the feed, but as many as an operator allows', async () => {
  await start(50);
  for (const key of keys().slice(0, 15)) api.stores.ipos.remove(key);

  const withheld = () => publisher.owned().deps.state.offset.withheld_deletes;
  expect(await reconciled({ dryRun: true })).toMatchObject({ missing: 15, why: 'too-many' });
  expect(withheld()).toBe(0);
  expect(await reconciled()).toMatchObject({ deleted: 0, missing: 15, why: 'too-many' });
  expect(withheld()).toBe(15);
  expect(await reconciled({ allowDeletes: 14 })).toMatchObject({ deleted: 0, why: 'too-many' });
  expect(await news()).toStrictEqual([]);
  expect(await reconciled({ allowDeletes: 15 })).toMatchObject({ deleted: 15, missing: 0 });
  expect(withheld()).toBe(0);
  api.stores.ipos.remove(keys()[0]!);
  expect(await reconciled({ allowDeletes: 0 })).toMatchObject({ deleted: 0, why: 'too-many' });
});

it.each([
  ['deletes one record of a feed that has few', 0.05, 1, { deleted: 1, missing: 0, why: null }],
  ['deletes no two of them', 0.05, 2, { deleted: 0, missing: 2, why: 'too-many' }],
  ['deletes none of a feed with deleteShare 0', 0, 1, { deleted: 0, missing: 1, why: 'too-many' }],
] as const)('%s', async (_, deleteShare, gone, result) => {
  await start(10);
  feed = { ...feed, deleteShare };
  await publisher.restart({ feed });
  await publisher.poll();
  for (const key of keys().slice(3, 3 + gone)) api.stores.ipos.remove(key);

  expect(await reconciled()).toMatchObject(result);
});

it('deletes nothing of a feed that answers nothing at all, whatever is allowed', async () => {
  await start(10);
  for (const key of keys()) api.stores.ipos.remove(key);

  // It asks for no number, since none helps.
  expect(await reconciled()).toMatchObject({ deleted: 0, missing: 10, why: 'nothing-shown' });
  expect(await reconciled({ allowDeletes: 1_000 })).toMatchObject({
    deleted: 0,
    missing: 10,
    why: 'not-proved',
  });
});

it('believes no single answer: a record that the second scan shows stays', async () => {
  await start(50);
  const key = keys()[20]!;
  const record = api.stores.ipos.get(key)!;
  api.stores.ipos.remove(key);
  const result = await reconciled({
    rest: async () => void api.stores.ipos.upsert(record as never, { updated: record.updated as number }),
  });

  expect(result).toMatchObject({ deleted: 0, missing: 0, why: null });
});

it('believes a probe that shows the record, whatever two scans have not shown', async () => {
  await start(50);
  const key = keys()[20]!;
  const record = api.stores.ipos.get(key)!;
  api.stores.ipos.remove(key);
  const probed = async () =>
    (await absenceProbe(publisher.owned().deps, among([key]), new AbortController().signal)).gone([key]);
  expect(await probed()).toEqual([key]);
  api.stores.ipos.upsert(record as never, { updated: record.updated as number });

  expect(await probed()).toStrictEqual([]);
});

describe('a record that was touched, so that its image is older than what the API shows,', () => {
  const probed = async (key: string) =>
    (await absenceProbe(publisher.owned().deps, among([key]), new AbortController().signal)).gone([key]);

  async function touched(): Promise<string> {
    await start(50);
    const key = keys()[20]!;
    api.stores.ipos.touch(key);
    await publisher.poll();
    expect(await news()).toStrictEqual([]);
    return key;
  }

  it('is not proved to be gone while it lives, by an owner that has seen it or by a later one', async () => {
    const key = await touched();
    expect(await probed(key)).toStrictEqual([]);
    await publisher.restart();
    expect(await probed(key)).toStrictEqual([]);
    api.stores.ipos.touch(key);
    expect(await probed(key)).toStrictEqual([]);
  });

  it('is deleted when it is gone, by an owner that has seen it', async () => {
    const key = await touched();
    api.stores.ipos.touch(keys()[10]!);
    api.stores.ipos.remove(key);
    expect(await reconciled()).toMatchObject({ deleted: 1, missing: 0 });
  });

  it('is deleted when it is gone, by an owner that has never seen it', async () => {
    const key = await touched();
    api.stores.ipos.touch(keys()[10]!);
    api.stores.ipos.remove(key);
    await publisher.restart();
    expect(await reconciled({ dryRun: true, poll: async () => {} })).toMatchObject({ deleted: 1 });
    expect(await reconciled()).toMatchObject({ deleted: 1, missing: 0 });
  });

  it('is not proved to be gone when two answers disagree about where it is', async () => {
    const key = await touched();
    const { updated } = api.stores.ipos.get(key)!;
    api.stores.ipos.touch(key, (updated as number) - 2);
    await publisher.poll();
    api.stores.ipos.touch(key, updated as number);
    expect(await probed(key)).toStrictEqual([]);
  });
});

it('takes an answer that shows no record it knows for no proof', async () => {
  await start(50);
  const known = keys();
  // As if another table stood behind the address.
  for (const key of known) {
    const { updated, ...record } = api.stores.ipos.get(key)!;
    api.stores.ipos.remove(key);
    api.stores.ipos.upsert({ ...record, id: `other ${key}` } as never, { updated: updated as number });
  }
  const probed = async () =>
    (await absenceProbe(publisher.owned().deps, among(known), new AbortController().signal)).gone(known);
  expect(await probed()).toStrictEqual([]);
  expect(await reconciled({ dryRun: true, allowDeletes: 50, poll: async () => {} })).toMatchObject({
    deleted: 0,
    missing: 50,
    why: 'not-proved',
  });

  // Once the other rows are known, they tell.
  expect(await reconciled({ allowDeletes: 0 })).toMatchObject({ created: 48, ordinary: 2, deleted: 0 });
  expect((await probed()).sort()).toEqual([...known].sort());
});

it('keeps a record that a poll shows meanwhile, wherever it has moved', async () => {
  await start(50);
  const key = keys()[20]!;
  const { updated: _, ...record } = api.stores.ipos.get(key)!;
  api.stores.ipos.remove(key);
  const result = await reconciled({
    async rest() {
      api.stores.ipos.upsert(record as never);
      await publisher.poll();
      api.stores.ipos.remove(key);
    },
  });

  expect(result).toMatchObject({ deleted: 0, missing: 0 });
});

it('deletes nothing while rows come without an id: any of them may be the record', async () => {
  await start(50);
  const key = keys()[20]!;
  const { id: _, ...nameless } = api.stores.ipos.get(key)!;
  api.stores.ipos.remove(key);
  api.stores.ipos.upsert(nameless as never, { key: 'nameless', updated: nameless.updated as number });

  expect(await reconciled()).toMatchObject({ deleted: 0, missing: 1, why: 'rows-without-id' });
  expect((await publisher.sourceOffset()).withheld_deletes).toBe(1);
  // Unless somebody who knows says so.
  expect(await reconciled({ allowDeletes: 1 })).toMatchObject({ deleted: 1 });
});

it('keeps a record that comes with an undecodable `updated`', async () => {
  await start(50);
  const record = api.stores.ipos.get(keys()[20]!)!;
  const { updated } = record;
  api.stores.ipos.remove(keys()[20]!);
  api.stores.ipos.upsert({ ...record, updated: 'yesterday' } as never, { updated: updated as number });

  expect(await reconciled()).toMatchObject({ deleted: 0, missing: 0 });
});

it('deletes nothing when a page of the second scan fails, and can be asked again', async () => {
  await start(50);
  api.stores.ipos.remove(keys()[20]!);
  const failing = reconciled({
    async rest() {
      api.fault({ fault: { kind: 'status', status: 500 }, times: 50 } as never);
    },
  });

  await expect(failing).rejects.toMatchObject({ code: expect.stringMatching(/^SOURCE_/) });
  expect(await news()).toStrictEqual([]);
  api.clearFaults();
  expect(await reconciled()).toMatchObject({ deleted: 1 });
});

it('deletes nothing when the scan was given up where rows kept coming, and can be asked again', async () => {
  await start(50);
  const key = keys()[20]!;
  const { id: _, updated, ...row } = api.stores.ipos.get(keys()[40]!)!;
  const another = (n: number) =>
    void api.stores.ipos.upsert({ ...row, id: `tie ${n}` } as never, { updated: updated as number });
  // One second that is wider than a page, and has another row with each page that is read.
  for (let n = 0; n < 30; n++) another(n);
  await publisher.poll();
  api.stores.ipos.remove(key);
  let n = 30;
  const result = await reconciled({ between: async () => another(n++) });

  expect(result).toMatchObject({ deleted: 0, missing: 1, why: 'scan-not-complete' });
  expect(await publisher.sourceOffset()).toMatchObject({ last_reconcile_ms: null, withheld_deletes: 1 });
  expect(await reconciled()).toMatchObject({ deleted: 1, missing: 0, why: null });
});

it('deletes nothing that a changed filter leaves out, and does delete what is gone of the rest', async () => {
  await start(50);
  const inside = keys().filter((key) => api.stores.ipos.get(key)!.exchange === 'NASDAQ');
  expect(inside.length).toBeGreaterThan(5);
  const tickers = inside.map((key) => api.stores.ipos.get(key)!.ticker as string).filter((one) => one !== '');
  feed = { ...feed, query: { 'parameters[tickers]': tickers.join(',') }, deleteShare: 1 };
  await publisher.restart({ feed, scope: 'narrow' });
  await publisher.poll();
  const shown = (await events()).slice(50).map(({ after }) => after.id as string);
  expect(shown.length).toBeGreaterThan(2);
  expect(shown.length).toBeLessThan(50);
  // Also after another start, which knows only the log.
  await publisher.restart({ feed, scope: 'narrow' });
  api.stores.ipos.remove(shown[1]!);

  expect(await reconciled()).toMatchObject({ deleted: 1, missing: 0 });
  expect((await news()).map(({ before }) => before.id)).toEqual([shown[1]]);
});

const careless: [string, BehaviourChange][] = [
  ['gives shorter pages than asked for', { pageCap: 7 }],
  ['ignores the updated filter', { ignoreUpdated: true }],
  ['answers newest first', { order: 'desc' }],
  ['shuffles', { order: 'shuffled' }],
  ['shuffles ties', { ties: 'shuffled' }],
  ['counts pages in records', { paging: 'offset' }],
  ['moves rows at each request', { moveRowsPerRequest: 1 }],
  ['has a clock an hour ahead', { clockSkew: 3_600 }],
];
it.each(careless)('deletes what is gone and nothing else on a server that %s', async (_name, behaviour) => {
  await start(60, behaviour);
  const gone = [keys()[5]!, keys()[30]!, keys()[55]!];
  for (const key of gone) api.stores.ipos.remove(key);
  await reconciled({ allowDeletes: 5, rest: async () => void (await publisher.poll()) });

  const deleted = (await news()).filter(({ op }) => op === 'd').map(({ before }) => before.id as string);
  expect(deleted.sort()).toEqual([...gone].sort());
});
