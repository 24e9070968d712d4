import vm from 'node:vm';
import fc from 'fast-check';
import { WIRE_HEADER_BYTES } from '../../../src/avro/codec/wire';
import { forSchema, type WireType, wireType } from '../../../src/avro/codec/wire-type';
import type { AvroSchema } from '../../../src/avro/registry/registry';
import { avroRecords, damaged, varint } from '../../support/avro-bytes';
import { namedRows } from '../../support/named-rows';
import { runs } from '../../support/runs';

const context = vm.createContext({ work: null });
const script = new vm.Script('work()');

/**
 * The result or error of a function. A function that does not end is ended, and fails: no timeout of jest reaches into a loop that
 * never awaits.
 */
function inTime<T>(work: () => T, deadlineMs = 10_000): T {
  context.work = work;
  return script.runInContext(context, { timeout: deadlineMs }) as T;
}

const [OWN, OTHER] = [7, 8] as const;

function wire(bytes: Buffer): Buffer {
  const header = Buffer.alloc(WIRE_HEADER_BYTES);
  header.writeUInt32BE(OWN, 1);
  return Buffer.concat([header, bytes]);
}

const REFUSED = Symbol('refused');

function decoded(type: WireType<unknown>, bytes: Buffer): unknown {
  try {
    return inTime(() => type.decode(wire(bytes)));
  } catch (error) {
    expect(error).toMatchObject({ code: 'VALUE_FOREIGN' });
    return REFUSED;
  }
}

interface Case {
  readonly schema: AvroSchema & { readonly fields: readonly unknown[] };
  readonly bytes: Buffer;
}

const values = avroRecords as fc.Arbitrary<Case>;
const damagedValues = values.chain(({ schema, bytes }) =>
  damaged(bytes).map((given): Case => ({ schema, bytes: given })),
);

/** Reads values of the schema with a schema that has only some of its fields. */
function narrowReader(schema: Case['schema'], kept: number) {
  const fields = schema.fields.filter((_, i) => (kept & (1 << i)) !== 0);
  const narrow = { ...(schema as object), fields } as AvroSchema;
  const type = wireType<unknown>(narrow, OTHER);
  type.addWriter(OWN, schema);
  return { type, narrow: forSchema(narrow) };
}

it('a value of any schema is what avsc makes of it (property)', () => {
  fc.assert(
    fc.property(values, fc.nat(31), ({ schema, bytes }, kept) => {
      const expected = forSchema(schema).fromBuffer(bytes);
      expect(wireType<unknown>(schema, OWN).decode(wire(bytes))).toEqual(expected);
      const { type, narrow } = narrowReader(schema, kept);
      const resolver = narrow.createResolver(forSchema(schema));
      expect(type.decode(wire(bytes))).toEqual(narrow.fromBuffer(bytes, resolver));
      expect(type.decodeAsWritten(wire(bytes))).toEqual(expected);
    }),
    { numRuns: runs(30) },
  );
});

it('damaged bytes are soon a value that can be written again, or refused by name (property)', () => {
  fc.assert(
    fc.property(damagedValues, ({ schema, bytes }) => {
      const type = wireType<unknown>(schema, OWN);
      const value = decoded(type, bytes);
      if (value !== REFUSED) expect(type.decode(type.encode(value))).toEqual(value);
    }),
    { numRuns: runs(80) },
  );
});

it('damaged bytes are soon read or refused by a reader that leaves fields out (property)', () => {
  fc.assert(
    fc.property(damagedValues, fc.nat(31), ({ schema, bytes }, kept) => {
      const { type } = narrowReader(schema, kept);
      const value = decoded(type, bytes);
      if (value !== REFUSED) expect(type.decode(type.encode(value))).toEqual(value);
    }),
    { numRuns: runs(80) },
  );
});

const millions = 40_000_000;
const item = { type: 'record', name: 'Item', fields: [{ name: 'none', type: 'null' }] };
const list = { type: 'record', name: 'List', fields: [{ name: 'next', type: ['null', 'List'] }] };

const map = { type: 'map', values: 'string' };
const array = { type: 'array', items: 'string' };

it.each(
  namedRows<[AvroSchema, bytes: (number | Buffer)[], says: string]>({
    'a map of 40,000,000': [map, [varint(millions), 0], 'the map claims 40000000 items'],
    'an array of 40,000,000': [array, [varint(millions), 0], 'the array claims 40000000 items'],
    'a map of 2^40': [map, [varint(2 ** 40), 0], 'the map claims 1099511627776 items'],
    'an array of 2^40': [array, [varint(2 ** 40), 0], 'the array claims 1099511627776'],
    'a map of -2^40': [map, [varint(-(2 ** 40)), 0, 0], 'the map claims 1099511627776'],
    'an array of 2^63': [array, [varint(2n ** 62n), 0], 'the number of items is'],
    '40,000,000 nulls': [{ type: 'array', items: 'null' }, [varint(millions), 0], 'more than 65536 items'],
    '40,000,000 records of a null': [
      { type: 'array', items: item },
      [varint(millions), 0],
      'more than 65536 items',
    ],
    '2^40 fixed of no byte': [
      { type: 'array', items: { type: 'fixed', name: 'F', size: 0 } },
      [varint(2 ** 40), 0],
      'more than 65536 items',
    ],
    'a block that is larger than it says': [
      { type: 'array', items: 'int' },
      [varint(-1), varint(2), varint(1), 0],
      'a block of 1 bytes claims 2',
    ],
    'a block that leads back': [
      { type: 'array', items: 'int' },
      [varint(-1), varint(-4), varint(1), 0],
      'the size of a block is -4',
    ],
    'a text of 2^40 bytes': [
      'string',
      [varint(2 ** 40), 0],
      'a string of 1099511627776 bytes goes beyond the end',
    ],
    'a text of -1 byte': ['string', [varint(-1)], 'the length of a string is -1'],
    'bytes that are cut off': ['bytes', [varint(3), 1, 2], 'bytes of 3 bytes goes beyond the end'],
    'a number without an end': ['long', [Buffer.alloc(3_000, 0x80)], 'a long has no end'],
    'a number that is cut off': ['long', [0x80], 'a long is cut off'],
    'a number of 65 bits': ['long', [varint(2n ** 63n)], 'a long has more than 64 bits'],
    'more items than JavaScript can count': [
      { type: 'array', items: 'long' },
      [varint(2n ** 60n)],
      'items is 1152921504606847000',
    ],
    'an int of 33 bits': ['int', [varint(2 ** 32)], 'an int is 4294967296'],
    'a branch that is not there': [['null', 'string'], [varint(2)], 'the index of a union is 2'],
    'a symbol that is not there': [
      { type: 'enum', name: 'E', symbols: ['A'] },
      [varint(-1)],
      'the index of an enum is -1',
    ],
    'a record of 100,000 levels': [list, [Buffer.alloc(100_000, 2), 0], 'more than 500 deep'],
    'a value with a byte after it': ['boolean', [1, 0], 'at byte 6 of 7, the value has ended already'],
  }),
)('%s is refused at once', (_, schema, parts, says) => {
  const bytes = wire(
    Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part))),
  );
  expect(() => inTime(() => wireType<unknown>(schema, OWN).decode(bytes))).toThrow(says);
});

interface Linked {
  readonly next: Linked | null;
}

it('a record of 500 levels is read, also by a reader that resolves it', () => {
  const levels = Buffer.from([...new Array(499).fill(2), 0]);
  const wider = { ...list, fields: [...list.fields, { name: 'added', type: 'string', default: '' }] };
  const type = wireType<Linked>(wider, OTHER);
  type.addWriter(OWN, list);
  let depth = 0;
  for (let at: Linked | null = type.decode(wire(levels)); at !== null; at = at.next) depth++;
  expect(depth).toBe(500);
});

it('records that double with each level and take no byte are refused at once', () => {
  const levels = 60;
  let schema: AvroSchema = { type: 'record', name: 'L0', fields: [{ name: 'none', type: 'null' }] };
  for (let i = 1; i < levels; i++)
    schema = {
      type: 'record',
      name: `L${i}`,
      fields: [
        { name: 'a', type: schema },
        { name: 'b', type: `L${i - 1}` },
      ],
    };
  expect(() => inTime(() => wireType<unknown>(schema, OWN).decode(wire(Buffer.alloc(0))))).toThrow(
    'more than 65536',
  );
});
