import Big from 'big.js';
import fc from 'fast-check';
import { jsonText, jsonTextAsSent } from '../../../src/json/json-text';
import { TOO_DEEP } from '../../../src/json/limits';
import { parseJson } from '../../../src/json/parse-json';
import { UnreadableRow } from '../../../src/json/unreadable-row';
import { EncodedRecord } from '../../../src/transcoder/encoded-record';
import { testFeed } from '../../support/feeds';
import { type TestPipeline, testPipeline } from '../../support/pipeline';
import { analyst, insight, ipo } from '../../support/records';
import { runs } from '../../support/runs';

let ipos: TestPipeline;
let analysts: TestPipeline;
let insights: TestPipeline;

beforeAll(async () => {
  [ipos, analysts, insights] = await Promise.all([
    testPipeline(testFeed('ipos')),
    testPipeline(testFeed('analysts')),
    testPipeline(testFeed('insights')),
  ]);
});

/** Loosely typed on purpose: the tests name fields of all feeds. */
type Decoded = Record<string, unknown> & { readonly extra: Record<string, string> };
const decoded = (pipeline: TestPipeline, row: unknown) => {
  const { records, rejected } = pipeline.decode([row]);
  expect(rejected).toStrictEqual([]);
  // The values that a consumer will read, not those of the decoder.
  return pipeline.codec.image.decode(pipeline.codec.image.encode(records[0]!)).values as Decoded;
};

describe('unknown values of an IPO', () => {
  it.each(['ticker', 'date', 'deal_status', 'price_min', 'sec_filing_url'])(
    '%s: empty text is null',
    (field) => {
      expect(decoded(ipos, ipo({ [field]: '' }))[field]).toBeNull();
    },
  );

  it.each([
    'sic',
    'last_yr_income_year',
    'last_yr_revenue_year',
    'offering_shares',
    'offering_value',
    'market_cap_at_offer',
    'shares_outstanding',
    'ord_shares_out_after_offer',
  ])('%s: 0 cannot be a value and is null', (field) => {
    expect(decoded(ipos, ipo({ [field]: 0 }))[field]).toBeNull();
    expect(decoded(ipos, ipo({ [field]: 7 }))[field]).toBe(7);
  });

  it.each(['insider_lockup_days', 'underwriter_quiet_expiration_days', 'offering_shares_ord_adr'])(
    '%s: 0 stays 0',
    (field) => {
      expect(decoded(ipos, ipo({ [field]: 0 }))[field]).toBe(0);
    },
  );

  it.each([
    ['last_yr_income', 'last_yr_income_year'],
    ['last_yr_revenue', 'last_yr_revenue_year'],
  ])('%s: 0 is a value only where %s is known', (amount, year) => {
    expect(decoded(ipos, ipo({ [amount]: 0, [year]: 0 }))[amount]).toBeNull();
    expect(decoded(ipos, ipo({ [amount]: 0, [year]: 2025 }))[amount]).toBe(0);
    expect(decoded(ipos, ipo({ [amount]: -12.5, [year]: 0 }))[amount]).toBe(-12.5);
  });

  it('a member that is left out is null', () => {
    const { ticker, lead_underwriters, insider_lockup_days, ...rest } = ipo();
    const record = decoded(ipos, rest);
    expect(record).toMatchObject({ ticker: null, lead_underwriters: null, insider_lockup_days: null });
    expect(record.extra).toEqual({});
  });
});

it.each([2 ** 52, -(2 ** 52), 0, -1])('the long %d comes back as it went', (value) => {
  expect(decoded(ipos, ipo({ offering_shares_ord_adr: value })).offering_shares_ord_adr).toBe(value);
});

it('empty text of other feeds is text: their specification knows no unknowns', () => {
  expect(decoded(insights, insight({ rating: '' })).rating).toBe('');
});

describe('drift', () => {
  it('coerces only what loses nothing', () => {
    const row = ipo({
      insider_lockup_days: '180',
      offering_value: '12.50',
      sic: '6770.0',
      name: 42,
      open_date_verified: 'true',
    });
    const record = decoded(ipos, row);
    expect(record).toMatchObject({
      insider_lockup_days: 180,
      offering_value: 12.5,
      sic: 6770,
      name: '42',
      open_date_verified: true,
    });
    // An empty object within `toMatchObject` would match any other.
    expect(record.extra).toEqual({});
  });

  it.each([
    ['insider_lockup_days', '180 days'],
    ['insider_lockup_days', 12.5],
    ['insider_lockup_days', 2 ** 60],
    ['offering_value', '1,000'],
    ['offering_value', '0.1000000000000000055511151231257827'],
    ['name', true],
    ['name', { en: 'Acme' }],
    ['open_date_verified', 1],
    ['lead_underwriters', 'Citigroup'],
    ['lead_underwriters', ['Citigroup', null]],
    ['lead_underwriters', { first: 'Citigroup' }],
  ])('%s = %j goes into extra as it came, the field is null', (field, value) => {
    const record = decoded(ipos, ipo({ [field]: value }));
    expect(record[field]).toBeNull();
    expect(record.extra).toEqual({ [field]: JSON.stringify(value) });
  });

  it('keeps unknown members under their dotted vendor path', () => {
    const row = analyst({
      cusip: '45764',
      ratings_accuracy: { rank: 7, '1y_gain_count': 3, '1m_stdev': '0.0' },
    });
    expect(decoded(analysts, row)).toMatchObject({
      extra: { cusip: '"45764"', 'ratings_accuracy.rank': '7', 'ratings_accuracy.1y_gain_count': '3' },
      ratings_accuracy: { _1m_stdev: '0.0' },
    });
  });

  it('keeps a nested object that is none', () => {
    expect(decoded(insights, insight({ security: 'INOD' }))).toMatchObject({
      security: null,
      extra: { security: '"INOD"' },
    });
  });

  it('does not depend on the order of members', () => {
    const { codec } = ipos;
    const row = ipo({ b: 1, a: 2, c: { z: 1 } });
    const reversed = Object.fromEntries(Object.entries(row).reverse());
    const encode = (r: unknown) => codec.image.encode(ipos.decode([r]).records[0]!);
    expect(encode(reversed).equals(encode(row))).toBe(true);
  });

  it('makes half a surrogate pair well-formed, and keeps it in names of unknown members', () => {
    const record = decoded(ipos, ipo({ name: 'x\udc00y', 'm\ud800': 1, 'm\ud801': 2 }));
    expect([record.name, Object.keys(record.extra)]).toEqual(['x\ufffdy', ['m\\ud800', 'm\\ud801']]);
  });
});

describe('id and updated', () => {
  it.each([
    [{ id: undefined }, 'no usable id (missing)'],
    [{ id: '' }, 'no usable id ("", expected text or a whole number)'],
    [{ id: null }, 'no usable id (null, expected text or a whole number)'],
    [{ id: '\ud800a' }, 'no usable id ("\\ud800a", expected text or a whole number)'],
    [{ id: {} }, 'no usable id ({}, expected text or a whole number)'],
    [{ id: ['x'.repeat(99)] }, `no usable id (["${'x'.repeat(78)}, expected text or a whole number)`],
    [{ updated: undefined }, 'no usable updated (missing)'],
    [{ updated: 'yesterday' }, 'no usable updated ("yesterday", expected Unix seconds)'],
    [{ updated: -1 }, 'no usable updated (-1, expected Unix seconds)'],
    [{ updated: 1e20 }, 'no usable updated (100000000000000000000, expected Unix seconds)'],
    [
      { id: undefined, updated: null },
      'no usable id (missing) and no usable updated (null, expected Unix seconds)',
    ],
  ])('%j is rejected whole', (overrides, reason) => {
    const row = JSON.parse(JSON.stringify(ipo(overrides))) as unknown;
    const { records, rejected } = ipos.decode([row]);
    expect(records).toStrictEqual([]);
    expect(rejected).toEqual([{ reason: `the record has ${reason}`, raw: JSON.stringify(row) }]);
  });

  it('a record with the reserved id is rejected by its name, and the next one is not', () => {
    const row = ipo({ id: '__highwater_fence' });
    const encoded = ipos.read([row, ipo({ id: 'next' })]);
    expect(encoded[0]).toBeInstanceOf(EncodedRecord);
    for (const rows of [encoded, [row, ipo({ id: 'next' })]]) {
      const { records, rejected } = ipos.decode(rows);
      expect(records.map(({ id }) => id)).toEqual(['next']);
      expect(rejected).toEqual([
        { reason: expect.stringMatching(/^the id __highwater_fence is reserved: /), raw: jsonText(row) },
      ]);
    }
  });

  it.each([[null], ['text'], [12], [[]], [true]])('a row that is %j is rejected whole', (row) => {
    expect(ipos.decode([row]).rejected).toEqual([
      { reason: expect.stringContaining('not an object'), raw: JSON.stringify(row) },
    ]);
  });

  it.each([
    [1767600431, 1767600431, {}],
    ['1767600431', 1767600431, {}],
    [1767600431123, 1767600431, {}],
    ['1767600431123', 1767600431, {}],
    [1767600431.75, 1767600431, { updated: '1767600431.75' }],
    [0, 0, {}],
    ['1767600431123.5', 1767600431, {}],
  ])('updated %j is the second %d', (updated, seconds, extra) => {
    const record = decoded(ipos, ipo({ updated }));
    expect([record.updated, record.extra]).toEqual([seconds, extra]);
  });

  it('a number is an id', () => {
    expect(decoded(ipos, ipo({ id: 17 })).id).toBe('17');
  });
});

it('a record has the members of its schema, in their order, whichever the row has', () => {
  const orderOf = (fields: readonly { readonly name: string }[]) => fields.map(({ name }) => name);
  const [record] = analysts.decode([{ updated: 1, id: 'a', ratings_accuracy: {} }]).records;
  const { fields } = analysts.codec.schemas.record;
  expect(Object.keys(record!.values)).toEqual(orderOf(fields));
  const { type } = fields.find(({ name }) => name === 'ratings_accuracy')!;
  const [, nested] = type as unknown as { readonly fields: readonly { readonly name: string }[] }[];
  const { ratings_accuracy } = record!.values as unknown as { readonly ratings_accuracy: object };
  expect(Object.keys(ratings_accuracy)).toEqual(orderOf(nested!.fields));
});

it('unknown members are kept, however many known ones are missing', () => {
  const known = ipos.codec.schemas.record.fields.map(({ name }) => name).slice(1, -2);
  for (let some = 0; some <= known.length; some++) {
    for (let unknown = 0; unknown <= known.length; unknown++) {
      const names = Array.from({ length: unknown }, (_, i) => `unknown_${i}`);
      const members = [...known.slice(0, some), ...names].map((name) => [name, null]);
      const { records } = ipos.decode([{ id: 'a', updated: 1, ...Object.fromEntries(members) }]);
      expect(Object.keys(records[0]!.values.extra)).toEqual(names.sort());
    }
  }
});

it('a member that the vendor calls extra is an unknown one', () => {
  expect(decoded(ipos, ipo({ extra: 'x' })).extra).toEqual({ extra: '"x"' });
});

it('rows stand beside their records, and those that were read as records are taken as they are', () => {
  const row = ipo();
  expect(ipos.decode([row]).rows).toStrictEqual([row]);
  const [encoded] = ipos.read([row]);
  const { records, rows, rejected } = ipos.decode([encoded]);
  expect([records[0] === encoded, rows[0] === encoded]).toEqual([true, true]);
  expect([records.length, rows.length, rejected.length]).toEqual([1, 1, 0]);
});

it('a row that cannot be read, or that fails the decoder, is rejected with its reason, and the next one is not', () => {
  const whole = { sha256: 'ab', bytes: 9 };
  const deep = JSON.parse(`${'['.repeat(600)}${']'.repeat(600)}`);
  const rejectedOf = (row: unknown) => {
    const { records, rejected } = ipos.decode([row, ipo({ id: 'next' })]);
    expect(records.map(({ id }) => id)).toEqual(['next']);
    return rejected;
  };
  expect(rejectedOf(new UnreadableRow('a', 1, 'too large', '{"a', whole))).toEqual([
    { reason: 'too large', raw: '{"a', whole },
  ]);
  for (const row of [ipo({ unknown: deep }), { unknown: deep }])
    expect(rejectedOf(row)).toEqual([{ reason: TOO_DEEP, raw: jsonText(row) }]);
  const odd = { id: 'a', updated: 1, unknown: 10n };
  expect(rejectedOf(odd)).toEqual([
    { reason: expect.stringMatching(/^the row cannot be decoded: .*BigInt/), raw: jsonText(odd) },
  ]);
});

it('keeps a row that is no record once, in whatever order its members come', () => {
  const row = { updated: 1, name: 'x', deep: [{ b: 1, a: { d: 2, c: 3 } }] };
  const alike = { deep: [{ a: { c: 3, d: 2 }, b: 1 }], name: 'x', updated: 1 };
  expect(ipos.decode([row]).rejected).toEqual(ipos.decode([alike]).rejected);
});

it('writes rows of any depth and width as JSON text', () => {
  const flat = { z: 1, a: [null, { c: 'é\ud800', b: -0.5 }] };
  for (const levels of [1, 499, 500, 5_000, 50_000]) {
    const text = `${'['.repeat(levels)}{"a":[null,{"b":-0.5,"c":"é\\ud800"}],"z":1},[]${']'.repeat(levels)}`;
    expect(jsonText(JSON.parse(text))).toBe(text);
  }
  expect(jsonText(flat)).toBe(JSON.stringify({ a: [null, { b: -0.5, c: 'é\ud800' }], z: 1 }));
  const wide = Array(150_000).fill({});
  expect(jsonText([wide, JSON.parse('['.repeat(600) + ']'.repeat(600))])).toHaveLength(450_000 + 1_204);
});

it('drops nothing: whatever a member holds is in its field or in extra (property)', () => {
  const fields = [
    'name',
    'sic',
    'offering_value',
    'open_date_verified',
    'lead_underwriters',
    'price_min',
    'insider_lockup_days',
    'brand_new',
  ];
  const deep = fc
    .integer({ min: 1, max: 490 })
    .map((levels) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)));
  const numbers = fc.oneof(
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
    fc.stringMatching(/^[1-9]\d{3,9}\.\d{9,12}$/),
    fc.constantFrom('1e400', '0.1e-400', '1e18', '0.10000000000000001', '9'.repeat(400)),
  );
  const exact = fc.oneof(
    numbers.map((text) => parseJson(text)),
    fc.array(numbers, { maxLength: 2 }).map((items) => parseJson(`[${items.join(',')}]`)),
  );
  const value = fc.oneof(
    { arbitrary: fc.jsonValue(), weight: 6 },
    { arbitrary: exact, weight: 3 },
    { arbitrary: deep, weight: 1 },
  );
  const row = fc.record(Object.fromEntries(fields.map((field) => [field, value])));
  fc.assert(
    fc.property(row, (values) => {
      const record = decoded(ipos, { id: 'x', updated: 1, ...values });
      for (const field of fields) {
        const raw = values[field];
        const kept = record.extra[field] === jsonTextAsSent(raw);
        const isUnknown = raw === null || raw === '' || (typeof raw !== 'object' && Number(raw) === 0);
        if (field === 'brand_new') expect(kept).toBe(true);
        else if (typeof record[field] === 'number') expect(record[field] === Number(raw)).toBe(true);
        else if (typeof record[field] === 'bigint')
          expect(new Big(String(record[field])).eq(String(raw))).toBe(true);
        else if (!kept && !isUnknown) {
          const asText = Array.isArray(raw) ? raw.map(String) : String(raw);
          expect([record[field], String(record[field])]).toContainEqual(asText);
        }
      }
    }),
    { numRuns: runs(100) },
  );
});
