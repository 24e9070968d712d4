import fc from 'fast-check';
import { plainWriter } from '../../../src/avro/codec/plain-writer';
import { forSchema } from '../../../src/avro/codec/wire-type';
import { recordShape } from '../../../src/avro/record-shape';
import type { RecordSchema } from '../../../src/avro/schemas';
import { anyCharacter } from '../../support/any-character';
import { runs } from '../../support/runs';

interface Sample {
  readonly type: unknown;
  readonly value: unknown;
}

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: anyCharacter, maxLength: 30 }),
  fc.constantFrom('', 'x'.repeat(63), 'x'.repeat(64), 'é'.repeat(40), 'x'.repeat(9_000)),
);
const long = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat().map((value) => Math.floor(value / 2)),
  fc.constantFrom(63, 64, 2 ** 32, 2 ** 51),
);
const leaf: fc.Arbitrary<Sample> = fc.oneof(
  text.map((value) => ({ type: 'string', value })),
  long.map((value) => ({ type: 'long', value })),
  fc.array(text, { maxLength: 70 }).map((value) => ({ type: { type: 'array', items: 'string' }, value })),
);
let names = 0;
const recordOf = (fields: readonly Sample[]): Sample => ({
  type: {
    type: 'record',
    name: `R${names++}`,
    fields: fields.map(({ type }, i) => ({ name: `f${i}`, type })),
  },
  value: Object.fromEntries(fields.map(({ value }, i) => [`f${i}`, value])),
});
const inner = fc.array(leaf, { maxLength: 5 }).map(recordOf);
const sample = fc.array(fc.oneof(leaf, inner), { maxLength: 8 }).map(recordOf);

it('writes what avsc writes, or nothing where there is no room, and never beyond the end', () => {
  fc.assert(
    fc.property(sample, fc.nat(20), fc.nat(300), ({ type, value }, start, missing) => {
      const write = plainWriter(recordShape(type as RecordSchema))!;
      const expected = forSchema(type as never).toBuffer(value);
      const target = Buffer.alloc(start + expected.length * 3 + 2_000, 0xee);
      const end = write(value as never, target, start);
      expect(target.subarray(start, end)).toEqual(expected);

      const tight = Buffer.alloc(start + Math.max(0, expected.length - missing) + 100, 0xee);
      const [before, behind] = [tight.subarray(0, start), tight.subarray(tight.length - 100)];
      const tightEnd = write(value as never, tight.subarray(0, tight.length - 100), start);
      if (tightEnd >= 0) expect(tight.subarray(start, tightEnd)).toEqual(expected);
      expect(Buffer.concat([before, behind]).every((byte) => byte === 0xee)).toBe(true);
    }),
    { numRuns: runs(30) },
  );
});

it('leaves values that are none of the schema', () => {
  const wrong: readonly (readonly [unknown, unknown])[] = [
    ['string', 1],
    ['string', null],
    ['string', undefined],
    ['long', -1],
    ['long', 1.5],
    ['long', Number.NaN],
    ['long', 2 ** 52],
    ['long', '1'],
    [{ type: 'array', items: 'string' }, 'text'],
    [{ type: 'array', items: 'string' }, ['a', 1]],
    [{ type: 'record', name: 'S', fields: [{ name: 'g', type: 'long' }] }, null],
    [{ type: 'record', name: 'S', fields: [{ name: 'g', type: 'long' }] }, { g: '1' }],
  ];
  for (const [type, value] of wrong) {
    const fields = [
      { name: 'a', type: 'string' },
      { name: 'f', type },
    ];
    const write = plainWriter(recordShape({ type: 'record', name: 'R', fields } as never))!;
    expect({ type, value, end: write({ a: 'a', f: value }, Buffer.alloc(1_000), 0) }).toEqual({
      type,
      value,
      end: -1,
    });
  }
});

it('leaves schemas that it does not know', () => {
  for (const type of [
    'int',
    'double',
    ['null', 'string'],
    { type: 'array', items: 'long' },
    { type: 'map', values: 'string' },
    { type: 'enum', name: 'E', symbols: ['A'] },
    { type: 'record', name: 'S', fields: [{ name: 'g', type: 'int' }] },
  ]) {
    const schema = { type: 'record', name: 'R', fields: [{ name: 'f', type }] };
    expect(plainWriter(recordShape(schema as never))).toBeNull();
  }
});

it('half a pair of surrogates is written as what stands for such in UTF-8, where avsc writes no UTF-8', () => {
  const schema = { type: 'record', name: 'R', fields: [{ name: 'f', type: 'string' }] };
  const write = plainWriter(recordShape(schema as never))!;
  const target = Buffer.alloc(100);
  expect(target.toString('utf8', 1, write({ f: 'a\ud800b' }, target, 0))).toBe('a\ufffdb');
});
