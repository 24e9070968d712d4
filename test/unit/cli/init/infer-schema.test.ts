import { Type } from 'avsc';
import { inferSchema } from '../../../../src/cli/init/infer-schema';
import { parseJson } from '../../../../src/json/parse-json';

const keys = { idField: 'order_no', updatedField: 'at', updatedFormat: 'iso8601' } as const;

function fieldsOf(rows: readonly Record<string, unknown>[]) {
  const inferred = inferSchema('shop_orders', rows, keys);
  Type.forSchema(inferred.schema as unknown as Parameters<typeof Type.forSchema>[0]); // it is valid Avro
  const fields = Object.fromEntries(inferred.schema.fields.map((field) => [field.name, field]));
  return { ...inferred, fields };
}

const base = { order_no: 1, at: '2026-01-02T03:04:05Z' };

it('makes id and time required fields of the kind that their values have', () => {
  const { fields, schema } = fieldsOf([base]);
  expect(fields.order_no).toMatchObject({ type: 'long' });
  expect(fields.at).toMatchObject({ type: 'string' });
  expect(fields.at).not.toHaveProperty('default');
  expect([schema.name, schema.namespace]).toEqual(['ShopOrders', 'shop_orders']);
});

it('takes the type that holds every digit of a number', () => {
  const row =
    '{"order_no":1,"at":"2026-01-02T03:04:05Z","parent":653247040368672769,"big":9223372036854775808,"rate":0.10000000000000001,"price":12345678.123456789012}';
  const { fields } = fieldsOf([parseJson(row) as Record<string, unknown>]);
  const types = ['parent', 'big', 'rate', 'price'].map(
    (name) => (fields[name]!.type as unknown as string[])[1],
  );
  expect(types).toEqual(['long', 'double', 'double', 'string']);
});

it('takes whole numbers for fractions where the name says so, since a field cannot become one later', () => {
  const { fields } = fieldsOf([
    { ...base, price: 10, unitPrice: 3, tax_rate: 20, qty: 2, rated: 1, generate: 5 },
  ]);
  const typeOf = (name: string) => (fields[name]!.type as unknown as string[])[1];
  expect(['price', 'unitPrice', 'tax_rate'].map(typeOf)).toEqual(['double', 'double', 'double']);
  expect(['qty', 'rated', 'generate'].map(typeOf)).toEqual(['long', 'long', 'long']);
});

it('joins the kinds of all rows without a loss', () => {
  const { fields, leftOut } = fieldsOf([
    { ...base, total: 1, code: 7, note: null, tags: [], gift: true, odd: true },
    { ...base, total: 1.5, code: 'x', tags: ['a'], odd: 'x' },
  ]);
  expect(fields.total?.type).toEqual(['null', 'double']);
  expect(fields.code?.type).toEqual(['null', 'string']);
  expect(fields.gift?.type).toEqual(['null', 'boolean']);
  expect(fields.tags?.type).toEqual(['null', { type: 'array', items: 'string' }]);
  expect(leftOut).toEqual(['note: no value to tell its type by', 'odd: values of different types']);
});

it('names nested records apart, and keeps names that Avro cannot hold', () => {
  const { fields } = fieldsOf([{ ...base, 'ship-to': { '1st': { x: 1 } }, lines: [{ sku: 'a', qty: 2 }] }]);
  expect(fields.ship_to).toMatchObject({
    vendorName: 'ship-to',
    type: ['null', { name: 'ShopOrdersShipTo', fields: [{ name: '_1st', vendorName: '1st' }] }],
  });
  expect(fields.lines).toMatchObject({
    type: [
      'null',
      { type: 'array', items: { name: 'ShopOrdersLines', fields: [{ name: 'sku' }, { name: 'qty' }] } },
    ],
  });
});

it('names no record as a part of a change event is named', () => {
  expect(inferSchema('source', [base], keys).schema.name).toBe('Source2');
});

it('leaves the name extra to what the schema does not hold', () => {
  const { fields } = fieldsOf([{ ...base, extra: 'x', __proto__: 1 }]);
  expect(fields.extra).toMatchObject({ type: { type: 'map', values: 'string' } });
  expect(fields.extra2).toMatchObject({ vendorName: 'extra', type: ['null', 'string'] });
});

it.each([
  [{ updatedField: 'fields.at', updatedFormat: 'seconds' } as const, 1_769_851_800.5, ['null', 'long']],
  [{ updatedField: 'fields.at', updatedFormat: 'iso8601' } as const, '2026-01-02', ['null', 'string']],
])('keys within another member are fields of the kind that a feed needs there: %j', (time, at, type) => {
  const row = { fields: { at, no: 7, paid: 1 }, total: 1 };
  const { schema } = inferSchema('orders', [row], { idField: 'fields.no', ...time });
  const fields = (schema.fields[0]!.type as unknown as [null, { fields: object[] }])[1].fields;
  expect(fields).toEqual([
    expect.objectContaining({ name: 'at', type, doc: expect.stringContaining('last updated') }),
    expect.objectContaining({ name: 'no', type: ['null', 'long'], doc: 'Names the record.' }),
    { name: 'paid', type: ['null', 'long'], default: null },
  ]);
});
