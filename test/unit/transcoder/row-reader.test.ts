import fc from 'fast-check';
import { createFeedCodec, type FeedCodec } from '../../../src/avro/codec/feed-codec';
import { wireType } from '../../../src/avro/codec/wire-type';
import { valueAt } from '../../../src/avro/path';
import { recordShape } from '../../../src/avro/record-shape';
import type { FieldSchema, RecordSchema } from '../../../src/avro/schemas';
import { feedDefinitions } from '../../../src/feeds';
import type { FeedDefinition } from '../../../src/feeds/definition';
import { usualShape } from '../../../src/feeds/definition';
import { rowKeys } from '../../../src/feeds/row-keys';
import { parseJson } from '../../../src/json/parse-json';
import { removeMembers } from '../../../src/json/remove-members';
import { feedTopics } from '../../../src/log/topics';
import { createDecoder, type Decoder } from '../../../src/pipeline/records/decode';
import type { RowReader } from '../../../src/source/source';
import { EncodedRecord } from '../../../src/transcoder/encoded-record';
import { createRowReader } from '../../../src/transcoder/transcoder';
import type { RecordValues, VendorRecord } from '../../../src/types';
import { anyCharacter } from '../../support/any-character';
import { bodyOf } from '../../support/body';
import { vendorSamples } from '../../support/records';
import { memoryRegistry } from '../../support/registry';
import { runs } from '../../support/runs';
import { nestedRecord } from '../../support/schema-versions';

const keys = rowKeys(usualShape);

interface Reading {
  readonly feed: FeedDefinition;
  readonly codec: FeedCodec;
  readonly decode: Decoder;
  read(text: Buffer, pieceBytes?: number): ReturnType<RowReader>;
}

const LONG_NAME = 'v'.repeat(300);
const readings = new Map<string, Reading>();

beforeAll(async () => {
  for (const feed of [...feedDefinitions, declared, omitting]) {
    const schema = feed.name.startsWith('odd') ? declaredSchema : undefined;
    const codec = await createFeedCodec(feed, feedTopics(feed, ''), memoryRegistry(), schema);
    const { record } = codec.schemas;
    const readRows = createRowReader(feed, record, codec.image)!;
    const read: Reading['read'] = (text, pieceBytes) =>
      readRows(bodyOf(text, pieceBytes), () => true, 10_000);
    readings.set(feed.name, { feed, codec, decode: createDecoder(feed, recordShape(record)), read });
  }
});

const names = ['ipos', 'analysts', 'insights'] as const;

/** As somebody may declare one: rules for fields that they say nothing about, odd names, a union the other way round. */
const orNull = (name: string, type: unknown, more: object = {}) => ({ name, type: ['null', type], ...more });
const declaredSchema = {
  type: 'record',
  name: 'Odd',
  namespace: 'declared',
  fields: [
    orNull('t', 'string'),
    { name: 'updated', type: 'long' },
    { name: 'd', type: ['double', 'null'] },
    orNull('b', 'boolean'),
    orNull('i', 'int'),
    { name: 'id', type: 'string' },
    orNull('l', { type: 'array', items: 'string' }),
    orNull('n', { type: 'record', name: 'N', fields: [orNull('s', 'string'), orNull('w', 'long')] }),
    orNull('renamed', 'string', { vendorName: LONG_NAME }),
    orNull('other', 'long', { vendorName: 'constructor' }),
    { name: 'extra', type: { type: 'map', values: 'string' } },
  ],
} as unknown as RecordSchema;
const declared: FeedDefinition = {
  ...feedDefinitions[0]!,
  name: 'odd',
  responseKey: 'rows',
  symbolField: 'n.s',
  transitions: [],
  unknowns: {
    emptyText: false,
    zero: ['d', 'b', 'l', 'n', 'n.w', 'constructor'],
    zeroWithout: { i: 'b', t: 'd', 'n.s': 'w' },
  },
};
/** Text, number, list, record, a field of a record, one on whose value another's depends, and what the schema does not have. */
const omitting = {
  ...declared,
  name: 'odd_omitted',
  omit: ['d', 'l', 'n.w', 'b', LONG_NAME, 'constructor', 'unknown', 'n.other', 'extra'],
};
const body = ({ feed }: Reading, rows: readonly string[]) =>
  Buffer.from(`{"${feed.responseKey}":[${rows.join(',')}]}`);

/** Everything that anybody asks of a page's rows, once as they were read and once as `parseJson` and the decoder make them. */
function expectSame(reading: Reading, text: Buffer): readonly unknown[] {
  const { feed, codec, decode, read } = reading;
  const parsed = (parseJson(text.toString()) as Record<string, unknown[]>)[feed.responseKey]!;
  removeMembers(parsed, feed.omit);
  // Where nothing is plain, all of it is left.
  const rows = read(text) ?? parsed;
  // As the source does with all rows.
  removeMembers(rows, feed.omit);
  expect(rows.map(keys.id)).toEqual(parsed.map(keys.id));
  expect(rows.map(keys.updated)).toEqual(parsed.map(keys.updated));
  expect(JSON.parse(JSON.stringify(rows))).toEqual(JSON.parse(JSON.stringify(parsed)));
  const [ours, theirs] = [decode(rows), decode(parsed)];
  expect(ours.rejected).toEqual(theirs.rejected);
  const plain = wireType<RecordValues>(codec.schemas.record, codec.image.schemaId);
  const images = theirs.records.map((record) => plain.encode(record.values).toString('hex'));
  const { image } = codec;
  expect(ours.records.map((record) => image.encode(record).toString('hex'))).toEqual(images);
  expect(ours.records.map((record) => image.keep(image.encodeShared(record)).toString('hex'))).toEqual(
    images,
  );
  const encoded = ours.records.map((record, i) => [record, theirs.records[i]!, images[i]!] as const);
  for (const [record, expected, bytes] of encoded) {
    if (!(record instanceof EncodedRecord)) continue;
    const decoded = plain.decode(Buffer.from(bytes, 'hex'));
    const fields = (one: RecordValues) => codec.schemas.record.fields.map(({ name }) => [name, one[name]]);
    expect(JSON.stringify(fields(record.values))).toBe(JSON.stringify(fields(decoded)));
    expect(Object.keys(expected.values.extra)).toStrictEqual([]);
    const symbol = feed.symbolField === null ? null : valueAt(expected.values, feed.symbolField);
    expect(record.symbol).toBe(symbol);
  }
  return rows;
}

const isEncoded = (row: unknown) => row instanceof EncodedRecord;

it.each(names)('rows of %s, as the vendor has them, are encoded without an object, all of them', (name) => {
  const reading = readings.get(name)!;
  const samples = vendorSamples(name).map((row) => JSON.stringify(row));
  const rows = expectSame(reading, body(reading, [...samples, ...samples]));
  expect(rows.length).toBe(2 * samples.length);
  expect(rows.every(isEncoded)).toBe(true);
});

it.each([...names, 'odd', 'odd_omitted'])(
  'rows of any kind of %s become what the parser and the decoder make of them',
  (name) => {
    const reading = readings.get(name)!;
    let [encoded, all] = [0, 0];
    fc.assert(
      fc.property(fc.array(rowText(reading), { maxLength: 6 }), (rows) => {
        const read = expectSame(reading, body(reading, rows));
        encoded += read.filter(isEncoded).length;
        all += read.length;
      }),
      { numRuns: runs(50) },
    );
    // Else it would have compared the decoder with itself.
    expect(encoded / all).toBeGreaterThan(0.3);
    expect(encoded / all).toBeLessThan(0.97);
  },
);

it('numbers are what they are, however many digits say it', () => {
  const reading = readings.get('odd')!;
  const wraps = (2n ** 64n).toString();
  const small = [22, 23, 30, 39, 300].map((places) => `0.${'7'.padStart(places, '0')}`);
  const large = ['2147483647', '2147483648', '-2147483648', '999999999999999', '4503599627370497'];
  const wrapped = [
    wraps,
    `0.${wraps}`,
    `${wraps}e-5`,
    `1.${'0'.repeat(64)}`,
    `-${wraps}`,
    `${wraps}${wraps}`,
  ];
  const numbers = [...small, ...large, ...wrapped, '0', '-0', '0e1', '0.0', '1e2', '007'];
  for (const field of ['t', 'd', 'b', 'i', 'l', 'n', 'constructor']) {
    for (const number of [...numbers.slice(0, -1), ...numbers.map((digits) => `"${digits}"`)])
      expectSame(
        reading,
        body(reading, ['{"id":"a","updated":7}', `{"id":"b","updated":8,"${field}":${number}}`]),
      );
  }
});

it.each([999, 1_000, 2_000])('a comma behind the last of %d rows is no JSON', (count) => {
  const reading = readings.get('odd')!;
  const rows = Array.from({ length: count }, (_, i) => `{"id":"${i}","updated":7}`);
  expect(expectSame(reading, body(reading, rows)).every(isEncoded)).toBe(true);
  expect(reading.read(body(reading, [...rows, '']))).toBeNull();
});

it('a text that breaks off at the end of the memory is no JSON', () => {
  const reading = readings.get('odd')!;
  const [begin, end] = [`{"rows":[{"${LONG_NAME}":"`, '","id":"a","updated":7},{"'].map((part) =>
    Buffer.from(part),
  );
  // It breaks off where a member of 300 letters is expected. Memory comes in pieces of 64 KB, and ends at one of these
  // lengths: no text before has been as long.
  const longest = 2 * 2 ** 20;
  for (let length = longest; length < longest + 66_000; length += 280) {
    const text = Buffer.concat([begin!, Buffer.alloc(length, 'x'), end!]);
    expect(reading.read(text)).toBeNull();
  }
});

/** JSON texts of rows: plain ones, those with some odd value in them, and what is no row at all. */
function rowText({ codec }: Reading): fc.Arbitrary<string> {
  const { record } = codec.schemas;
  const oddAtTimes = (field: FieldSchema) =>
    fc.oneof(
      { weight: 60, arbitrary: plainValue(field) },
      { weight: 2, arbitrary: usualValue(field) },
      anyValue(),
    );
  return fc.oneof(
    { weight: 10, arbitrary: memberTexts(record, plainValue) },
    { weight: 20, arbitrary: memberTexts(record, oddAtTimes) },
    anyValue(),
  );
}

function memberTexts(
  schema: RecordSchema,
  value: (field: FieldSchema) => fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const isRow = schema.fields.some((field) => field.name === 'extra');
  const fields = schema.fields.filter((field) => field.name !== 'extra');
  const member = (field: FieldSchema): fc.Arbitrary<string | null> => {
    const text = value(field).map((json) => `${JSON.stringify(field.vendorName ?? field.name)}:${json}`);
    const isNeeded = isRow && (field.name === 'id' || field.name === 'updated');
    return fc.oneof({ weight: isNeeded ? 99 : 4, arbitrary: text }, fc.constant(null));
  };
  const members = fc.tuple(...fields.map(member)).map((all) => all.filter((one) => one !== null));
  const more = fc.oneof(
    { weight: 30, arbitrary: fc.constant([]) },
    fc.array(unknownMember(fields, value), { minLength: 1, maxLength: 2 }),
  );
  const order = fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, fc.constant(true));
  return fc.tuple(members, more, order, space, fc.nat()).map(([some, others, isShuffled, gap, seed]) => {
    const all = [...some, ...others];
    if (isShuffled) all.sort((a, b) => hash(a, seed) - hash(b, seed));
    return `{${gap}${all.join(`${gap},${gap}`)}${gap}}`;
  });
}

/** A member that comes twice, and one that the schema does not have. */
function unknownMember(
  fields: readonly FieldSchema[],
  value: (field: FieldSchema) => fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const again = fc
    .constantFrom(...fields)
    .chain((field) =>
      value(field).map((json) => `${JSON.stringify(field.vendorName ?? field.name)}:${json}`),
    );
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toJSON', 'constructor', 'extra', 'ticke'));
  const other = fc.tuple(name, anyValue()).map(([key, json]) => `${JSON.stringify(key)}:${json}`);
  const escaped = fc.constantFrom(...fields).map(({ name: known }) => {
    const first = known.charCodeAt(0).toString(16).padStart(4, '0');
    return `"\\u${first}${known.slice(1)}":"x"`;
  });
  return fc.oneof(again, other, escaped);
}

const space = fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom(' ', '\n  ', '\t\r\n'));
const hash = (text: string, seed: number) =>
  [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0) + seed) % 1_000_003, 7);

const smallWhole = fc.integer({ min: -9, max: 2_000_000_000 }).map(String);
const wholes = fc.oneof(
  { weight: 6, arbitrary: smallWhole },
  fc.maxSafeInteger().map(String),
  fc.constantFrom('0', '2147483647', '2147483648', '-2147483648', '999999999999999', '4503599627370496'),
);
const decimals = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(smallWhole, fc.nat(9_999_999)).map((parts) => parts.join('.')) },
  { weight: 2, arbitrary: wholes },
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);
const knownNumbers = fc.constantFrom(
  ...[
    '-0',
    '-0.0',
    '0.0',
    '1.0',
    '1e2',
    '1E-7',
    '12e0',
    '0e5',
    '5e-324',
    '1e400',
    '0.1',
    '0.30000000000000004',
  ],
  ...[
    '123456789012345678901234567890',
    '9007199254740993',
    '653247040368672769',
    '-9223372036854775808',
    '9223372036854775808',
    '12345678.123456789012',
    '0.10000000000000001',
    '0.1e-400',
    '0.000000000000000000000000000001',
    '100000000000',
  ],
  ...[
    '100000000001',
    '1.7976931348623157e308',
    '4503599627370497',
    '0.00000000000000000000012345',
    '1760000000000',
  ],
);
/** Those that JavaScript's numbers do not hold, and their neighbours. */
const longNumbers = fc.oneof(
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
  fc
    .tuple(fc.integer({ min: 50, max: 64 }), fc.integer({ min: -2, max: 2 }))
    .map(([bits, more]) => String(2n ** BigInt(bits) + BigInt(more))),
  fc
    .tuple(fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.stringMatching(/^\d{4,20}$/))
    .map((parts) => parts.join('.')),
  fc.tuple(fc.nat(99), fc.integer({ min: -420, max: 420 })).map((parts) => parts.join('e')),
);
const oddNumbers = fc.oneof(knownNumbers, longNumbers);

const characters = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  fc.constantFrom('', 'a"b', 'c\\d', 'e/f', '\n\t\r\b\f', 'x'.repeat(63), 'x'.repeat(64), 'é'.repeat(32)),
  fc.constantFrom(
    'x'.repeat(65),
    'y'.repeat(8_191),
    'z'.repeat(8_192),
    '"'.repeat(70),
    '\ud800',
    '12',
    '-7.50',
  ),
  fc.constantFrom('007', '1e3', '0', '0.0', '-0', '12.0', ' 1', '1 ', 'true', 'false', 'null', '2024'),
);
/** With some of its characters as escapes that nobody needs. */
const text = fc.tuple(characters, fc.nat(5)).map(([value, every]) => {
  const plain = JSON.stringify(value);
  if (every !== 0) return plain;
  const letters = [...plain.slice(1, -1).matchAll(/\\u[0-9a-f]{4}|\\.|./gs)].map(([one], i) => {
    if (one.length > 1 || i % 2 === 0) return one === '/' ? '\\/' : one;
    const code = one.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${i % 4 === 1 ? code : code.toUpperCase()}`;
  });
  return `"${letters.join('')}"`;
});
const texts = fc.array(text, { maxLength: 4 }).map((items) => `[${items.join(', ')}]`);

/** Encoded from its text. */
function plainValue(field: FieldSchema): fc.Arbitrary<string> {
  if (field.name === 'id')
    return fc.oneof(fc.stringMatching(/^[a-z0-9é-]{1,30}$/), fc.nat()).map((id) => JSON.stringify(id));
  if (field.name === 'updated') return fc.integer({ min: 0, max: 2_000_000_000 }).map(String);
  const within = nestedRecord(field);
  const plain = within === null ? plainOf(field) : memberTexts(within, plainValue);
  return fc.oneof({ weight: 12, arbitrary: plain }, fc.constant('null'));
}

const plainText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 40 }) },
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '',
    'x'.repeat(63),
    'x'.repeat(64),
    'x'.repeat(65),
    'y'.repeat(8_191),
    'z'.repeat(8_192),
    'a"b',
  ),
);

function plainOf({ type }: FieldSchema): fc.Arbitrary<string> {
  switch ((type as readonly unknown[]).find((branch) => branch !== 'null')) {
    case 'string':
      return fc.oneof(
        { weight: 4, arbitrary: plainText.map((value) => JSON.stringify(value)) },
        fc.nat().map(String),
      );
    case 'long':
    case 'int':
      return fc.oneof({ weight: 4, arbitrary: smallWhole }, fc.constantFrom('0', '""', '"7"', '"-12"'));
    case 'double':
      return fc.oneof(
        { weight: 4, arbitrary: fc.tuple(smallWhole, fc.nat(9_999)).map((parts) => parts.join('.')) },
        fc.constantFrom('0', '0.0', '""', '"7.50"', '"-12"', '100000000000000', '0.0000000000000000000001'),
      );
    case 'boolean':
      return fc.constantFrom('true', 'false', '""');
    default:
      return fc
        .array(fc.string(), { maxLength: 4 })
        .map((items) => JSON.stringify(items.map((one) => one.replace(/["\\]/g, ''))));
  }
}

/** Rows that resemble the schema. */
function usualValue(field: FieldSchema): fc.Arbitrary<string> {
  return fc.oneof(
    text,
    texts,
    wholes,
    decimals,
    oddNumbers,
    fc.constantFrom('null', '""', '0', '"0"'),
    plainValue(field),
  );
}

function anyValue(): fc.Arbitrary<string> {
  return fc.oneof(
    text,
    texts,
    wholes,
    decimals,
    oddNumbers,
    fc.constantFrom('true', 'false', 'null', '{}', '[]', '[[1]]'),
    fc.json(),
  );
}

it('an answer that is not the plain one is left to whoever parses JSON', () => {
  const reading = readings.get('ipos')!;
  const row = '{"id":"a","updated":1}';
  for (const other of [
    '',
    ' ',
    '[]',
    '{}',
    'null',
    '"ipos"',
    `[${row}]`,
    `{"ipos":${row}}`,
    `{"ipos":[${row}],"ok":true}`,
    `{"ok":true,"ipos":[${row}]}`,
    `{"ipos":[${row}]`,
    `{"ipos":[${row}]}}`,
    `{"ipos":[${row},]}`,
    `{"ipos":[,${row}]}`,
    `{"ipos":[${row} ${row}]}`,
    `{"\\u0069pos":[${row}]}`,
    `{"ipo":[${row}]}`,
    `{"ipos2":[${row}]}`,
    '{"ipos":[01]}',
    '{"ipos":[1.]}',
    '{"ipos":[.5]}',
    '{"ipos":[1e]}',
    '{"ipos":[+1]}',
    '{"ipos":[tru]}',
    '{"ipos":[nul]}',
    '{"ipos":["a]}',
    '{"ipos":["\n"]}',
    '{"ipos":["\\x"]}',
    '{"ipos":["\\u12g4"]}',
    '{"ipos":[{"id" "a"}]}',
    '{"ipos":[{"id":"a",}]}',
    '{"ipos":[{id:"a"}]}',
    '{"ipos":[{"id":"a"]}',
    `\ufeff{"ipos":[${row}]}`,
    `{"ipos":[${row}]} x`,
    `{"ipos":[${row}]}\0`,
    `{"ipos":[${'['.repeat(70)}${']'.repeat(70)}]}`,
  ]) {
    expect({ other, rows: reading.read(Buffer.from(other)) }).toEqual({ other, rows: null });
  }
  expect(reading.read(Buffer.from([...Buffer.from('{"ipos":["'), 0xff, ...Buffer.from('"]}')]))).toBeNull();
});

it('a text that is damaged anywhere is read as JSON.parse reads it, or not at all', () => {
  const reading = readings.get('insights')!;
  const sample = body(
    reading,
    vendorSamples('insights')
      .slice(0, 2)
      .map((row) => JSON.stringify(row)),
  );
  const damaged = fc.array(
    fc.tuple(fc.nat(sample.length - 1), fc.constantFrom(...Buffer.from('"\\{}[]:,0-.eEtfn u\n\0x'))),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  let [read, all] = [0, 0];
  fc.assert(
    fc.property(damaged, fc.nat(sample.length), fc.boolean(), (changes, cut, isCut) => {
      all++;
      const text = Buffer.from(sample);
      for (const [at, byte] of changes) text[at] = byte;
      const given = isCut ? text.subarray(0, cut) : text;
      if (reading.read(given) === null) return;
      read++;
      expectSame(reading, given);
    }),
    { numRuns: runs(300) },
  );
  expect(read / all).toBeGreaterThan(0.05);
});

it('more rows than fit at once are read in parts, and a row that is larger than all room is parsed', () => {
  const reading = readings.get('ipos')!;
  const [sample] = vendorSamples('ipos');
  const row = (i: number, description: string) => JSON.stringify({ ...sample, id: `id-${i}`, description });
  const sizes = [10, 400_000, 500_000, 600_000, 1_100_000, 10, 1_040_000, 5];
  const large = sizes.map((size, i) => row(i, 'd'.repeat(size)));
  const rows = expectSame(reading, body(reading, large));
  expect(rows.map(isEncoded)).toEqual([true, true, true, true, false, true, true, true]);
  const many = Array.from({ length: 2_500 }, (_, i) => row(i, `${i}`));
  expect(expectSame(reading, body(reading, many)).every(isEncoded)).toBe(true);
});

it('records outlive the pages behind them', () => {
  const reading = readings.get('ipos')!;
  const [sample] = vendorSamples('ipos');
  const page = (name: string) => body(reading, [JSON.stringify({ ...sample, name })]);
  const [first] = reading.read(page('first')) as EncodedRecord[];
  const image = Buffer.from(reading.codec.image.encode(first!));
  reading.read(page('second'));
  expect(reading.codec.image.encode(first!)).toEqual(image);
  expect(first!.values.name).toBe('first');
});

it('a body is read alike in whatever pieces it came, and asked about as one', () => {
  const reading = readings.get('ipos')!;
  const { feed, codec } = reading;
  const text = body(
    reading,
    vendorSamples('ipos').map((row) => JSON.stringify({ ...row, name: 'Größe 株' })),
  );
  const images = (rows: readonly unknown[] | null) =>
    rows!.map((row) => codec.image.encode(row as VendorRecord).toString('hex'));
  const whole = images(reading.read(text, text.length));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), (pieceBytes) => {
      const rows = reading.read(text, pieceBytes)!;
      expect(images(rows)).toEqual(whole);
      // Other answers were read in between.
      reading.read(body(reading, ['{}']));
      expect(JSON.stringify(rows)).toBe(JSON.stringify(JSON.parse(text.toString()).ipos));
    }),
    { numRuns: runs(10) },
  );
  const readRows = createRowReader(feed, codec.schemas.record, codec.image)!;
  const asked: string[] = [];
  const refuse = (given: Buffer) => asked.push(given.toString()) === 0;
  expect(readRows(bodyOf(text, 7), refuse, 10_000)).toBeNull();
  expect(asked).toEqual([text.toString()]);
});

it('a body of too many rows is left', () => {
  const reading = readings.get('ipos')!;
  const rows = (count: number) => body(reading, Array(count).fill('{"id":"a","updated":1}'));
  expect(reading.read(rows(10_000))).toHaveLength(10_000);
  expect(reading.read(rows(10_001))).toBeNull();
});

it('a body that is too large for it is left', () => {
  const reading = readings.get('ipos')!;
  const large = body(reading, [JSON.stringify({ id: 'a', updated: 1, name: 'x'.repeat(17 * 2 ** 20) })]);
  expect(reading.read(large)).toBeNull();
});

it('an answer with any member beside its rows is left, since the member may report an error', () => {
  const reading = readings.get('ipos')!;
  const row = '{"id":"a","updated":1}';
  expect(reading.read(Buffer.from(`{"ipos":[${row}]}`))).toHaveLength(1);
  for (const text of [
    `{"ipos":[],"success":false}`,
    `{"error":"x","ipos":[]}`,
    `{"ipos":[${row}],"code":429}`,
  ])
    expect(reading.read(Buffer.from(text))).toBeNull();
});
