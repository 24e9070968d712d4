import { HighwaterError } from '../../../src/errors';
import { PageReader } from '../../../src/pipeline/scan/pages/page-reader';
import { PageWalk } from '../../../src/pipeline/scan/pages/page-walk';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import type { WalkEnd, Window } from '../../../src/pipeline/scan/pages/window';
import { createRandom } from '../../../src/simulator/random';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';

type Row = readonly [id: string | null, updated: number | null];

/**
 * Walks the pages of a server that answers with `show(page, request, pageSize)`, two rows a page; requests count from 1.
 * @returns how the walk went, and the pages that were asked for
 */
async function walk(
  show: (page: number, request: number, pageSize: number) => readonly Row[],
  window: Partial<Window> = {},
): Promise<{ end: WalkEnd; next: number | null; asked: readonly number[]; pages: number }> {
  const source = pagedSource(({ pageOffset, pageSize }, request) =>
    show(pageOffset, request, pageSize).map(([id, updated]) => ({ id, updated })),
  );
  const feed = testFeed('ipos');
  const reader = new PageReader(feed, source, unknownPaging(2), new AbortController().signal);
  const walked = new PageWalk(feed, reader, { from: 100, second: null, reach: 1000, ...window });
  const steps = walked.pages();
  for (let pages = 0; ; pages++) {
    const { done, value: end } = await steps.next();
    const asked = source.asked.map(({ pageOffset }) => pageOffset);
    if (done) return { end, next: walked.next, asked, pages };
  }
}

const pagesOf = (rows: readonly Row[]) => (page: number) => rows.slice(2 * page, 2 * page + 2);
const five: readonly Row[] = ['a', 'b', 'c', 'd', 'e'].map((id) => [id, 100]);
const tooLarge = () => {
  throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
};

describe('a walk over pages', () => {
  it('climbs to the first empty page, and is done when it has seen nothing new on the way down', async () => {
    expect(await walk(pagesOf(five))).toEqual({
      end: 'all-read',
      next: null,
      asked: [0, 1, 2, 3, 3, 2, 1, 0],
      pages: 8,
    });
  });

  it('of one second ends with the first page that goes beyond it, and returns the least second behind', async () => {
    const rows: readonly Row[] = [...five, ['f', 103], ['g', 102], ['h', 101]];
    expect(await walk(pagesOf(rows), { second: 100 })).toMatchObject({
      end: 'all-read',
      next: 101,
      asked: [0, 1, 2, 3, 4, 2, 1, 0],
    });
    const mixed: readonly Row[] = [...five.slice(0, 4), ['f', 103], ['g', 102], ['h', 101]];
    expect(await walk(pagesOf(mixed), { second: 100 })).toMatchObject({
      next: 101,
      asked: [0, 1, 2, 3, 4, 2, 1, 0],
    });
  });

  it('of everything has rows of all seconds, and those without any', async () => {
    const rows: readonly Row[] = [
      ['a', 300],
      ['b', null],
      ['c', 200],
      [null, null],
    ];
    expect(await walk(pagesOf(rows))).toMatchObject({ end: 'all-read', next: null });
    expect(await walk(pagesOf(rows.slice(1, 2)), { second: 100 })).toMatchObject({
      ...{ end: 'all-read', next: null, asked: [0, 1, 1, 0] },
    });
  });

  it('is begun again for what is new, with an id or without one', async () => {
    for (const id of ['new', null]) {
      const grown: readonly Row[] = [...five, [id, 100]];
      const { end, asked } = await walk((page, request) => pagesOf(request < 6 ? five : grown)(page));
      expect(end).toBe('all-read');
      expect(asked).toEqual([0, 1, 2, 3, 3, 2, 1, 0, 3, 2, 1, 0]);
    }
  });

  it('is begun again when a row came twice: another one may be hidden behind it', async () => {
    const shown = (page: number, request: number): readonly Row[] =>
      request === 6 ? five.slice(0, 2) : pagesOf(five)(page);
    // The first page shows that another page size is not taken.
    expect((await walk(shown)).asked).toEqual([0, 1, 2, 3, 3, 2, 1, 0, 0, 3, 2, 1, 0]);
  });

  it('is begun again when a row came twice and the page that ends the window holds others', async () => {
    const ids = 'abcdefg'.split('').map((id): Row => [id, 100]);
    const rows: readonly Row[] = [...ids, ['later', 101]];
    // Until request 9, row d stands in the place of row f.
    const shown = (page: number, request: number): readonly Row[] =>
      page === 2 && request < 9 ? [rows[3]!, rows[4]!] : pagesOf(rows)(page);
    const { end, asked } = await walk(shown, { second: 100 });
    expect(end).toBe('all-read');
    expect(asked).toEqual([0, 1, 2, 3, 4, 3, 2, 1, 0, 0, 3, 2, 1, 0, 3, 2, 1, 0]);
  });

  it('does not take rows without a time behind its second for the row that came twice', async () => {
    const rows: readonly Row[] = [...five, ['later', 101], ['x', null], ['y', null], ['z', 102]];
    const shown = (page: number): readonly Row[] => (page === 1 ? [five[0]!, five[2]!] : pagesOf(rows)(page));
    expect((await walk(shown, { second: 100 })).end).toBe('repeated');
  });

  it('is given up when only the page that ends the window brings something new each time', async () => {
    const shown = (page: number, request: number): readonly Row[] =>
      page !== 2
        ? pagesOf(five)(page)
        : [
            [`r${request}`, 100],
            ['later', 101],
          ];
    expect((await walk(shown, { second: 100 })).end).toBe('not-settled');
  });

  it('counts rows without an id once each, by what they hold', async () => {
    const rows: readonly Row[] = [
      [null, 100],
      [null, 100],
      [null, 101],
      ['a', 100],
    ];
    expect(await walk(pagesOf(rows))).toMatchObject({ end: 'all-read', asked: [0, 1, 2, 2, 1, 0] });
  });

  it('is given up after twenty that all brought something new', async () => {
    const { end, pages } = await walk((page, request) => (page === 0 ? [[`r${request}`, 100]] : []));
    expect(end).toBe('not-settled');
    expect(pages).toBe(2 + 20 * 2);
  });

  it('ends at a row that is older than its second: on the first page it came late, behind that nothing is in order', async () => {
    const older =
      (at: number) =>
      (page: number, request: number): readonly Row[] =>
        request === at ? [['old', 99]] : pagesOf(five)(page);
    const ends: string[] = [];
    for (const at of [1, 2, 3, 6, 8]) ends.push((await walk(older(at), { second: 100 })).end);
    expect(ends).toEqual(['begin-again', 'not-in-order', 'not-in-order', 'not-in-order', 'begin-again']);
    // In a walk over everything from an anchor on, no row is too old.
    expect((await walk((page) => pagesOf(five.map(([id]) => [id, 99]))(page))).end).toBe('all-read');
  });

  it('ends when fewer records have to be asked for, with what it knows of the second behind', async () => {
    const rows: readonly Row[] = [...five, ['f', 103]];
    const shown = (at: number) => (page: number, request: number) =>
      request === at ? tooLarge() : pagesOf(rows)(page);
    expect(await walk(shown(2), { second: 100 })).toMatchObject({ end: 'page-size-changed', next: null });
    expect(await walk(shown(5), { second: 100 })).toMatchObject({ end: 'page-size-changed', next: 103 });
  });

  it('shows all rows of shuffled ties, though others leave the window meanwhile', async () => {
    const hidden: number[] = [];
    for (let seed = 1; seed <= 60; seed++) {
      const random = createRandom(seed);
      let rows = Array.from({ length: 20 }, (_, i): Row => [`r${i}`, 100]);
      const seen = new Set<string>();
      let leaving = 3;
      const shown = (page: number): readonly Row[] => {
        if (leaving > 0 && random.chance(0.05) && leaving-- > 0)
          rows.splice(random.int(0, rows.length - 1), 1);
        rows = rows
          .map((row) => ({ row, at: random.next() }))
          .sort((a, b) => a.at - b.at)
          .map(({ row }) => row);
        const found = pagesOf(rows)(page);
        for (const [id] of found) seen.add(id!);
        return found;
      };
      const { end } = await walk(shown, { second: 100 });
      if (end === 'all-read' && rows.some(([id]) => !seen.has(id!))) hidden.push(seed);
    }
    expect(hidden).toEqual([]);
  });

  it('goes as far as paging reaches, and no further', async () => {
    for (const reach of [5, 6]) {
      const { end, asked } = await walk(pagesOf(five), { reach });
      expect([end, Math.max(...asked)]).toEqual(['all-read', 2]);
    }
    await expect(walk(pagesOf(five), { reach: 4 })).rejects.toMatchObject({
      code: 'SCAN_BEYOND_REACH',
      message: expect.stringContaining('window from 100'),
    });
    await expect(walk(pagesOf(five), { reach: 4, second: 100 })).rejects.toThrow('second 100');
  });

  it('comes to no end where paging is ignored, and says so after ten pages without a new row', async () => {
    let requests = 0;
    const same = (_page: number, request: number): readonly Row[] => {
      requests = request;
      return [
        ['a', 100],
        [null, 100],
      ];
    };
    await expect(walk(same)).rejects.toMatchObject({
      code: 'SCAN_PAGING_IGNORED',
      message: expect.stringContaining('12 pages from 100 on show the same 2 records'),
    });
    expect(requests).toBe(12);
  });

  it('begins again within 30 requests of a short list that is reordered and grows while it is read', async () => {
    const created = Array.from({ length: 1_000 }, (_, i) => [`n${i}`, 4_000_000_000] as const);
    const source = pagedSource((_, request) => {
      const list = [...five, ...created.slice(0, request / 3)];
      return list
        .map((_row, i) => list[(i + request) % list.length]!)
        .map(([id, updated]) => ({ id, updated }));
    });
    const feed = testFeed('ipos');
    const reader = new PageReader(feed, source, unknownPaging(100), new AbortController().signal);
    const walk = new PageWalk(feed, reader, { from: 100, second: null, reach: 1_000_000 });
    const pages = walk.pages(await reader.readFirst(100));
    let end = await pages.next();
    while (!end.done) end = await pages.next();
    expect(end.value).toBe('begin-again');
    expect(source.asked.length).toBeLessThan(30);
  });

  it('over pages that begin with the last row of the page before ends when twenty rows have come in the same places', async () => {
    const overlapping = (page: number, _request: number, size: number) =>
      page === 0 ? five.slice(0, size) : five.slice(size * page - 1, size * page - 1 + size);
    const { end, pages } = await walk(overlapping);
    expect(end).toBe('all-read');
    expect(pages).toBeLessThan(50);
  });

  it('over numbers from 1 is complete though the first page comes twice', async () => {
    expect((await walk((page) => pagesOf(five)(Math.max(0, page - 1)))).end).toBe('all-read');
  });

  it('over a page that comes in the place of another one says that rows are repeated', async () => {
    const twice = (page: number) => pagesOf(five)(page === 2 ? 1 : page);
    expect((await walk(twice)).end).toBe('repeated');
  });
});
