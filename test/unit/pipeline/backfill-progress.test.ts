import { describeProgress } from '../../../src/pipeline/rounds/backfill';
import { dateOf, dayOf, firstSecondOf, isDate, lastSecondOf } from '../../../src/pipeline/scan/date-windows';
import { firstSourceOffset } from '../../../src/state/source-offset';

describe('the progress of a backfill', () => {
  it('is measured by the time spent, not by the time that passed', () => {
    const backfill = {
      from: '2026-01-01',
      to: '2026-01-10',
      next_date: '2026-01-03',
      next_second: null,
      asked_ms: 0,
      spent_ms: 20_000,
      pages: 3,
      rows: 50,
    };
    const offset = { ...firstSourceOffset('insights', 'abcd1234', 'scope'), backfill };
    const now = Date.parse('2026-06-01');
    expect(describeProgress(offset, now)).toEqual({
      done: 0.2,
      rows: 50,
      secondsLeft: 80,
      reached: '2026-01-03',
    });
    const half = { ...backfill, next_date: null, next_second: Date.parse('2026-01-06') / 1000 };
    expect(describeProgress({ ...offset, backfill: half }, now)).toMatchObject({
      done: 0.5,
      secondsLeft: 20,
    });
  });
});

describe('calendar dates', () => {
  it.each(['2026-01-31', '1969-12-31', '2024-02-29', '9999-12-31', '0001-01-01'])('%s is one', (date) => {
    expect(isDate(date)).toBe(true);
    expect(dateOf(dayOf(date))).toBe(date);
  });

  it.each(['2026-02-30', '2026-13-01', '2026-1-1', '2026', '', '2026-01-31T00:00:00Z', '-000001-01'])(
    '%s is none',
    (text) => {
      expect(isDate(text)).toBe(false);
      expect(() => dayOf(text)).toThrow(RangeError);
    },
  );

  it('begin and end by seconds in UTC', () => {
    const day = dayOf('2026-01-31');
    expect(firstSecondOf(day)).toBe(Date.parse('2026-01-31T00:00:00Z') / 1000);
    expect(lastSecondOf(day)).toBe(Date.parse('2026-01-31T23:59:59Z') / 1000);
  });

  it('end with the year 9999', () => {
    expect(dateOf(dayOf('9999-12-31') + 1)).toBe('9999-12-31');
  });
});
