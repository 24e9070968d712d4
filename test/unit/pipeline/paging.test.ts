import fc from 'fast-check';
import { type PageFacts, pageFacts } from '../../../src/pipeline/page-facts';
import { inferPaging, showOrder } from '../../../src/pipeline/paging';

type Row = { id: string; updated: number };
const rows = (count: number, perSecond = 1): Row[] =>
  Array.from({ length: count }, (_, i) => ({ id: `r${i}`, updated: 1000 + Math.floor(i / perSecond) }));

/** What a server shows for a value of its paging parameter. */
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
      { numRuns: 5000 },
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

  it('is not shown by a later page with older rows', () => {
    const all = rows(30, 10).reverse();
    expect(showOrder([0, 1, 2].map((value) => show(all, 'page', 0, 10, value)))).toBe(false);
  });
});
