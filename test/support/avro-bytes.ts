import fc from 'fast-check';
import { anyCharacter } from './any-character';

/**
 * A record schema with bytes of one of its values. avsc does not write them, so they include bytes that it reads but never writes.
 */
export interface AvroSample {
  readonly schema: unknown;
  readonly bytes: Buffer;
}

type Bytes = fc.Arbitrary<Buffer>;

interface Shape {
  /** @param around names of the records that it lies in, from the outermost on */
  schema(around: readonly string[]): unknown;
  /**
   * Bytes of its values.
   * @param around names of the enclosing records
   * @param levels number of further levels allowed
   */
  bytes(around: readonly ((levels: number) => Bytes)[], levels: number): Bytes;
}

const LEVELS = 4;
const join = (parts: readonly Buffer[]) => Buffer.concat(parts);
let names = 0;

/** A whole number of any size as Avro writes it. */
export function varint(value: number | bigint): Buffer {
  const signed = BigInt(value);
  const bytes: number[] = [];
  let rest = signed < 0n ? -2n * signed - 1n : 2n * signed;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

const octets = (most: number, least = most) =>
  fc.uint8Array({ minLength: least, maxLength: most }).map((all) => Buffer.from(all));
const text = fc
  .oneof(fc.string({ maxLength: 20 }), fc.string({ unit: anyCharacter, maxLength: 20 }))
  // As the key of a map avsc would set it as the prototype.
  .filter((value) => value !== '__proto__')
  .map((value) => join([varint(Buffer.byteLength(value)), Buffer.from(value)]));

const primitives: Readonly<Record<string, Bytes>> = {
  null: fc.constant(Buffer.alloc(0)),
  boolean: fc.boolean().map((flag) => Buffer.from([flag ? 1 : 0])),
  int: fc.integer().map(varint),
  long: fc.integer({ min: 2 - 2 ** 53, max: 2 ** 53 - 2 }).map(varint),
  float: octets(4),
  double: octets(8),
  string: text,
  bytes: octets(20, 0).map((all) => join([varint(all.length), all])),
};

/** Items in blocks, some of which tell their size. */
function blocks(item: Bytes, most: number): Bytes {
  const block = fc
    .tuple(fc.array(item, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([items, tellsSize]) => {
      const all = join(items);
      const before = tellsSize ? [varint(-items.length), varint(all.length)] : [varint(items.length)];
      return join([...before, all]);
    });
  return fc.array(block, { maxLength: most }).map((all) => join([...all, varint(0)]));
}

function branch(index: number, value: Bytes): Bytes {
  return value.map((bytes) => join([varint(index), bytes]));
}

const primitive = fc
  .constantFrom(...Object.keys(primitives))
  .map((name): Shape => ({ schema: () => name, bytes: () => primitives[name]! }));

const enumeration = fc.integer({ min: 1, max: 5 }).map((count): Shape => {
  const symbols = Array.from({ length: count }, (_, i) => `S${i}`);
  return {
    schema: () => ({ type: 'enum', name: `E${names++}`, symbols }),
    bytes: () => fc.nat(count - 1).map(varint),
  };
});

const fixed = fc.nat(5).map(
  (size): Shape => ({
    schema: () => ({ type: 'fixed', name: `F${names++}`, size }),
    bytes: () => octets(size),
  }),
);

/** Null, or one of the records that it lies in. */
const around = fc.nat(3).map(
  (up): Shape => ({
    schema: (records) => ['null', ...records.slice(up % records.length).slice(0, 1)],
    bytes(records, levels) {
      const none = branch(0, primitives.null!);
      return levels <= 0 ? none : fc.oneof(none, branch(1, records[up % records.length]!(levels - 1)));
    },
  }),
);

function arrayOf(items: Shape): Shape {
  return {
    schema: (records) => ({ type: 'array', items: items.schema(records) }),
    bytes: (records, levels) => blocks(items.bytes(records, levels - 1), levels <= 0 ? 0 : 2),
  };
}

function mapOf(values: Shape): Shape {
  return {
    schema: (records) => ({ type: 'map', values: values.schema(records) }),
    bytes: (records, levels) =>
      blocks(fc.tuple(text, values.bytes(records, levels - 1)).map(join), levels <= 0 ? 0 : 2),
  };
}

function unionOf(first: string, record: Shape): Shape {
  return {
    schema: (records) => [first, record.schema(records)],
    bytes(records, levels) {
      const one = branch(0, primitives[first]!);
      return levels <= 0 ? one : fc.oneof(one, branch(1, record.bytes(records, levels - 1)));
    },
  };
}

function recordOf(fields: readonly Shape[]): Shape {
  const name = `R${names++}`;
  return {
    schema: (records) => ({
      type: 'record',
      name,
      fields: fields.map((field, i) => ({ name: `f${i}`, type: field.schema([...records, name]) })),
    }),
    bytes(records, levels) {
      const self = (left: number): Bytes =>
        fc.tuple(...fields.map((field) => field.bytes([...records, self], left))).map(join);
      return self(levels);
    },
  };
}

const { record } = fc.letrec<{ any: Shape; record: Shape }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    primitive,
    enumeration,
    fixed,
    around,
    tie('any').map(arrayOf),
    tie('any').map(mapOf),
    fc
      .tuple(fc.constantFrom('null', 'string', 'long'), tie('record'))
      .map(([first, other]) => unionOf(first, other)),
    tie('record'),
  ),
  record: fc.array(tie('any'), { maxLength: 5 }).map(recordOf),
}));

/** Records of random schemas, some of which hold themselves, with bytes of random values. */
export const avroRecords: fc.Arbitrary<AvroSample> = record.chain((shape) =>
  shape.bytes([], LEVELS).map((bytes) => ({ schema: shape.schema([]), bytes })),
);

/** The bytes of a value after something has happened to them. */
export function damaged(bytes: Buffer): Bytes {
  const place = fc.nat(bytes.length);
  const odd = fc.oneof(
    octets(12, 0),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(varint),
    fc.constant(Buffer.alloc(200, 0x80)),
  );
  return fc.oneof(
    place.map((end) => bytes.subarray(0, end)),
    fc
      .tuple(place, odd, fc.nat(4))
      .map(([at, inserted, left]) => join([bytes.subarray(0, at), inserted, bytes.subarray(at + left)])),
    octets(40, 0),
  );
}
