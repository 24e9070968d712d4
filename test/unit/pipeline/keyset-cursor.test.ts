import { usualShape } from '../../../src/feeds/definition';
import { rowKeys } from '../../../src/feeds/row-keys';
import { type KeysetCursor, nextStep } from '../../../src/pipeline/scan/keyset-cursor';
import { pageFacts as factsOf } from '../../../src/pipeline/scan/pages/page-facts';

const pageFacts = (rows: readonly unknown[]) => factsOf(rows, rowKeys(usualShape));

const page = (...updated: (number | null)[]) =>
  pageFacts(updated.map((second, i) => ({ id: `r${i}`, updated: second })));
const cursor: KeysetCursor = { anchor: 100, expectsRows: false, leaps: 0 };
const past = { fullPage: null, pin: 1000, now: 1000 };

describe('a scan in order goes on', () => {
  it('from the last second of a page', () => {
    const step = nextStep({ ...cursor, leaps: 2 }, page(100, 110, 120), past);
    expect(step).toEqual({ kind: 'anchor', cursor: { anchor: 120, expectsRows: true, leaps: 2 } });
  });

  it('behind a second that fills a page', () => {
    expect(nextStep(cursor, page(120, 120), past)).toEqual({ kind: 'wide-second', second: 120 });
    expect(nextStep(cursor, page(null, null), past)).toEqual({ kind: 'wide-second', second: 100 });
  });

  it('to its end at a page that is shorter than a full one, and only there', () => {
    expect(nextStep(cursor, page(100, 110), { ...past, fullPage: 3 })).toEqual({ kind: 'end' });
    expect(nextStep(cursor, page(100, 110), { ...past, fullPage: 2 })).toMatchObject({ kind: 'anchor' });
  });

  it('with leaps over rows that moved after its pin, each further, and ends after three', () => {
    const moving = { fullPage: null, pin: 110, now: 120 };
    const leap = (leaps: number) => nextStep({ ...cursor, expectsRows: true, leaps }, page(100, 115), moving);
    expect(leap(0)).toEqual({ kind: 'anchor', cursor: { anchor: 121, expectsRows: false, leaps: 1 } });
    expect(leap(1)).toEqual({ kind: 'anchor', cursor: { anchor: 130, expectsRows: false, leaps: 2 } });
    expect(leap(2)).toEqual({ kind: 'anchor', cursor: { anchor: 220, expectsRows: false, leaps: 3 } });
    expect(leap(3)).toEqual({ kind: 'end' });
  });

  it('without a leap at the pin itself and beyond the present; with one at the present', () => {
    const kindAt = (last: number) =>
      nextStep(cursor, page(100, last), { fullPage: null, pin: 110, now: 120 }) as { cursor: KeysetCursor };
    expect(kindAt(110).cursor.leaps).toBe(0);
    expect(kindAt(111).cursor.leaps).toBe(1);
    expect(kindAt(120).cursor.leaps).toBe(1);
    expect(kindAt(121).cursor.leaps).toBe(0);
  });
});
