import fc from 'fast-check';
import { wireType } from '../../../src/avro/codec/wire-type';
import { runs } from '../../support/runs';

const own = {
  type: 'record',
  name: 'R',
  fields: [
    { name: 'extra', type: { type: 'map', values: 'string' } },
    { name: 'more', type: ['null', 'string'], default: null },
  ],
};
const older = { ...own, fields: own.fields.slice(0, 1) };

it('a map keeps an entry of any name, whichever schema it was written by', () => {
  const extra = JSON.parse('{"__proto__":"a","constructor":"b","":"c"}') as Record<string, string>;
  const reader = wireType<{ extra: object }>(own as never, 1);
  reader.addWriter(2, older as never);
  const values = [
    reader.decode(reader.encode({ extra })),
    reader.decode(wireType<object>(older as never, 2).encode({ extra })),
  ];
  for (const value of values) expect(Object.entries(value.extra)).toEqual(Object.entries(extra));
});

describe('longs of 64 bits', () => {
  const orLong = ['null', 'long'];
  const wide = {
    type: 'record',
    name: 'W',
    fields: [
      { name: 'a', type: 'long' },
      { name: 'b', type: orLong },
      { name: 'c', type: { type: 'array', items: 'long' } },
      { name: 'd', type: { type: 'map', values: orLong } },
      { name: 'e', type: ['null', { type: 'enum', name: 'E', symbols: ['X'] }] },
    ],
  };
  type Wide = Readonly<Record<string, unknown>>;
  const asNumber = (long: bigint) => (Number.isSafeInteger(Number(long)) ? Number(long) : long);
  const long = fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc
      .tuple(fc.integer({ min: 0, max: 62 }), fc.bigInt({ min: -3n, max: 3n }), fc.boolean())
      .map(([bits, more, isNegative]) => (2n ** BigInt(bits) + more) * (isNegative ? -1n : 1n)),
    fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n),
  );

  it('are read as they were written, also by a later schema (property)', () => {
    const type = wireType<Wide>(wide as never, 1);
    const more = { ...wide, fields: [...wide.fields, { name: 'z', type: orLong, default: null }] };
    const later = wireType<Wide>(more as never, 2);
    later.addWriter(1, wide as never);
    fc.assert(
      fc.property(long.map(asNumber), long.map(asNumber), (a, b) => {
        const value = { a, b, c: [a, b], d: { a, b: null }, e: 'X' };
        const bytes = type.encode(value);
        expect({ ...type.decode(bytes) }).toEqual(value);
        expect({ ...later.decode(bytes) }).toEqual({ ...value, z: null });
        expect({ ...later.decodeAsWritten(bytes) }).toEqual(value);
      }),
      { numRuns: runs(200) },
    );
  });

  it('are written as avsc writes the smaller ones, and the larger ones by the same rule', () => {
    const type = wireType<{ a: number | bigint }>(
      { type: 'record', name: 'L', fields: [{ name: 'a', type: 'long' }] } as never,
      1,
    );
    const hex = (a: number | bigint) => type.encode({ a }).subarray(5).toString('hex');
    expect([5, 5n, -1n].map(hex)).toEqual(['0a', '0a', '01']);
    expect(hex(2n ** 63n - 1n)).toBe('feffffffffffffffff01');
    expect(hex(-(2n ** 63n))).toBe('ffffffffffffffffff01');
  });

  it.each([2n ** 63n, -(2n ** 63n) - 1n, 2 ** 53, 0.5, '5', null])('refuse %p', (a) => {
    const type = wireType<object>(
      { type: 'record', name: 'L', fields: [{ name: 'a', type: 'long' }] } as never,
      1,
    );
    expect(() => type.encode({ a })).toThrow('invalid "long"');
  });

  it('are read as a double by a later schema that has one', () => {
    const of = (name: string) => ({ type: 'record', name: 'D', fields: [{ name: 'a', type: name }] });
    const type = wireType<{ a: unknown }>(of('double') as never, 1);
    type.addWriter(2, of('long') as never);
    expect(type.decode(wireType<object>(of('long') as never, 2).encode({ a: 2n ** 62n })).a).toBe(2 ** 62);
    const wider = wireType<{ a: unknown }>(of('long') as never, 3);
    wider.addWriter(4, of('int') as never);
    expect(wider.decode(wireType<object>(of('int') as never, 4).encode({ a: -7 })).a).toBe(-7);
  });
});
