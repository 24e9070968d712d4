import fc from 'fast-check';
import type { RecordSchema } from '../../../src/avro/schemas';
import { columnsOf, mergedColumns } from '../../../src/cli/export/columns';
import { type Format, rowWriter } from '../../../src/cli/export/formats';
import { recordJson } from '../../../src/json/json-text';
import { modelRuns } from '../../support/model-runs';
import { parquetFile } from '../../support/parquet-file';

const field = (name: string, type: unknown, more = {}) => ({ name, type: ['null', type] as never, ...more });
const item = { type: 'record', name: 'Item', fields: [field('sku', 'string'), field('qty', 'long')] };

/** Everything that a record of a feed may hold. */
const schema: RecordSchema = {
  type: 'record',
  name: 'Everything',
  namespace: 'test',
  fields: [
    { name: 'id', type: 'string' },
    field('count', 'long'),
    field('small', 'int'),
    field('share', 'double'),
    field('rough', 'float'),
    field('isOpen', 'boolean'),
    field('state', { type: 'enum', name: 'State', symbols: ['open', 'paid'] }),
    field('former', 'State'),
    field('price', 'string', { decimalText: true }),
    field('at', { type: 'long', logicalType: 'timestamp-millis' }),
    field('exactly', { type: 'long', logicalType: 'timestamp-micros' }),
    field('day', { type: 'int', logicalType: 'date' }),
    field('main', item),
    field('other', 'test.Item'),
    field('items', { type: 'array', items: ['null', 'Item'] }),
    field('matrix', { type: 'array', items: { type: 'array', items: 'long' } }),
    { name: 'any', type: ['null', 'string', 'long'] },
    field('nothing', { type: 'record', name: 'Nothing', fields: [] }),
    { name: 'extra', type: { type: 'map', values: 'string' } },
  ],
};
const columns = columnsOf(schema);
const names = columns.map(({ name }) => name);

type Row = Readonly<Record<string, unknown>>;
const nulls: Row = { ...Object.fromEntries(names.map((name) => [name, null])), id: 'a', extra: {} };

async function write(format: Format, rows: readonly Row[], scale: number | null = null): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const output = {
    write: async (chunk: string | Uint8Array) => void chunks.push(Buffer.from(chunk as Uint8Array)),
    finish: async () => undefined,
    discard: async () => undefined,
  };
  const writer = await rowWriter(format, columns, output, scale);
  for (const row of rows)
    await writer.add(
      names.map((name) => row[name]),
      100,
    );
  await writer.end();
  return Buffer.concat(chunks);
}

it('several versions of a schema have the columns of the first, then those that others add, within structs too', () => {
  const version = (...fields: ReturnType<typeof field>[]) =>
    columnsOf({ type: 'record', name: 'Order', fields });
  const first = version(field('no', 'string'), field('item', item));
  const other = version(
    field('desk', 'string'),
    field('item', { ...item, fields: [field('sku', 'string'), field('price', 'double')] }),
    field('no', 'long'),
  );
  const merged = mergedColumns([first, other]);
  expect(merged.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    'no string',
    'item struct',
    'desk string',
  ]);
  expect(merged[1]!.children.map(({ name }) => name)).toEqual(['sku', 'qty', 'price']);
  expect(mergedColumns([first, first])).toEqual(first);
});

const full: Row = {
  id: 'ü "x", \r\n y',
  count: 2n ** 63n - 1n,
  small: -7,
  share: 0.1,
  rough: 1.5,
  isOpen: false,
  state: 'paid',
  former: 'open',
  price: '160.0000',
  at: 1_790_000_000_123,
  exactly: -1,
  day: -1,
  main: { sku: 's,1', qty: 3 },
  other: { sku: null, qty: 2n ** 60n },
  items: [{ sku: 'a', qty: 1 }, null, { sku: '', qty: null }],
  matrix: [[1, 2], [], [3]],
  any: 5,
  nothing: {},
  extra: { 'a.b': '"x"' },
};

it('writes every type to Parquet as another reader understands it', async () => {
  const { rows, schema: written } = await parquetFile(await write('parquet', [full, nulls], 4));
  expect(rows).toEqual([
    {
      ...full,
      count: 2n ** 63n - 1n,
      price: 160,
      at: new Date(1_790_000_000_123),
      exactly: expect.any(Date),
      day: new Date('1969-12-31'),
      main: { sku: 's,1', qty: 3n },
      other: { sku: null, qty: 2n ** 60n },
      items: [{ sku: 'a', qty: 1n }, null, { sku: '', qty: null }],
      matrix: [[1n, 2n], [], [3n]],
      any: '5',
      nothing: '{}',
      extra: '{"a.b":"\\"x\\""}',
    },
    { ...nulls, extra: '{}' },
  ]);
  const typeOf = (name: string) => written.find((one) => one.name === name);
  expect(typeOf('price')).toMatchObject({ converted_type: 'DECIMAL', precision: 38, scale: 4 });
  expect(typeOf('at')).toMatchObject({
    logical_type: { type: 'TIMESTAMP', unit: 'MILLIS', isAdjustedToUTC: true },
  });
  expect(typeOf('exactly')).toMatchObject({ logical_type: { unit: 'MICROS' } });
  expect(typeOf('day')).toMatchObject({ type: 'INT32', converted_type: 'DATE' });
});

it('writes times as ISO texts and all digits of numbers to NDJSON', async () => {
  const [line = '', second] = (await write('ndjson', [full, nulls])).toString().split('\n');
  expect(line).toContain('"count":9223372036854775807');
  expect(JSON.parse(line)).toMatchObject({
    price: '160.0000',
    at: '2026-09-21T14:13:20.123Z',
    exactly: '1969-12-31T23:59:59.999999Z',
    day: '1969-12-31',
    main: { sku: 's,1', qty: 3 },
    items: [{ sku: 'a', qty: 1 }, null, { sku: '', qty: null }],
    extra: { 'a.b': '"x"' },
  });
  expect(JSON.parse(second!)).toEqual(nulls);
});

it('writes a column for each field to CSV, and tells an empty text from null', async () => {
  const [head, first, second] = parsedCsv((await write('csv', [full, nulls])).toString());
  expect(head).toEqual(
    names.flatMap((name) => (['main', 'other'].includes(name) ? [`${name}.sku`, `${name}.qty`] : [name])),
  );
  const cell = (name: string) => first![head!.indexOf(name)];
  expect(cell('id')).toBe('ü "x", \r\n y');
  expect(cell('count')).toBe('9223372036854775807');
  expect([cell('main.sku'), cell('other.sku'), cell('other.qty')]).toEqual([
    's,1',
    null,
    '1152921504606846976',
  ]);
  expect(JSON.parse(cell('items')!)).toEqual([{ sku: 'a', qty: 1 }, null, { sku: '', qty: null }]);
  expect(second).toEqual(head!.map((name) => (name === 'id' ? 'a' : name === 'extra' ? '{}' : null)));
  const empty = parsedCsv((await write('csv', [{ ...nulls, price: '' }])).toString())[1]!;
  expect(empty[head!.indexOf('price')]).toBe('');
});

it.each([
  ['12.34567', 'does not fit DECIMAL(38,4)'],
  ['about 12', 'is not a number'],
  ['NaN', 'is not a number'],
  ['1e40', 'does not fit DECIMAL(38,4)'],
])('a price of %s is refused by name if prices are to be DECIMAL', async (price, why) => {
  const refused = write('parquet', [{ ...nulls, price }], 4);
  await expect(refused).rejects.toMatchObject({
    code: 'EXPORT_VALUE',
    message: `price ${JSON.stringify(price)} ${why}`,
  });
});

it.each([
  ['-0.5000', -0.5],
  ['1.5e3', 1500],
  ['', null],
])('a price of "%s" is %s as DECIMAL', async (price, value) => {
  const { rows } = await parquetFile(await write('parquet', [{ ...nulls, price }], 4));
  expect(rows[0]!.price).toEqual(value === null ? null : expect.closeTo(value));
});

it('a Parquet file without rows has its columns', async () => {
  const { rows, schema: written } = await parquetFile(await write('parquet', []));
  expect([rows, written[0]]).toEqual([[], expect.objectContaining({ num_children: names.length })]);
});

it('writes row groups of bounded size, each with its rows in order (property)', async () => {
  const row = fc.record({
    id: fc.string({ unit: 'binary', maxLength: 8 }),
    count: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    share: fc.option(fc.double({ noNaN: true })),
    isOpen: fc.option(fc.boolean()),
    main: fc.option(fc.record({ sku: fc.option(fc.string()), qty: fc.option(fc.integer()) })),
    items: fc.option(
      fc.array(fc.option(fc.record({ sku: fc.option(fc.string()), qty: fc.option(fc.integer()) }))),
    ),
    matrix: fc.option(fc.array(fc.array(fc.integer()))),
    extra: fc.dictionary(fc.string(), fc.string()),
  });
  const runs = modelRuns<[Row[]]>(30, 5);
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (some) => {
      const rows = some.map((one) => ({ ...nulls, ...one }) as Row);
      const found = await parquetFile(await write('parquet', rows));
      expect(found.rows).toEqual(rows.map((one) => inParquet(one)));
      const lines = (await write('ndjson', rows)).toString().split('\n').slice(0, -1);
      expect(lines).toEqual(rows.map((one) => recordJson(one)));
      const head = parsedCsv((await write('csv', rows)).toString());
      expect(head.slice(1).map(([id]) => id)).toEqual(rows.map(({ id }) => id));
    }),
    runs,
  );
});

it('ends a row group by rows', async () => {
  const rows = Array.from({ length: 10_001 }, (_, i) => ({ ...nulls, id: String(i) }));
  const found = await parquetFile(await write('parquet', rows));
  expect(found.groups).toEqual([10_000, 1]);
  expect(found.rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
});

/** A row as the reader returns it: whole numbers are bigints, and maps are texts. */
function inParquet(row: Row): Row {
  const long = (value: unknown) => (value === null ? null : BigInt(value as number));
  const struct = (one: unknown) => (one === null ? null : { ...(one as Row), qty: long((one as Row).qty) });
  const { count, main, items, matrix, extra } = row;
  return {
    ...row,
    count: long(count),
    main: struct(main),
    items: (items as unknown[] | null)?.map(struct) ?? null,
    matrix: (matrix as unknown[][] | null)?.map((one) => one.map(long)) ?? null,
    extra: recordJson(extra),
  };
}

/** RFC 4180; null for an empty cell without quotes. */
function parsedCsv(text: string): (string | null)[][] {
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/gy;
  const lines: (string | null)[][] = [];
  let line: (string | null)[] = [];
  for (const [, raw = '', end] of text.matchAll(cell)) {
    line.push(raw === '' ? null : raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end === ',') continue;
    lines.push(line);
    line = [];
  }
  return lines;
}
