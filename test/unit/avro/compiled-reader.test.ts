import { type Schema, Type } from 'avsc';
import { compileReader } from '../../../src/avro/codec/compiled-reader';
import { WIRE_HEADER_BYTES } from '../../../src/avro/codec/wire';
import { forSchema } from '../../../src/avro/codec/wire-type';
import { feedSchemas, readSchema } from '../../../src/avro/schemas';
import { feedDefinitions } from '../../../src/feeds';

const own = [
  ...feedDefinitions.flatMap((feed) => {
    const { record, envelope, transitions } = feedSchemas(feed);
    return [record, envelope, ...transitions.values()];
  }),
  ...['source-offset.avsc', 'dead-letter.avsc', 'command.avsc'].map(readSchema),
];

function typeOf(schema: unknown): Type {
  return Type.forSchema(schema as Schema, { registry: {} });
}

function wire(type: Type, value: unknown): Buffer {
  return Buffer.concat([Buffer.alloc(WIRE_HEADER_BYTES), type.toBuffer(value)]);
}

function byAvsc(type: Type, value: Buffer): unknown {
  return type.fromBuffer(value.subarray(WIRE_HEADER_BYTES));
}

it.each(own.map((schema) => [schema.name, schema]))(
  '%s: random values are what avsc makes of them',
  (_, schema) => {
    const type = typeOf(schema);
    const read = compileReader(type);
    for (let i = 0; i < 100; i++) {
      const value = wire(type, type.random());
      expect(read(value)).toStrictEqual(byAvsc(type, value));
    }
  },
);

const sample = typeOf({
  type: 'record',
  name: 'Sample',
  fields: [
    { name: 'text', type: ['null', 'string'], default: null },
    { name: 'number', type: 'long' },
    { name: 'fraction', type: ['null', 'double', 'string'] },
    { name: 'small', type: 'float' },
    { name: 'flag', type: 'boolean' },
    { name: 'list', type: { type: 'array', items: 'string' } },
    { name: 'members', type: { type: 'map', values: ['null', 'int'] } },
    { name: 'next', type: ['null', 'Sample'], default: null },
  ],
});
const readSample = compileReader(sample);

function sampleOf(fields: Record<string, unknown>): Buffer {
  const given = {
    text: null,
    number: 0,
    fraction: null,
    small: 0.5,
    flag: true,
    list: [],
    members: {},
    next: null,
  };
  return wire(sample, { ...given, ...fields });
}

it('texts of any length and script are what they were', () => {
  const texts = [
    '',
    'a',
    'NASDAQ',
    'exactly twelve'.slice(0, 12),
    'thirteen long',
    'é',
    'Zürich',
    'Ünïcødé Inc.',
    '東京',
    '😀',
    '\0',
  ];
  for (const text of [...texts, 'x'.repeat(70_000)]) {
    const value = sampleOf({
      text,
      list: [text, text],
      next: { ...(byAvsc(sample, sampleOf({ text })) as object) },
    });
    expect(readSample(value)).toStrictEqual(byAvsc(sample, value));
  }
});

it('whole numbers up to 51 bits, and their fractions, are what they were', () => {
  for (let power = 0; power <= 51; power++) {
    for (const number of [2 ** power, 2 ** power - 1, -(2 ** power), -(2 ** power) - 1]) {
      const value = sampleOf({ number, fraction: number / 3 });
      expect(readSample(value)).toStrictEqual(byAvsc(sample, value));
    }
  }
});

it('a value that is cut off anywhere, or goes on, is refused', () => {
  const whole = sampleOf({
    text: 'NASDAQ',
    number: 2 ** 40,
    list: ['a', 'b'],
    members: { one: 1, two: null },
  });
  for (let length = WIRE_HEADER_BYTES; length < whole.length; length++) {
    expect(() => readSample(whole.subarray(0, length))).toThrow(`of ${length}, `);
  }
  expect(() => readSample(Buffer.concat([whole, Buffer.from([0])]))).toThrow('has ended already');
});

it('a branch that the schema does not have is refused', () => {
  const noBranch = sampleOf({});
  noBranch[WIRE_HEADER_BYTES] = 8;
  expect(() => readSample(noBranch)).toThrow('at byte 5 of 16, the index of a union is 4, not 0 to 1');
});

it('blocks that tell their size are read', () => {
  const blocks = Buffer.concat([Buffer.alloc(WIRE_HEADER_BYTES), Buffer.from([3, 4, 2, 4, 2, 6, 0])]);
  expect(compileReader(typeOf({ type: 'array', items: 'int' }))(blocks)).toEqual([1, 2, 3]);
});

it.each([
  [{ type: 'enum', name: 'E', symbols: ['A', 'B'] }],
  ['bytes'],
  [{ type: 'fixed', name: 'F', size: 2 }],
  [['int', 'long']],
  [['null', { type: 'record', name: 'A', fields: [] }, { type: 'record', name: 'B', fields: [] }]],
  [{ type: 'array', items: 'null' }],
  [{ type: 'record', name: 'Empty', fields: [] }],
  [{ type: 'array', items: { type: 'record', name: 'Nulls', fields: [{ name: 'none', type: 'null' }] } }],
  [
    {
      type: 'array',
      items: Array.from({ length: 70 }, (_, i) => ({ type: 'fixed', name: `F${i}`, size: 1 })),
    },
  ],
])('values of %j are what avsc makes of them', (schema) => {
  const type = forSchema(schema as never);
  const read = compileReader(type);
  for (let i = 0; i < 20; i++) {
    const value = wire(type, type.random());
    expect(read(value)).toStrictEqual(byAvsc(type, value));
  }
});
