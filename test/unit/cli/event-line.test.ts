import { stripVTControlCharacters } from 'node:util';
import type { DecodedRecord } from '../../../src/avro/codec/record-decoder';
import { feedsByTopic } from '../../../src/cli/log/tail-topics';
import { eventLine } from '../../../src/cli/terminal/event-line';
import { cellsOf } from '../../../src/cli/terminal/text';

const feedOf = feedsByTopic({ feeds: [], topicPrefix: '' });
const base = {
  topic: 'ipos',
  partition: 0,
  logOffset: 0,
  timestamp: 1_700_000_000_000,
  key: 'k',
  headers: {},
};

function updated(before: Record<string, unknown>, after: Record<string, unknown>): DecodedRecord {
  const same = { id: 'k', ticker: 'ACME', name: 'ACME Corp' };
  const value = {
    op: 'u',
    before: { ...same, ...before },
    after: { ...same, ...after },
    changed_fields: Object.keys(after),
  };
  return { ...base, type: 'marketdata.ipos.Envelope', value };
}

const withdrawn: DecodedRecord = {
  ...base,
  topic: 'ipos.deal-status',
  type: 'marketdata.ipos.DealStatusChanged',
  value: { id: 'k', name: 'ACME Corp', ticker: 'ACME', previous_status: 'Priced', status: 'Withdrawn' },
};
const lowered: DecodedRecord = {
  ...base,
  topic: 'insights.rating-changes',
  type: 'marketdata.insights.RatingChanged',
  value: {
    correction: false,
    symbol: 'AAPL',
    firm: 'Firm',
    action: 'Downgrades',
    previous_rating: 'Buy',
    rating: 'Hold',
    previous_pt: '110.0000',
    pt: '95.00',
    previous_date: '2026-01-02',
  },
};
const repriced = updated(
  { notes: 'x'.repeat(90), deal_status: 'Amended', offering_shares: 1_000_000 },
  { notes: 'y'.repeat(90), deal_status: 'Priced', offering_shares: 12_345_678 },
);

/** The line after the time. */
function text(record: DecodedRecord, width = Infinity): string {
  return eventLine(record, { width, color: false, feedAsLabel: false, feedOf }).slice(18);
}

it('tells a transition in one phrase', () => {
  expect(text(withdrawn)).toBe('⚠ WITHDRAWN  ACME Corp (ACME): Priced → WITHDRAWN');
  expect(text(lowered)).toBe('▼ DOWNGRADE  AAPL  Firm: Buy → Hold, pt 110.00 → 95.00');
});

it.each([
  [{ correction: true }, '↻ CORRECTION AAPL  Firm: Buy → Hold, pt 110.00 → 95.00'],
  [{ action: 'Upgrades' }, '▲ UPGRADE    AAPL  Firm: Buy → Hold, pt 110.00 → 95.00'],
  [{ action: 'constructor' }, '● RATING     AAPL  Firm: Buy → Hold, pt 110.00 → 95.00'],
  [
    { action: 'Initiates Coverage On', previous_rating: null, previous_pt: null, previous_date: null },
    '★ INITIATION AAPL  Firm: Hold, pt 95.00',
  ],
])('a rating with %j has its own badge and wording', (given, expected) =>
  expect(text({ ...lowered, value: { ...(lowered.value as object), ...given } })).toBe(expected),
);

it.each([
  ['Postponed', '‖ POSTPONED  k: Priced → POSTPONED'],
  ['Amended', '◇ AMENDED    k: Priced → Amended'],
  ['Initial Filing', '○ FILED      k: Priced → Initial Filing'],
  ['toString', '◇ STATUS     k: Priced → toString'],
])('the status %s of an offering without a name has its own badge', (status, expected) =>
  expect(text({ ...withdrawn, value: { previous_status: 'Priced', status } })).toBe(expected),
);

it('tells what an update moved, the telling fields first and long texts last', () => {
  expect(text(repriced)).toMatch(
    /^~ updated +ACME +ACME Corp +deal_status Amended → Priced, offering_shares 1M → 12\.3M, notes x+… → y+…$/,
  );
});

it('names a field within another one so that it is not taken for a field of the record, and shows items of lists', () => {
  const line = (before: object, after: object, fields: readonly string[]) => {
    const images = { before: { name: 'N', ...before }, after: { name: 'N', ...after } };
    const value = { op: 'u', ...images, changed_fields: fields };
    return text({ ...base, type: 'marketdata.ipos.Envelope', value }).slice(48);
  };
  expect(line({ customer: { name: 'A' } }, { customer: { name: 'B' } }, ['customer.name'])).toBe(
    'customer.name A → B',
  );
  expect(line({ a: { x: 1 }, b: { x: 1 } }, { a: { x: 2 }, b: { x: 3 } }, ['a.x', 'b.x'])).toBe(
    'a.x 1 → 2, b.x 1 → 3',
  );
  expect(line({ a: { _1m_stdev: '1.0' } }, { a: { _1m_stdev: '2.0' } }, ['a._1m_stdev'])).toBe(
    '1m_stdev 1.0 → 2.0',
  );
  const ofItem = 'items[0].qty';
  expect(line({ extra: { [ofItem]: '"a"' } }, { extra: { [ofItem]: '"b"' } }, [`extra.${ofItem}`])).toBe(
    'items[0].qty "a" → "b"',
  );
  expect(line({ items: [{ sku: 'a' }] }, { items: [{ sku: 'b' }, null] }, ['items'])).toBe(
    'items {"sku":"a"} → {"sku":"b"}, –',
  );
});

it.each([40, 60, 80, 100, 120])('keeps within %d cells, with and without colour', (width) => {
  const wide = updated({ name: '東京市場株式会社の長い名前です', date: '2026' }, { date: '2027-01-01' });
  for (const record of [withdrawn, lowered, repriced, wide]) {
    for (const color of [false, true]) {
      const line = stripVTControlCharacters(eventLine(record, { width, color, feedAsLabel: true, feedOf }));
      expect(cellsOf(line)).toBeLessThanOrEqual(width);
    }
  }
});

it('colours only when it is told to', () => {
  const shape = { width: 80, feedAsLabel: false, feedOf };
  expect(eventLine(withdrawn, { ...shape, color: true })).toContain('\u001b[31m');
  expect(eventLine(withdrawn, { ...shape, color: false })).not.toContain('\u001b');
});

it('lets no value of the vendor begin a line or steer the terminal', () => {
  const evil = 'a\u001b[2J\u001b]0;x\u0007\r\nb\u202e';
  const records = [
    updated({ notes: 'n', name: evil }, { notes: evil, name: evil }),
    { ...withdrawn, value: { ...(withdrawn.value as object), name: evil, ticker: evil, status: evil } },
    { ...base, topic: 't', key: evil, type: 'other.Thing', value: { text: evil } },
    { ...base, key: evil, type: null, value: null },
  ];
  for (const record of records) expect(text(record)).not.toMatch(/[\p{Cc}\u202e]/u);
});

it('shows a tombstone and a type it does not know', () => {
  expect(text({ ...base, type: null, value: null })).toBe('x tombstone  k');
  expect(text({ ...base, topic: 't', type: 'other.Thing', value: { a: 1 } })).toBe('= Thing      k  {"a":1}');
});
