import fc from 'fast-check';
import { usualShape } from '../../../src/feeds/definition';
import { rowKeys } from '../../../src/feeds/row-keys';
import {
  bringsNothingNew,
  pageFacts as factsOf,
  type PageFacts,
  repeats,
} from '../../../src/pipeline/scan/pages/page-facts';
import {
  inferPaging,
  pageOffset,
  showOrder,
  unknownPaging,
  withPageSize,
  withUnit,
} from '../../../src/pipeline/scan/pages/paging';
import { runs } from '../../support/runs';

const pageFacts = (rows: readonly unknown[]) => factsOf(rows, rowKeys(usualShape));

type Row = { id: string; updated: number };
const rows = (count: number, perSecond = 1): Row[] =>
  Array.from({ length: count }, (_, i) => ({ id: `r${i}`, updated: 1000 + Math.floor(i / perSecond) }));

/** A server's rows for a value of its paging parameter. */
function show(
  all: readonly Row[],
  unit: 'page' | 'record',
  base: 0 | 1,
  size: number,
  value: number,
): PageFacts {
  const counted = Math.max(0, value - base);
  const from = unit === 'page' ? counted * size : counted;
  return pageFacts(all.slice(from, from + size));
}

it('pages are asked for by index from 0 until the paging is known, then by what was learned', () => {
  const unknown = unknownPaging(50);
  expect(unknown).toMatchObject({ unit: null, firstPage: 0, pageSize: 50, longestPage: null, ordered: true });
  const offsets = (paging: typeof unknown) => [0, 1, 2].map((n) => pageOffset(paging, n, 20 * n));
  expect(offsets(unknown)).toEqual([0, 1, 2]);
  expect(offsets({ ...unknown, unit: 'page', firstPage: 1 })).toEqual([0, 2, 3]);
  expect(offsets({ ...unknown, unit: 'record', firstPage: 1 })).toEqual([0, 21, 41]);
  expect(offsets({ ...unknown, begin: 1 })).toEqual([1, 2, 3]);
  expect(offsets({ ...unknown, begin: 1, unit: 'record' })).toEqual([1, 21, 41]);
});

it('another page size says nothing about the length of pages, and leaves the rest as known', () => {
  const known = {
    ...unknownPaging(50),
    unit: 'record',
    firstPage: 1,
    longestPage: 40,
    ordered: false,
  } as const;
  expect(withPageSize(known, 20)).toEqual({ ...known, pageSize: 20, longestPage: null });
});

describe('what three pages tell of the paging', () => {
  it.each([
    ['page', 0],
    ['page', 1],
    ['record', 0],
    ['record', 1],
  ] as const)('counting %ss from %d', (unit, firstPage) => {
    for (const [count, perSecond, size] of [
      [100, 1, 30],
      [25, 1, 30],
      [500, 30, 100],
      [100, 100, 30],
    ] as const) {
      const [zero, one, two] = [0, 1, 2].map((value) =>
        show(rows(count, perSecond), unit, firstPage, size, value),
      );
      expect(inferPaging(zero!, one!, two!)).toEqual({ unit, firstPage });
    }
  });

  it('nothing, when the row that would go missing has no id', () => {
    const all = rows(50) as { id: string | null; updated: number }[];
    all[0] = { id: null, updated: 1000 };
    const [zero, one, two] = [0, 1, 2].map((value) => show(all as Row[], 'record', 0, 30, value));
    expect(inferPaging(zero!, one!, two!)).toBeNull();
  });

  it('nothing, when there are too few rows', () => {
    const [zero, one, two] = [0, 1, 2].map((value) => show(rows(19), 'record', 0, 30, value));
    expect(inferPaging(zero!, one!, two!)).toBeNull();
  });

  it('something from 20 rows on', () => {
    const [zero, one, two] = [0, 1, 2].map((value) => show(rows(20), 'record', 0, 30, value));
    expect(inferPaging(zero!, one!, two!)).toEqual({ unit: 'record', firstPage: 0 });
  });

  it('as much when rows of the page’s last second change places, and rows without an id lie between', () => {
    const tied = [20, 21, 22].map((i) => ({ id: `r${i}`, updated: 2000 }));
    const nameless = (updated: number) => ({ id: null, updated });
    const zero = pageFacts([...rows(20), nameless(1500), ...tied]);
    const one = pageFacts([nameless(2000), tied[1]!, { id: 's', updated: 2001 }]);
    const two = pageFacts([{ id: 't', updated: 2002 }]);
    expect(inferPaging(zero, one, two)).toEqual({ unit: 'page', firstPage: 0 });
    const oneSecond = pageFacts([...rows(20, 20), nameless(1000)]);
    expect(inferPaging(oneSecond, one, two)).toEqual({ unit: 'page', firstPage: 0 });
  });

  it('nothing, when they fit no way of counting', () => {
    const all = rows(60);
    const zero = pageFacts(all.slice(0, 30));
    const from = (first: number) => pageFacts(all.slice(first, first + 30));
    const unclear = [
      [30, 0],
      [0, 0],
      [3, 2],
      [2, 1],
      [1, 1],
      [0, 2],
    ] as const;
    for (const [one, two] of unclear) expect(inferPaging(zero, from(one), from(two))).toBeNull();
  });

  it('nothing, when rows that are removed meanwhile are not the first ones', () => {
    const all = rows(30);
    const without = (...gone: number[]) => pageFacts(all.filter((_, i) => !gone.includes(i)));
    expect(inferPaging(pageFacts(all), without(7), without(7, 12))).toBeNull();
    expect(inferPaging(pageFacts(all), without(0), without(0, 1))).toEqual({ unit: 'record', firstPage: 0 });
  });

  it('that what was known is not so: then it is unknown until it shows again', () => {
    const known = (unit: 'page' | 'record', firstPage = 0) => ({ ...unknownPaging(30), unit, firstPage });
    const shown = (unit: 'page' | 'record', firstPage: 0 | 1, size = 30) =>
      [0, 1, 2].map((value) => show(rows(100), unit, firstPage, size, value)) as [
        PageFacts,
        PageFacts,
        PageFacts,
      ];
    const unknown = { unit: null, firstPage: 0 };
    for (const size of [7, 30]) {
      expect(withUnit(known('record'), ...shown('page', 0, size))).toMatchObject(unknown);
      expect(withUnit(known('record'), ...shown('page', 1, size))).toMatchObject(unknown);
      expect(withUnit(known('page'), ...shown('record', 0, size))).toMatchObject(unknown);
      // Ties that change places may bring the last row of a page once more.
      const [zero, one, two] = shown('page', 0, size);
      const turned = { ...one, keys: [zero.keys.at(-1)!, ...one.keys.slice(1)] };
      expect(withUnit(known('record'), zero, turned, two)).toMatchObject(unknown);
      // They counted from 1 before: the second page, or its first row, would never be read.
      for (const unit of ['page', 'record'] as const)
        expect(withUnit(known(unit, 1), ...shown(unit, 0, size))).toMatchObject(unknown);
      for (const unit of ['page', 'record'] as const)
        for (const first of [0, 1] as const)
          expect(withUnit(known(unit, first), ...shown(unit, first, size))).toEqual(known(unit, first));
    }
    expect(withUnit(unknownPaging(30), ...shown('record', 0))).toEqual(known('record'));
  });

  it('nothing, when a row was updated between two of them', () => {
    const all = rows(30);
    const [zero, two] = [pageFacts(all), pageFacts(all.slice(2))];
    const moved = all.slice(1).map((row) => (row.id === 'r7' ? { ...row, updated: 9999 } : row));
    expect(inferPaging(zero, pageFacts(all.slice(1)), two)).toEqual({ unit: 'record', firstPage: 0 });
    expect(inferPaging(zero, pageFacts(moved), two)).toBeNull();
  });

  it('nothing, when rows without a time are missing from the middle of pages that are alike', () => {
    const all = rows(30).map(({ id }) => ({ id }));
    const without = (...ids: string[]) => pageFacts(all.filter(({ id }) => !ids.includes(id)));
    expect(inferPaging(pageFacts(all), without('r0'), without('r0', 'r1'))).toMatchObject({ unit: 'record' });
    expect(inferPaging(pageFacts(all), without('r7'), without('r7', 'r9'))).toBeNull();
  });

  it('never what would skip records, whatever moves meanwhile (property)', () => {
    const world = fc.record({
      count: fc.integer({ min: 1, max: 150 }),
      perSecond: fc.constantFrom(1, 3, 30),
      size: fc.constantFrom(10, 30, 100),
      unit: fc.constantFrom('page' as const, 'record' as const),
      base: fc.constantFrom(0 as const, 1 as const),
      moves: fc.array(fc.array(fc.nat(149), { maxLength: 5 }), { minLength: 2, maxLength: 2 }),
    });
    fc.assert(
      fc.property(world, ({ count, perSecond, size, unit, base, moves }) => {
        let all = rows(count, perSecond);
        const pages = [0, 1, 2].map((value) => {
          const page = show(all, unit, base, size, value);
          for (const at of moves[value] ?? []) {
            const moved = all[at % all.length]!;
            all = [...all.filter((row) => row !== moved), { id: moved.id, updated: 5000 + value }];
          }
          return page;
        });
        const inferred = inferPaging(pages[0]!, pages[1]!, pages[2]!);
        if (inferred === null) return;
        // By index from 0 repeats records at worst. Anything else has to be so.
        if (inferred.unit === 'page' && inferred.firstPage === 0) return;
        expect(inferred).toEqual({ unit, firstPage: inferred.firstPage === 0 ? 0 : base });
      }),
      { numRuns: runs(600) },
    );
  });
});

describe('order', () => {
  it('is shown by pages that follow each other, repeat or are empty', () => {
    const all = rows(30, 2);
    expect(showOrder([0, 1, 2].map((value) => show(all, 'page', 0, 10, value)))).toBe(true);
    expect(showOrder([0, 1, 2].map((value) => show(all, 'record', 1, 10, value)))).toBe(true);
    expect(showOrder([0, 1, 2].map((value) => show(rows(4), 'page', 0, 10, value)))).toBe(true);
  });

  it('is shown by pages that meet within a second, and not by one that is not in order itself', () => {
    const all = rows(30, 2);
    expect(showOrder([0, 1, 2].map((value) => show(all, 'page', 0, 5, value)))).toBe(true);
    expect(showOrder([pageFacts(all.slice(0, 5).reverse())])).toBe(false);
  });

  it('is not shown by a later page with older rows', () => {
    const all = rows(30, 10).reverse();
    expect(showOrder([0, 1, 2].map((value) => show(all, 'page', 0, 10, value)))).toBe(false);
  });
});

describe('what a page shows', () => {
  const odd = { updated: 7, name: 'x' };
  const page = pageFacts([{ id: 'a', updated: 5 }, odd, { id: 'b' }, { id: 'c', updated: 3 }]);

  it('rows without an id or a time stamp among others', () => {
    expect(page).toEqual({
      length: 4,
      ids: ['a', null, 'b', 'c'],
      keys: ['a', '\0{"name":"x","updated":7}', 'b', 'c'],
      updated: [5, 7, null, 3],
      least: 3,
      greatest: 7,
      last: 3,
      ascending: false,
    });
    expect(pageFacts([{ id: 'a' }])).toMatchObject({
      ...{ least: null, greatest: null, last: null, ascending: true },
    });
    expect(pageFacts(rows(4, 2)).ascending).toBe(true);
  });

  it('nothing new, when it has some rows of an earlier one; the same again, when it has all', () => {
    const part = pageFacts([odd, { id: 'a', updated: 9 }]);
    const other = pageFacts([{ ...odd, name: 'y' }, { id: 'a' }, { id: 'b' }, { id: 'c' }]);
    expect([part, other, page].map((later) => bringsNothingNew(later, page))).toEqual([true, false, true]);
    expect([part, other, page].map((later) => repeats(later, page))).toEqual([false, false, true]);
    const empty = pageFacts([]);
    expect(repeats(empty, empty)).toBe(false);
  });
});
