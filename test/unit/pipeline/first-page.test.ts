import { HighwaterError } from '../../../src/errors';
import { behindFirstPage } from '../../../src/pipeline/scan/pages/first-page';
import { PageReader } from '../../../src/pipeline/scan/pages/page-reader';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import type { ClosableSource } from '../../../src/source/client';
import type { Source } from '../../../src/source/source';
import type { Paging } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';
import { testSource } from '../../support/source';

let api: Simulator;
let source: ClosableSource;

afterEach(async () => {
  source?.close();
  await api?.stop();
});

const byIndex = { ...unknownPaging(1000), unit: 'page' } as const;

async function lookBehind() {
  source = testSource(api);
  const feed = testFeed('ipos');
  const reader = new PageReader(feed, source, byIndex, new AbortController().signal);
  const page = await reader.read(0, 0, 0);
  if (page === 'page-size-changed') throw new Error('the first page is small enough');
  return { end: await behindFirstPage(feed, reader, 0, page), learned: reader.learned() };
}

it.each([0, 1])(
  'a page 0 that fails once and then has no rows is the first page, unless page 1 has %i rows',
  async (count) => {
    const unwell = pagedSource(({ pageOffset }, request) => {
      if (request === 1) throw new HighwaterError('SOURCE_UNAVAILABLE', 'answered 503');
      return pageOffset === 1 ? [{ id: 'r1', updated: 1_000 }].slice(0, count) : [];
    });
    const reader = new PageReader(testFeed('ipos'), unwell, unknownPaging(30), new AbortController().signal);
    await reader.readFirst(0);
    expect([unwell.asked.map(({ pageOffset }) => pageOffset), reader.learned().begin]).toEqual([
      [0, 1, 0],
      count,
    ]);
  },
);

describe('rows behind a short first page', () => {
  it('are no cap when they came between the two requests', async () => {
    api = await startSimulator({ records: { ipos: 20 } });
    api.onRequest((number) => {
      if (number === 2) api.stores.ipos.upsert({ id: 'new' });
    });
    const { end, learned } = await lookBehind();
    expect(end).toBe('begin-again');
    expect(learned.pageSize).toBe(1000);
  });

  it('are a cap when the server cuts the page again', async () => {
    api = await startSimulator({ records: { ipos: 80 }, behaviour: { pageCap: 20 } });
    const { end, learned } = await lookBehind();
    expect(end).toBe('more');
    expect(learned.pageSize).toBe(20);
  });
});

describe('behind a first page', () => {
  const known = { ...unknownPaging(30), unit: 'page' } as const;
  const rows = (count: number, from = 0) =>
    Array.from({ length: count }, (_, i) => ({ id: `r${from + i}`, updated: 1000 + from + i }));

  /** Looks behind the first page of a server that answers by this, and tells what it was asked for. */
  async function look(
    show: (offset: number, size: number, request: number) => readonly unknown[],
    paging: Paging = known,
  ) {
    let before = 0;
    const source = pagedSource(({ pageOffset, pageSize }, request) =>
      show(pageOffset, pageSize, request - before),
    );
    const feed = { ...testFeed('ipos'), pageSize: 30 };
    const reader = new PageReader(feed, source, paging, new AbortController().signal);
    const first = await reader.readFirst(0);
    before = source.asked.length;
    const end = await behindFirstPage(feed, reader, 0, first);
    const asked = source.asked.slice(before).map(({ pageOffset, pageSize }) => [pageOffset, pageSize]);
    return { end: typeof end === 'string' ? end : end.rows, asked, paging: reader.paging() };
  }
  const pages = (all: readonly unknown[]) => (offset: number, size: number) =>
    all.slice(offset * size, (offset + 1) * size);
  const tooLarge = () => {
    throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
  };

  it.each([
    ['is all that there is', {}, null],
    ['is all that there is if it counts its rows', { total: 5 }, null],
    ['leaves some out if it says that more rows follow', { isLast: false }, { by: 'more' }],
    ['leaves some out if it counts more rows', { total: 40 }, { by: 'total', total: 40, shown: 5 }],
  ])('that is short and comes again %s', async (_, said, hidden) => {
    const paged = pagedSource(() => rows(5));
    const source: Source = {
      fetchPage: async (...asked) => ({ ...(await paged.fetchPage(...asked)), ...said }),
    };
    const feed = { ...testFeed('ipos'), pageSize: 30 };
    const reader = new PageReader(feed, source, { ...known, unit: null }, new AbortController().signal);
    await behindFirstPage(feed, reader, 0, await reader.readFirst(0));
    expect(reader.announced.hidden).toEqual(hidden);
  });

  it('that is full there are more pages, which one request shows', async () => {
    expect(await look(pages(rows(60)))).toMatchObject({ end: 'more', asked: [[1, 30]] });
  });

  it('that is short an empty page proves the end when it came twice, and the size stays', async () => {
    const { end, asked, paging } = await look(pages(rows(25)));
    expect([end, asked, paging.pageSize]).toEqual([
      [],
      [
        [1, 25],
        [1, 25],
      ],
      30,
    ]);
  });

  it('that is full an empty page is believed only after a look at how the server pages', async () => {
    const { end, asked } = await look(pages(rows(30)));
    expect([end, asked.map(([offset]) => offset)]).toEqual([[], [1, 1, 0, 1, 1, 2, 2, 1, 1]]);
  });

  it('of few rows the scan learns how the server pages only if there are rows behind it', async () => {
    const unknown = unknownPaging(30);
    expect((await look(pages(rows(19)), unknown)).asked.map(([offset]) => offset)).toEqual([1, 1]);
    expect((await look(pages(rows(20)), unknown)).asked.map(([offset]) => offset)).toEqual([
      0, 1, 1, 2, 2, 1, 1,
    ]);
    const capped = (offset: number, size: number) => pages(rows(25))(offset, Math.min(size, 10));
    const { end, paging, asked } = await look(capped, unknown);
    expect([end, paging.pageSize]).toEqual(['more', 10]);
    expect(asked.map(([offset]) => offset)).toEqual([1, 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 0]);
    const told = await look(capped);
    expect([told.end, told.asked]).toEqual([
      'more',
      [
        [1, 10],
        [0, 30],
      ],
    ]);
  });

  it('that comes again the server counts from 1, as it may have come to do', async () => {
    const fromOne = (offset: number, size: number) => pages(rows(60))(Math.max(0, offset - 1), size);
    const { end, paging } = await look(fromOne);
    expect([end, paging.unit, paging.firstPage]).toEqual(['more', 'page', 1]);
    const small = (offset: number, size: number) => pages(rows(5))(Math.max(0, offset - 1), size);
    const short = await look(small, unknownPaging(30));
    expect([short.end, short.paging.pageSize]).toEqual([[], 30]);
  });

  it('of few rows that comes again there are more pages if a third answer shows them', async () => {
    const unknown = unknownPaging(30);
    const fromOne = (size: number) => (offset: number) => pages(rows(15))(Math.max(0, offset - 1), size);
    const short = await look(fromOne(5), unknown);
    expect([short.end, short.paging.pageSize]).toEqual(['more', 5]);
    expect((await look(fromOne(5), { ...unknown, pageSize: 5 })).end).toBe('more');
  });

  it('that comes again and again, full, there is nothing to see: the server ignores paging', async () => {
    await expect(look(() => rows(30))).rejects.toMatchObject({
      code: 'SCAN_PAGING_IGNORED',
      message: expect.stringContaining('pages 0, 1 and 2 from 0 on show the same 30 records'),
    });
  });

  it('that is short and comes again and again there is nothing, unless it was asked for in part', async () => {
    const { end, paging } = await look(() => rows(5));
    expect([end, paging.pageSize]).toEqual([rows(5), 30]);
    await expect(look(() => rows(5), { ...known, pageSize: 10 })).rejects.toThrow('ignores');
  });

  it('that is short and comes again and again there may be more, if shorter pages come again as well', async () => {
    await expect(look((_, size) => rows(60).slice(0, Math.min(size, 20)))).rejects.toThrow('ignores');
  });

  it('that is short and comes again and again paging does not count as ignored because a row comes meanwhile', async () => {
    for (let moment = 1; moment < 25; moment++) {
      const clamped = (offset: number, size: number, request: number) => {
        const all = rows(request > moment ? 22 : 21);
        const page = all.slice(offset * size, (offset + 1) * size);
        return page.length > 0 ? page : all.slice(0, size);
      };
      expect((await look(clamped)).end).not.toBe('more');
    }
  });

  it('nothing is told when fewer records have to be asked for', async () => {
    for (const at of [1, 2])
      expect(
        (await look((o, s, n) => (n === at ? tooLarge() : pages(rows(45))(o, Math.min(s, 25))))).end,
      ).toBe('page-size-changed');
  });
});

describe('page 1, with which pages began, is refused', () => {
  const readFirst = async (least: number) => {
    const source = pagedSource(({ pageOffset }) => {
      if (pageOffset !== least) throw new HighwaterError('SOURCE_NOT_FOUND', 'no such page');
      return [{ id: 'a', updated: 1000 }];
    });
    const learned = { ...unknownPaging(30), begin: 1, longestPage: 30 };
    const reader = new PageReader(testFeed('ipos'), source, learned, new AbortController().signal);
    const { rows } = await reader.readFirst(500);
    return { rows: rows.length, begin: reader.paging().begin };
  };

  it('since pages come to begin at 0: page 0 is read', async () => {
    expect(await readFirst(0)).toEqual({ rows: 1, begin: 0 });
    expect(await readFirst(1)).toEqual({ rows: 1, begin: 1 });
  });

  it('and so is page 0: the feed has failed', async () => {
    await expect(readFirst(2)).rejects.toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  });
});
