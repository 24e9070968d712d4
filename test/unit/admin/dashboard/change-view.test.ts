import '../../../support/runs';
import fc from 'fast-check';
import { readChange, readTransition } from '../../../../src/admin/dashboard/change-feed';
import { eventText } from '../../../../src/admin/dashboard/dashboard';
import type { DecodedRecord } from '../../../../src/avro/codec/record-decoder';
import type { Feed } from '../../../../src/feeds/feed';
import { anyCharacter } from '../../../support/any-character';
import { testFeed } from '../../../support/feeds';

const ipos = testFeed('ipos');
const insights = testFeed('insights');

function envelope(change: object, type = 'marketdata.ipos.Envelope', key = 'abc'): DecodedRecord {
  const value = {
    before: null,
    after: null,
    op: 'u',
    changed_fields: [],
    ts_ms: 1_790_000_000_000,
    source: { origin: 'poll', updated: 1_790_000_000, seq: 7 },
    event_id: 'ipos:a:7',
    ...change,
  };
  const place = { topic: 'ipos', partition: 0, logOffset: 3, timestamp: 0 };
  return { ...place, key, type, headers: {}, value };
}

it('names the record, and the telling fields first, before and after', () => {
  const { eventId, view } = readChange(
    ipos,
    envelope({
      before: { ticker: 'ACME', name: 'Acme', deal_status: 'Priced', notes: null, price_min: '10.0000' },
      after: { ticker: 'ACME', name: 'Acme', deal_status: 'Withdrawn', notes: 'No.', price_min: '12.5000' },
      changed_fields: ['notes', 'price_min', 'deal_status'],
    }),
  );
  expect(eventId).toBe('ipos:a:7');
  expect(view).toEqual({
    feed: 'ipos',
    key: 'abc',
    op: 'u',
    origin: 'poll',
    symbol: 'ACME',
    title: 'Acme',
    observedAtMs: 1_790_000_000_000,
    updated: 1_790_000_000,
    seq: 7,
    moreFields: 0,
    fields: [
      { field: 'deal_status', before: 'Priced', after: 'Withdrawn' },
      { field: 'price_min', before: '10.00', after: '12.50' },
      { field: 'notes', before: null, after: 'No.' },
    ],
  });
});

it('shows of a record that came or went the facts that name it, on the side where they are', () => {
  const image = { ticker: 'ACME', name: 'Acme', deal_status: 'Priced', date: '2026-01-01', sic: 0 };
  const came = readChange(ipos, envelope({ op: 'c', after: image })).view.fields;
  expect(came).toContainEqual({ field: 'deal_status', before: null, after: 'Priced' });
  const gone = readChange(ipos, envelope({ op: 'd', before: image })).view;
  expect(gone).toMatchObject({ symbol: 'ACME', title: 'Acme' });
  expect(gone.fields).toContainEqual({ field: 'deal_status', before: 'Priced', after: null });
});

it('shows of a feed that is declared elsewhere what its record has first', () => {
  const feed = testFeed('ipos', { name: 'dividends', display: {}, symbolField: null });
  const after = { id: '1', updated: 5, amount: '1.2500', special: true, nested: { a: 1 }, none: null };
  const record = envelope({ op: 'r', after }, 'marketdata.dividends.Envelope', 'key-1');
  expect(readChange(feed, record).view).toMatchObject({
    feed: 'dividends',
    title: 'key-1',
    symbol: null,
    fields: [
      { field: 'amount', before: null, after: '1.25' },
      { field: 'special', before: null, after: 'yes' },
    ],
  });
});

it('shows of long texts the part where they begin to differ', () => {
  const same = 'word '.repeat(400);
  const record = envelope({
    before: { notes: `${same}old end` },
    after: { notes: `${same}new end` },
    changed_fields: ['notes'],
  });
  const [notes] = readChange(ipos, record).view.fields;
  expect(notes!.before).toMatch(/^….*word old end$/);
  expect(notes!.after).toMatch(/^….*word new end$/);
});

it('shows what moved in extra, and at most twenty fields', () => {
  const extra = (n: number) =>
    Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`a.${i}`, `${i + n}`]));
  const record = envelope({
    before: { extra: extra(0) },
    after: { extra: extra(1) },
    changed_fields: Object.keys(extra(0)).map((key) => `extra.${key}`),
  });
  const { fields, moreFields } = readChange(ipos, record).view;
  expect([fields.length, moreFields]).toEqual([20, 10]);
  expect(fields[3]).toEqual({ field: 'extra.a.3', before: '3', after: '4' });
});

it('joins what an event of its own watches', () => {
  const value = {
    caused_by: 'insights:a:1',
    previous_rating: 'Buy',
    rating: 'Hold',
    previous_pt: null,
    pt: '95.0000',
  };
  const record = { ...envelope({}, 'marketdata.insights.RatingChanged'), value };
  expect(readTransition(insights, record)).toEqual({
    causedBy: 'insights:a:1',
    view: { type: 'RatingChanged', mark: '●', tone: 'info', before: 'Buy', after: 'Hold, 95.00' },
  });
  expect(readTransition(ipos, record)).toBeNull();
  expect(readTransition(insights, { ...record, value: {} })).toBeNull();
});

it('marks a transition by the values of its event', () => {
  const marked = (feed: Feed, type: string, value: object) => {
    const record = { ...envelope({}, type), value: { caused_by: 'x', ...value } };
    const { mark, tone } = readTransition(feed, record)!.view;
    return `${mark} ${tone}`;
  };
  const rating = (value: object) => marked(insights, 'marketdata.insights.RatingChanged', value);
  const status = (value: string) => marked(ipos, 'marketdata.ipos.DealStatusChanged', { status: value });
  expect(rating({ action: 'Downgrades', correction: false })).toBe('▼ down');
  expect(rating({ action: 'Upgrades', correction: true })).toBe('↻ corrected');
  expect(['Withdrawn', 'Postponed', 'Priced', 'constructor'].map(status)).toEqual([
    '⚠ alarm',
    '‖ warning',
    '◆ info',
    '◇ info',
  ]);
});

describe('texts of the vendor', () => {
  const hostile = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 600 }),
    fc.constantFrom(
      '<img src=x onerror=alert(1)>',
      '\u202egnp.exe',
      'line\r\nid: 9\nevent: feeds\ndata: []\n\n',
      '\ud800 half',
      '\u2028\u2029\0\u001b[2J',
      '𝕏'.repeat(400),
    ),
  );
  const record = fc.record({ ticker: hostile, name: hostile, deal_status: hostile, notes: hostile });

  it('steer nothing, are never longer than they may be, and stay in their own event', () => {
    fc.assert(
      fc.property(record, record, hostile, hostile, (before, after, key, path) => {
        const changed_fields = ['notes', 'deal_status', `extra.${path}`];
        const images = { before: { ...before, extra: { [path]: key } }, after: { ...after, extra: {} } };
        const { view } = readChange(ipos, envelope({ ...images, changed_fields }, undefined, key));
        const texts = [
          view.key,
          view.symbol,
          view.title,
          ...view.fields.flatMap((one) => Object.values(one)),
        ];
        for (const text of texts as (string | null)[]) {
          if (text === null) continue;
          expect(text).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
          expect(Array.from(text).length).toBeLessThanOrEqual(200);
          expect(text.isWellFormed()).toBe(true);
        }
        expect(eventText('changes', view, '1').split('\n')).toHaveLength(5);
      }),
    );
  });
});
