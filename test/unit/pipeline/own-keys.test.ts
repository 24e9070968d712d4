import fc from 'fast-check';
import { recordShape } from '../../../src/avro/record-shape';
import { recordJson } from '../../../src/json/json-text';
import { parseJson } from '../../../src/json/parse-json';
import { createComparison } from '../../../src/pipeline/changes/compare';
import { createRowOf } from '../../../src/pipeline/records/row-of';
import { orderFeed, orderSchema } from '../../support/orders';
import { type TestPipeline, testPipeline } from '../../support/pipeline';
import { runs } from '../../support/runs';
import { schemaFiles } from '../../support/schema-versions';
import { type ScriptedPublisher, scriptedPublisher } from '../../support/scripted-publisher';

const files = schemaFiles();
const feed = orderFeed(files.add(orderSchema));
afterAll(() => files.remove());

type Row = Record<string, unknown>;
const order = (members: Row = {}): Row => ({
  order_no: 'A-1',
  modified_at: '2026-01-31T09:30:00.250Z',
  ...members,
});

describe('a record whose key fields are not called id and updated', () => {
  let pipeline: TestPipeline;
  beforeAll(async () => {
    pipeline = await testPipeline(feed);
  });
  const decoded = (members: Row) => pipeline.decode([order(members)]).records[0]!;

  it('has members named id and updated as well', () => {
    expect(decoded({ id: 7, updated: 'yes' })).toMatchObject({
      id: 'A-1',
      updated: 1769851800.25,
      values: { order_no: 'A-1', id: 7, updated: 'yes', modified_at: '2026-01-31T09:30:00.250Z' },
    });
  });

  it('is found again in its image', () => {
    const record = decoded({ id: 7, items: [{ sku: 'x', qty: 2 }] });
    const { image } = pipeline.codec;
    expect(image.decode(image.encode(record))).toMatchObject({ id: 'A-1', updated: 1769851800.25 });
  });

  it('is rejected with the value, its path and what was expected', () => {
    const { rejected } = pipeline.decode([order({ modified_at: 1769851800 })]);
    expect(rejected[0]!.reason).toBe(
      'the record has no usable modified_at (1769851800, expected an ISO 8601 time such as 2026-01-31T09:30:00Z)',
    );
  });

  it('is filled in its lists, maps and enums; what does not fit is in extra', () => {
    const { values } = decoded({
      state: 'lost',
      items: [
        { sku: 'x', qty: 2 },
        { sku: 'y', qty: 'two', gift: true },
      ],
      prices: { usd: 1.5, eur: '2' },
      shops: { 'a "b".c': { city: 'Ulm', zip: 1 } },
      ratings: [1, null],
    });
    expect(JSON.parse(JSON.stringify(values))).toMatchObject({
      state: null,
      items: [
        { sku: 'x', _qty: 2 },
        { sku: 'y', _qty: null },
      ],
      prices: { usd: 1.5, eur: 2 },
      shops: { 'a "b".c': { city: 'Ulm' } },
      ratings: [1, null],
      extra: {
        state: '"lost"',
        'items[1].qty': '"two"',
        'items[1].gift': 'true',
        'shops["a \\"b\\".c"].zip': '1',
      },
    });
  });

  it.each([
    ['items', [{ sku: 'x', gift: 1 }, 'y']],
    ['prices', { usd: 'much' }],
    ['prices', { usd: null }],
    ['ratings', ['x']],
    ['items', { sku: 'x' }],
  ])('%s as %j is in extra as a whole', (name, value) => {
    const { values } = decoded({ [name]: value });
    expect(values[name]).toBeNull();
    expect(values.extra).toEqual({ [name]: JSON.stringify(value) });
  });

  const text = fc.constantFrom('a', 'b', '', 'x"].y', '__proto__');
  const member = fc.oneof(fc.jsonValue(), text, fc.integer(), fc.constantFrom(2 ** 60, -(2 ** 62)));
  const item = fc.oneof(fc.dictionary(fc.constantFrom('sku', 'qty', 'city', 'new'), member), member);
  const orders = fc.record(
    {
      state: fc.constantFrom('open', 'paid', 'lost', null),
      items: fc.oneof(fc.array(item), member),
      prices: fc.oneof(fc.dictionary(text, fc.oneof(fc.integer(), member)), member),
      shops: fc.oneof(fc.dictionary(text, item), member),
      ratings: fc.oneof(fc.array(fc.constantFrom(1, 2, null)), member),
    },
    { requiredKeys: [] },
  );

  it('is its image, its row and its record alike, and differs where its image does (property)', () => {
    const { image } = pipeline.codec;
    const compare = createComparison(recordShape(orderSchema), feed);
    const rowOf = createRowOf(recordShape(orderSchema));
    const published = (members: Row) => image.decode(image.encode(decoded(members))).values;
    fc.assert(
      fc.property(orders, orders, (one, other) => {
        const [a, b] = [parseJson(JSON.stringify(one)), parseJson(JSON.stringify(other))] as [Row, Row];
        const record = decoded(a);
        expect(compare(published(a), record.values)).toStrictEqual([]);
        const again = pipeline.decode([rowOf(record.values)]).records[0]!;
        expect(image.encode(again).equals(image.encode(record))).toBe(true);
        const differing = compare(published(a), decoded(b).values);
        expect(compare(published(b), record.values).sort()).toEqual([...differing].sort());
        const fields = differing.map((path) => path.split('.')[0]!);
        for (const { name } of orderSchema.fields)
          if (recordJson(published(a)[name]) === recordJson(published(b)[name]))
            expect(fields).not.toContain(name);
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('a feed with other key fields', () => {
  let publisher: ScriptedPublisher;
  beforeEach(async () => {
    publisher = await scriptedPublisher(feed, undefined, false);
  });

  it('publishes two versions of one second in their order, under its own key', async () => {
    publisher.vendor.rows = [order({ state: 'open', items: [{ sku: 'x' }] })];
    await publisher.poll();
    publisher.vendor.rows = [
      order({ modified_at: '2026-01-31T09:30:00.750Z', state: 'paid', items: [{ sku: 'y' }] }),
    ];
    await publisher.poll({ wide: true });
    const events = publisher.topic('orders');
    expect(events.map(({ op, changed_fields }) => [op, ...changed_fields])).toEqual([
      ['r'],
      ['u', 'state', 'items'],
    ]);
    const [, { source, before, after }] = events as [unknown, (typeof events)[number]];
    expect(source).toMatchObject({ updated: 1769851800, ts_ms: 1769851800750 });
    expect(before.modified_at).toBe('2026-01-31T09:30:00.250Z');
    expect(after).toMatchObject({ order_no: 'A-1', modified_at: '2026-01-31T09:30:00.750Z' });
    expect(publisher.owned.deps.state.offset.high_water_mark).toBe(1769851800);
    expect(publisher.records().some(({ topic, key }) => topic === 'orders.current' && key === 'A-1')).toBe(
      true,
    );
  });

  it('a snapshot without a single record is an error that quotes a value, and the next one reads everything', async () => {
    publisher.vendor.rows = [order({ modified_at: 5 }), order({ order_no: 'A-2', modified_at: 6 })];
    await expect(publisher.poll()).rejects.toMatchObject({
      code: 'SNAPSHOT_UNREADABLE',
      message: expect.stringContaining('modified_at (5, expected an ISO 8601 time') as string,
    });
    expect(publisher.topic('orders.dead-letters')).toHaveLength(2);
    expect(publisher.owned.deps.state.offset).toMatchObject({ high_water_mark: 0, snapshot: 'running' });
    publisher.vendor.rows = [order(), order({ order_no: 'A-2' })];
    expect(await publisher.poll()).toMatchObject({ complete: true });
    expect(publisher.topic('orders').map(({ op }) => op)).toEqual(['r', 'r']);
    expect(publisher.owned.deps.state.offset.snapshot).toBe('complete');
  });
});
