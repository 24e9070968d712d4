import fc from 'fast-check';
import { timeReader, writeTime } from '../../src/feeds/time-format';
import { runs } from '../support/runs';

const iso = timeReader('iso8601');
const milliseconds = timeReader('milliseconds');
const seconds = timeReader('seconds');

describe('an ISO 8601 time', () => {
  it.each([
    ['2026-01-31T09:30:00Z', 1769851800],
    ['2026-01-31t09:30:00z', 1769851800],
    ['2026-01-31 09:30:00', 1769851800],
    ['2026-01-31T09:30', 1769851800],
    ['2026-01-31T10:30:00+01:00', 1769851800],
    ['2026-01-31T04:00:00-0530', 1769851800],
    ['2026-01-31T10:30:00 +01', 1769851800],
    ['2026-01-31', 1769817600],
    ['2026-01-31T09:30:00.5Z', 1769851800.5],
    ['2026-01-31T09:30:00,250Z', 1769851800.25],
    ['2026-01-31T09:30:00.123456789Z', 1769851800 + 0.123456789],
    ['2028-02-29', 1835395200],
    ['1970-01-01T00:00:00Z', 0],
    ['1969-12-31T23:30:00-01:00', 1800],
    ['2016-12-31T23:59:60Z', 1483228800],
    ['1969-12-31T23:59:59Z', 0],
    ['0001-01-01T00:00:00', 0],
    ['0000-00-00', 0],
    ['0000-00-00 00:00:00', 0],
    ['0000-00-00T00:00:00.000Z', 0],
    ['0031-01-01T00:00:00+05:00', 0],
  ])('%s is %d', (text, expected) => expect(iso(text)).toBe(expected));

  it.each([
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '0000-00-10',
    '0000-00-00 00:00:01',
    '2026-01-32',
    '2026-01-31T24:00:00Z',
    '2026-01-31T09:60:00Z',
    '2026-01-31T09:30:61Z',
    '2026-01-31T09:30:00+24:00',
    '31.01.2026',
    '2026-01-31T',
    '2026-01-31T09:30:00.Z',
    ' 2026-01-31',
    '',
    1769851800,
    null,
    undefined,
  ])('%j is none', (raw) => expect(iso(raw)).toBeNull());

  it('is what Date makes of it, with any offset and up to milliseconds (property)', () => {
    const date = fc.date({
      min: new Date(86_400_000),
      max: new Date('9999-12-31T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(date, fc.integer({ min: -1439, max: 1439 }), (at, offset) => {
        const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
        const zone = `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
        fc.pre(local.length === 23);
        const read = iso(local + zone)!;
        expect(Math.round(read * 1000)).toBe(at.getTime());
        expect(iso(writeTime(read, 'iso8601'))).toBe(Math.floor(read));
      }),
      { numRuns: runs(200) },
    );
  });

  it('dates that no calendar has are none (property)', () => {
    const part = (max: number) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(2, '0'));
    fc.assert(
      fc.property(fc.integer({ min: 1970, max: 2400 }), part(13), part(32), (year, month, day) => {
        const text = `${year}-${month}-${day}`;
        const date = new Date(`${text}T00:00:00Z`);
        const isReal = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
        expect(iso(text)).toBe(isReal ? date.getTime() / 1000 : null);
      }),
      { numRuns: runs(300) },
    );
  });
});

it('milliseconds keep their fraction of a second, and are asked for as they came', () => {
  expect(milliseconds(1769851800123)).toBe(1769851800.123);
  expect(milliseconds('1769851800123')).toBe(1769851800.123);
  expect(writeTime(milliseconds(1769851800123)!, 'milliseconds')).toBe('1769851800123');
  for (const raw of [-1, 1.5, '1.5', 'x', '', null, 2 ** 53]) expect(milliseconds(raw)).toBeNull();
});

it('microseconds are no time, in any unit', () => {
  for (const raw of [1_769_851_800_123_456, '1769851800123456', 253_402_300_800_000])
    expect([seconds(raw), milliseconds(raw)]).toEqual([null, null]);
  const last = 253_402_300_799_000;
  expect([seconds(last), milliseconds(last)]).toEqual([last / 1_000, last / 1_000]);
});

it('seconds are whole', () => {
  expect([5, '5', 5.9, 1769851800123].map(seconds)).toEqual([5, 5, 5, 1769851800]);
});
