import { envelopeOf, fullName } from '../../src/avro/schemas';
import { checkFeed } from '../../src/config/feeds/check-feed';
import { createDrift } from '../../src/pipeline/records/drift';
import { orderFeed, orderSchema } from '../support/orders';
import { schemaFiles } from '../support/schema-versions';
import { quietLogger } from '../support/source';

const files = schemaFiles();
afterAll(() => files.remove());

const problems = (fields: readonly object[], overrides: object = {}) => {
  const schema = files.add({ ...orderSchema, fields: [...orderSchema.fields, ...fields] as never });
  return checkFeed({ ...orderFeed(schema), ...overrides }).map(({ problem }) => problem);
};
const optional = (type: unknown) => ({ name: 'odd', type: ['null', type], default: null });
const part = (type: unknown) => ({ type: 'record', name: 'Part', fields: [{ name: 'x', type }] });

it('lists, maps and enums are no mistakes, and neither is a logical type', () => {
  expect(problems([optional({ type: 'long', logicalType: 'timestamp-millis' })])).toStrictEqual([]);
});

it.each([
  ['odd as bytes', { name: 'odd', type: ['null', 'bytes'] }],
  ['odd as fixed', optional({ type: 'fixed', name: 'Hash', size: 4 })],
  ['odd as a union of string and long', { name: 'odd', type: ['null', 'string', 'long'] }],
  ['odd as Item', optional('Item')],
  ['odd[].x as bytes', optional({ type: 'array', items: part(['null', 'bytes']) })],
  ['odd[].x as Part', optional({ type: 'map', values: part(['null', 'Part']) })],
])('%s is refused, with what is allowed', (what, field) => {
  const [problem, ...others] = problems([field]);
  expect(others).toStrictEqual([]);
  expect(problem).toContain(`has ${what}; a field may be string, long, int, double, float, boolean, an enum`);
});

it('a field within a list can be missing as well', () => {
  expect(problems([optional({ type: 'array', items: part('string') })])).toEqual([
    expect.stringContaining('no null among the types of odd[].x'),
  ]);
});

it('key fields are there, of the type that their values have', () => {
  const overrides = { idField: 'number', updatedFormat: 'milliseconds' };
  expect(problems([], overrides)).toEqual([
    expect.stringContaining('lacks number (string, long, int; not null), modified_at (long; not null)'),
  ]);
});

it('change events have the namespace of the settings, whatever that of the record is', () => {
  const schema = { ...orderSchema, namespace: 'com.example' };
  const named = (namespace?: string) => fullName(envelopeOf({ name: 'orders', namespace }, schema));
  expect(named()).toBe('marketdata.orders.Envelope');
  expect(named('shop.orders')).toBe('shop.orders.Envelope');
});

it('drift within a list is named once, without the places of its items', () => {
  const drift = createDrift({ name: 'orders', updatedField: 'modified_at' }, quietLogger());
  drift.note({ 'items[0].qty': '"two"', 'items[7].qty': '"x"', 'shops["a"].zip': '1' }, orderSchema);
  expect(drift.found().paths).toEqual([
    { path: 'items[].qty', expected: 'long', type: 'text', count: 2 },
    { path: 'shops[].zip', expected: null, type: 'number', count: 1 },
  ]);
});
