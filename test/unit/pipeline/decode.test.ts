import fc from 'fast-check';
import { testFeed } from '../../support/feeds';
import { type TestPipeline, testPipeline } from '../../support/pipeline';
import { analyst, insight, ipo } from '../../support/records';

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
  expect(rejected).toEqual([]);
  // What a consumer will read, not what the decoder holds.
  return pipeline.codec.image.decode(pipeline.codec.image.encode(records[0]!)) as Decoded;
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
    expect(decoded(ipos, rest)).toMatchObject({
      ticker: null,
      lead_underwriters: null,
      insider_lockup_days: null,
      extra: {},
    });
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
    expect(decoded(ipos, row)).toMatchObject({
      insider_lockup_days: 180,
      offering_value: 12.5,
      sic: 6770,
      name: '42',
      open_date_verified: true,
      extra: {},
    });
  });

  it.each([
    ['insider_lockup_days', '180 days'],
    ['insider_lockup_days', 12.5],
    ['insider_lockup_days', 2 ** 52 + 1],
    ['insider_lockup_days', -(2 ** 52) - 1],
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

  it('makes half a surrogate pair well-formed, also in ids and in names of unknown members', () => {
    const record = decoded(ipos, ipo({ id: 'a\ud800', name: 'x\udc00y', 'm\ud800': 1 }));
    expect([record.id, record.name, Object.keys(record.extra)]).toEqual(['a\ufffd', 'x\ufffdy', ['m\ufffd']]);
  });
});

describe('id and updated', () => {
  it.each([
    [{ id: undefined }, 'no usable id (missing)'],
    [{ id: '' }, 'no usable id ("")'],
    [{ id: null }, 'no usable id (null)'],
    [{ id: {} }, 'no usable id ({})'],
    [{ updated: undefined }, 'no usable updated (missing)'],
    [{ updated: 'yesterday' }, 'no usable updated ("yesterday")'],
    [{ updated: -1 }, 'no usable updated (-1)'],
    [{ updated: 1e20 }, 'no usable updated (100000000000000000000)'],
    [{ id: undefined, updated: null }, 'no usable id (missing) and no usable updated (null)'],
  ])('%j is rejected whole', (overrides, reason) => {
    const row = JSON.parse(JSON.stringify(ipo(overrides))) as unknown;
    const { records, rejected } = ipos.decode([row]);
    expect(records).toEqual([]);
    expect(rejected).toEqual([{ reason: `the record has ${reason}`, raw: JSON.stringify(row) }]);
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
  ])('updated %j is the second %d', (updated, seconds, extra) => {
    expect(decoded(ipos, ipo({ updated }))).toMatchObject({ updated: seconds, extra });
  });

  it('a number is an id', () => {
    expect(decoded(ipos, ipo({ id: 17 })).id).toBe('17');
  });
});

it('keeps a row that is no record once, in whatever order its members come', () => {
  const row = { updated: 1, name: 'x', deep: [{ b: 1, a: { d: 2, c: 3 } }] };
  const alike = { deep: [{ a: { c: 3, d: 2 }, b: 1 }], name: 'x', updated: 1 };
  expect(ipos.decode([row]).rejected).toEqual(ipos.decode([alike]).rejected);
});

it('drops nothing: whatever a member holds is in its field or in extra (property)', () => {
  const fields = [
    'name',
    'sic',
    'offering_value',
    'open_date_verified',
    'lead_underwriters',
    'price_min',
    'brand_new',
  ];
  const row = fc.record(Object.fromEntries(fields.map((field) => [field, fc.jsonValue()])));
  fc.assert(
    fc.property(row, (values) => {
      const record = decoded(ipos, { id: 'x', updated: 1, ...values });
      for (const field of fields) {
        const raw = values[field];
        const kept = record.extra[field] === JSON.stringify(raw);
        const isUnknown = raw === null || raw === '' || (typeof raw !== 'object' && Number(raw) === 0);
        if (field === 'brand_new') expect(kept).toBe(true);
        else if (typeof record[field] === 'number') expect(record[field]).toBe(Number(raw));
        else if (!kept && !isUnknown) {
          const asText = Array.isArray(raw) ? raw.map(String) : String(raw);
          expect([record[field], String(record[field])]).toContainEqual(asText);
        }
      }
    }),
    { numRuns: 500 },
  );
});
