import { readFileSync } from 'node:fs';
import { recordShape } from '../../../src/avro/record-shape';
import type { RecordSchema } from '../../../src/avro/schemas';
import type { FeedDefinition } from '../../../src/feeds/definition';
import type { Feed } from '../../../src/feeds/feed';
import { createRowOf } from '../../../src/pipeline/records/row-of';
import { createPlan } from '../../../src/transcoder/plan';
import { testFeed } from '../../support/feeds';
import { type TestPipeline, testPipeline } from '../../support/pipeline';
import { schemaFiles } from '../../support/schema-versions';
import { type ScriptedPublisher, scriptedPublisher } from '../../support/scripted-publisher';

const files = schemaFiles();
afterAll(() => files.remove());
const optional = (name: string, type: unknown) => ({ name, type: ['null', type] as never, default: null });

/** Prices of days: two members name a record, and its times lie within an object. */
const schemaOf = (time: string): RecordSchema => ({
  type: 'record',
  name: 'Price',
  namespace: 'marketdata.prices',
  fields: [
    optional('symbol', 'string'),
    { name: 'no', type: 'long' },
    optional('close', 'double'),
    optional('meta', {
      type: 'record',
      name: 'Meta',
      fields: [
        optional('day', 'string'),
        { ...optional('changed_at', time), vendorName: 'at' },
        optional('by', 'string'),
      ],
    }),
    { name: 'extra', type: { type: 'map', values: 'string' } },
  ],
});

function feedOf(own: Partial<FeedDefinition> = {}): Feed {
  const updatedFormat = own.updatedFormat ?? 'seconds';
  return testFeed('analysts', {
    name: 'prices',
    path: '/prices',
    responseKey: 'prices',
    topic: 'prices',
    schema: files.add(schemaOf(updatedFormat === 'iso8601' ? 'string' : 'long')),
    idField: ['symbol', 'meta.day'],
    updatedField: 'meta.at',
    updatedFormat,
    display: {},
    ...own,
  });
}

type Row = Record<string, unknown>;
const price = (symbol: unknown, meta: unknown, own: Row = {}): Row => ({
  symbol,
  no: 1,
  close: 2.5,
  meta,
  ...own,
});
const at = 1_769_851_800;
const meta = { day: '2026-01-31', at, by: 'x' };

describe('a record that several members name', () => {
  let pipeline: TestPipeline;
  beforeAll(async () => {
    pipeline = await testPipeline(feedOf());
  });
  const decode = (row: Row) => pipeline.decode([row]);

  it.each([
    [price('AAPL', meta), 'AAPL|2026-01-31'],
    [price('A|B', meta), 'A\\|B|2026-01-31'],
    [price('A\\', meta), 'A\\\\|2026-01-31'],
    [price('A', { ...meta, day: 7 }), 'A|7'],
  ])('%j has the key %s, and its image has it too', (row, id) => {
    const { records, rejected } = decode(row);
    expect(rejected).toEqual([]);
    expect(records).toMatchObject([{ id, updated: at, values: { meta: { changed_at: at } } }]);
    const { image } = pipeline.codec;
    expect(image.decode(image.encode(records[0]!))).toMatchObject({ id, updated: at });
    const again = decode(createRowOf(recordShape(schemaOf('long')))(records[0]!.values)).records[0]!;
    expect(image.encode(again).equals(image.encode(records[0]!))).toBe(true);
  });

  it.each([
    [price(null, meta), 'symbol (null, expected text or a whole number)'],
    [price('A', { at }), 'meta.day (missing)'],
    [
      price('', null),
      'symbol ("", expected text or a whole number) and no usable meta.day (missing) and no usable meta.at (missing)',
    ],
    [price('A', { ...meta, at: 'soon' }), 'meta.at ("soon", expected Unix seconds)'],
  ])('%j is no record', (row, lacking) => {
    expect(decode(row)).toMatchObject({
      records: [],
      rejected: [{ reason: `the record has no usable ${lacking}` }],
    });
  });

  it.each([
    ['where the schema has no field', { symbol: 'A', no: 1, 'meta.day': 'x', 'meta.at': at }],
    ['in an object that is a list', price('A', meta, { 'meta.day': 'other' })],
  ])('a key that stands %s is a dead letter, and no other record', (_, row) => {
    expect(decode(row)).toMatchObject({ records: [], rejected: [{ reason: expect.any(String) as string }] });
  });

  it('loses no member beside its keys', () => {
    const { records } = decode(price('A', { ...meta, new: 1 }, { 'sub.note': 'n', other: [1] }));
    expect(records[0]!.values.extra).toEqual({ 'meta.new': '1', other: '[1]', 'sub.note': '"n"' });
    const few = decode({ symbol: 'A', meta, other: 1, no: 1 }).records[0]!;
    expect(few.values.extra).toEqual({ other: '1' });
  });
});

it.each([
  ['seconds', at, at],
  ['seconds', String(at), at],
  ['milliseconds', at * 1000 + 250, at + 0.25],
  ['iso8601', '2026-01-31T09:30:00.250Z', at + 0.25],
] as const)('a time in %s within an object: %s', async (updatedFormat, raw, updated) => {
  const { decode, codec } = await testPipeline(feedOf({ updatedFormat }));
  const { records } = decode([price('A', { ...meta, at: raw })]);
  expect(records).toMatchObject([{ updated, values: { extra: {} } }]);
  expect(codec.image.decode(codec.image.encode(records[0]!)).updated).toBe(updated);
});

it('a nested id that the record cannot hold as it is, is a dead letter', async () => {
  const { decode } = await testPipeline(feedOf({ idField: 'no' }));
  expect(decode([price('A', meta, { no: '007' }), price('A', meta, { no: '7' })])).toMatchObject({
    records: [{ id: '7' }],
    rejected: [
      { reason: 'the row cannot be decoded: the id "007" is not a whole number of the schema\'s long' },
    ],
  });
  const several = await testPipeline(feedOf({ idField: ['symbol', 'no'] }));
  expect(several.decode([price('A', meta, { no: '007' }), price('A', meta, { no: '7' })])).toMatchObject({
    records: [{ id: 'A|7' }],
    rejected: [
      { reason: 'the row cannot be decoded: the id "A|007" cannot be told from the fields of its record' },
    ],
  });
});

it('rows with other keys, or beside whose array something counts, are parsed as JSON', () => {
  const usual = testFeed('analysts');
  const schema = JSON.parse(readFileSync('schemas/analyst.avsc', 'utf8')) as RecordSchema;
  const plan = (own: Partial<FeedDefinition>) => createPlan({ ...usual, ...own }, schema, 0);
  expect(plan({})).not.toBeNull();
  expect(plan({ paging: { style: 'page', first: 1 } })).not.toBeNull();
  expect(plan({ updatedSinceFormat: 'date', windowSeconds: 60, beginAt: 1 })).not.toBeNull();
  expect(plan({ idField: ['id', 'firm_id'] })).toBeNull();
  expect(plan({ updatedField: 'meta.at' })).toBeNull();
  expect(plan({ paging: { style: 'page', hasMore: 'more' } })).toBeNull();
  expect(plan({ paging: { style: 'offset', total: 'total' } })).toBeNull();
});

describe('a feed whose keys are paths', () => {
  let publisher: ScriptedPublisher;
  beforeEach(async () => {
    publisher = await scriptedPublisher(feedOf(), undefined, false);
  });

  it('publishes under the joined key, and nothing when only the time moves', async () => {
    const poll = async (...rows: Row[]) => {
      publisher.vendor.rows = rows;
      await publisher.poll({ wide: true });
    };
    await poll(price('A', meta), price('B', meta));
    await poll(price('A', { ...meta, at: at + 1 }), price('B', meta));
    await poll(
      price('A', { ...meta, at: at + 2, by: 'y' }),
      price('B', { ...meta, at: at + 2 }, { close: 3 }),
    );
    expect(publisher.topic('prices').map(({ op, changed_fields }) => [op, ...changed_fields])).toEqual([
      ['r'],
      ['r'],
      ['u', 'meta.by'],
      ['u', 'close'],
    ]);
    const keys = publisher.records().flatMap(({ topic, key }) => (topic === 'prices' ? [String(key)] : []));
    expect(keys).toEqual(['A|2026-01-31', 'B|2026-01-31', 'A|2026-01-31', 'B|2026-01-31']);
    expect(publisher.owned.deps.state.offset.high_water_mark).toBe(at + 2);
  });
});

it.each(['long', 'int'])('the usual names of keys may be those of an id that is of type %s', async (type) => {
  const fields = [
    { name: 'id', type },
    { name: 'updated', type: 'long' },
    optional('close', 'double'),
    { name: 'extra', type: { type: 'map', values: 'string' } },
  ];
  const schema = { ...schemaOf('long'), fields } as RecordSchema;
  const names = { idField: 'id', updatedField: 'updated', updatedFormat: 'seconds' } as const;
  const pipeline = await testPipeline(feedOf({ ...names, schema: files.add(schema) }));
  const row = { id: 7, updated: at, close: 2.5 };
  const [{ change } = { change: null }] = pipeline.page(pipeline.read([row]));
  expect(change).toMatchObject({ op: 'c', id: '7' });
  const image = pipeline.codec.image.encode(pipeline.decode([row]).records[0]!);
  expect(pipeline.codec.image.decode(image)).toMatchObject({ id: '7', updated: at, values: { id: 7 } });
  await pipeline.restart();
  expect(pipeline.page(pipeline.read([row]))).toEqual([]);
});
