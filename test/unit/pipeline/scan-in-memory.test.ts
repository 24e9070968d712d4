import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { scan } from '../../../src/pipeline/scan/scan';
import type { ScanStart } from '../../../src/pipeline/scan/scan-position';
import type { PageRequest } from '../../../src/source/source';
import type { ScanPage } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';
import { quietLogger } from '../../support/source';

/** The present of both clocks, Unix seconds. */
const PRESENT = 100_000;

interface Row {
  readonly id: string;
  readonly updated?: number;
}

/** Rows of these seconds. */
const at = (...seconds: readonly number[]): Row[] =>
  seconds.map((updated, i) => ({ id: `r${i}-${updated}`, updated }));
const from = (first: number, count: number) => at(...Array.from({ length: count }, (_, i) => first + i));

/** The pages of a server that heeds the filter and gives the oldest first. */
const serving =
  (all: readonly Row[], cap = Number.POSITIVE_INFINITY) =>
  ({ updatedSince, pageOffset, pageSize }: PageRequest): readonly Row[] => {
    const size = Math.min(cap, pageSize);
    return all
      .filter(({ updated }) => updated! >= updatedSince)
      .sort((a, b) => a.updated! - b.updated!)
      .slice(pageOffset * size, (pageOffset + 1) * size);
  };

const known = { ...unknownPaging(30), unit: 'page' } as const;

/** A poll, thirty rows a page, from five seconds before the mark, or six hundred if it is wide. */
async function poll(
  show: (asked: PageRequest, request: number) => readonly unknown[],
  start: Partial<ScanStart> = {},
  overrides: Partial<Feed> = {},
  present = PRESENT,
) {
  const feed = testFeed('ipos', { pageSize: 30, wideOverlapSeconds: 600, pagingLimit: 3000, ...overrides });
  const source = pagedSource(show, present * 1000);
  const logger = quietLogger();
  const whole: ScanStart = { highWaterMark: 50_000, snapshot: false, wide: false, paging: known, ...start };
  const pages: ScanPage[] = [];
  const signal = new AbortController().signal;
  for await (const page of scan(feed, whole, { source, logger }, signal)) pages.push(page);
  const ids = new Set(pages.flatMap(({ rows }) => (rows as Row[]).map(({ id }) => id)));
  const asked = source.asked.map(({ updatedSince, pageOffset }) => [updatedSince, pageOffset]);
  const marks = pages.map(({ progress }) => progress.highWaterMark);
  return {
    ...{ pages, ids, asked, marks, last: pages.at(-1)!.progress },
    ...{ sizes: source.asked.map(({ pageSize }) => pageSize), warnings: logger.warnings },
  };
}

describe('where a scan begins', () => {
  it.each([
    ['before the mark by the overlap', {}, 49_995],
    ['further back if it is wide', { wide: true }, 49_400],
    ['where it is told to', { overlapSeconds: 7 }, 49_993],
    ['where it is told to, though it is wide', { overlapSeconds: 0, wide: true }, 50_000],
    ['at 0 at the earliest', { highWaterMark: 3 }, 0],
  ])('%s', async (_, start, since) => {
    expect((await poll(() => [], start)).asked[0]).toEqual([since, 0]);
  });

  it('before the present, where its mark lies ahead of that, once', async () => {
    const ahead = await poll(serving(from(99_500, 5)), { highWaterMark: 200_000 });
    expect(ahead.asked.slice(0, 3)).toEqual([
      [199_995, 0],
      [199_995, 0],
      [PRESENT - 600, 0],
    ]);
    expect([ahead.ids.size, ahead.last.highWaterMark]).toEqual([5, 99_504]);
    const asked = await poll(() => [], { highWaterMark: 200_000, overlapSeconds: 5 });
    expect(asked.asked.every(([since]) => since === 199_995)).toBe(true);
    const now = await poll(() => [], { highWaterMark: PRESENT + 5 });
    expect(now.asked[0]).toEqual([PRESENT, 0]);
  });

  it('with the full page size again, if it is wide', async () => {
    const paging = { ...known, pageSize: 25, longestPage: 25 };
    expect((await poll(() => [], { paging, wide: true })).sizes[0]).toBe(30);
    expect((await poll(() => [], { paging })).sizes[0]).toBe(25);
    expect((await poll(() => [], { paging: { ...known, pageSize: 40 }, wide: true })).sizes[0]).toBe(40);
  });

  it.each([
    ['the whole feed', { whole: true }, true],
    ['a first snapshot', { snapshot: true, highWaterMark: 0 }, true],
    ['a snapshot that goes on', { snapshot: true }, false],
    ['a poll', {}, false],
    ['a poll of a feed without a mark', { highWaterMark: 0 }, false],
    ['the whole of a feed whose paging is known', { whole: true, paging: known }, true],
    ['a first snapshot whose paging is known', { snapshot: true, highWaterMark: 0, paging: known }, false],
  ])('%s: its paging is looked at or not', async (_, start, isLooked) => {
    const { asked } = await poll(serving(from(50_100, 70)), { paging: unknownPaging(30), ...start });
    const looks = asked.slice(0, 3).map(([since, offset]) => `${since} ${offset}`);
    expect(looks.join() === '0 0,0 1,0 2').toBe(isLooked);
  });
});

describe('where a scan ends', () => {
  it.each([
    ['a poll at a page that is shorter than others', {}, true],
    ['a wide poll not before an empty page', { wide: true }, false],
    ['a snapshot not before an empty page', { snapshot: true }, false],
  ])('%s', async (_, start, isOne) => {
    const paging = { ...known, longestPage: 30 };
    const { asked, last, ids } = await poll(serving(from(50_000, 9)), { ...start, paging });
    expect(asked.length === 1).toBe(isOne);
    expect([ids.size, last.complete, last.highWaterMark]).toEqual([9, true, 50_008]);
  });

  it('at an empty answer, which has to come twice where rows were', async () => {
    const twice = await poll(() => [], { paging: { ...known, lagTestedAt: 50_000 } });
    expect(twice.asked).toHaveLength(2);
    expect(twice.last).toMatchObject({ complete: true, highWaterMark: 50_000, shownBelow: 49_995 });
    expect((await poll(() => [], { highWaterMark: 0 })).asked).toHaveLength(1);
    expect((await poll(() => [], { highWaterMark: 0, snapshot: true })).asked.length).toBeGreaterThan(1);
    const once = await poll((asked, request) => (request === 1 ? [] : serving(from(50_000, 5))(asked)));
    expect(once.ids.size).toBe(5);
  });

  it('with the mark at its newest row, but not past the present', async () => {
    const { last, marks } = await poll(serving(from(50_000, 100)));
    expect(last).toMatchObject({ highWaterMark: 50_099, settled: true, duringSnapshot: false });
    expect(marks).toEqual([...marks].sort((a, b) => a - b));
    const ahead = await poll(serving(at(50_001, PRESENT + 7, PRESENT + 9)));
    expect([ahead.ids.size, ahead.last.highWaterMark]).toEqual([3, PRESENT]);
  });
});

describe('an order', () => {
  const show = serving(from(49_996, 3).concat(from(50_100, 2)));
  const newestFirst = (asked: PageRequest) => [...show(asked)].reverse();

  it('is not given up because one answer does not have it', async () => {
    const odd = await poll((asked, request) => (request === 1 ? newestFirst(asked) : show(asked)));
    expect([odd.ids.size, odd.last.paging.ordered]).toEqual([5, true]);
  });

  it('is given up if two answers do not have it, with the mark where it began', async () => {
    const { pages, ids, last } = await poll(newestFirst);
    expect(pages[0]).toMatchObject({
      rows: [],
      progress: { complete: false, shownBelow: 0, highWaterMark: 50_000, paging: { ordered: false } },
    });
    expect(ids.size).toBe(5);
    expect(last).toMatchObject({ complete: true, highWaterMark: 50_101, paging: { ordered: false } });
    const snapshot = await poll(newestFirst, { snapshot: true });
    expect(snapshot.pages[0]!.progress).toMatchObject({ highWaterMark: 0, shownBelow: 0 });
    expect(snapshot.asked.at(-1)![0]).toBe(0);
  });

  it('is not there if rows are older than what is asked for', async () => {
    const { last } = await poll(({ pageOffset }) => (pageOffset === 0 ? from(40_000, 9) : []));
    expect(last.paging.ordered).toBe(false);
    const exact = await poll(serving(from(49_995, 9)));
    expect(exact.last.paging.ordered).toBe(true);
  });

  it('is trusted again beyond what paging reaches, if the rows still come oldest first', async () => {
    const all = from(50_000, 200);
    const paging = { ...known, ordered: false };
    const { ids, last } = await poll(serving(all), { paging }, { pagingLimit: 90 });
    expect([ids.size, last.paging.ordered, last.settled]).toEqual([200, true, true]);
    let requests = 0;
    const fails = poll(
      (asked) => {
        requests++;
        const rows = serving(all)(asked);
        return requests > 7 ? [...rows].reverse() : rows;
      },
      { paging },
      { pagingLimit: 90 },
    );
    await expect(fails).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
  });
});

describe('a second that is wider than a page', () => {
  const wide = Array.from({ length: 70 }, (_, i) => ({ id: `w${i}`, updated: 50_100 }));

  it('is walked, and the scan goes on at the next second that has rows', async () => {
    const { ids, asked, last } = await poll(serving([...from(49_990, 8), ...wide, ...from(50_200, 4)]));
    expect(ids.size).toBe(3 + 70 + 4);
    expect(asked.some(([since]) => since === 50_200)).toBe(true);
    expect(last).toMatchObject({ highWaterMark: 50_203, complete: true, settled: true });
  });

  it('is the end if nothing is behind it', async () => {
    const { ids, last } = await poll(serving(wide));
    expect(ids.size).toBe(70);
    expect(last).toMatchObject({ highWaterMark: 50_100, shownBelow: 50_101, complete: true });
    expect((await poll(serving(wide.slice(0, 9)))).last).toMatchObject({
      ...{ highWaterMark: 50_100, shownBelow: 50_101, complete: true },
    });
  });

  it('moves the mark when it has been read, and not before', async () => {
    const { pages } = await poll(serving([...wide, ...from(50_200, 4)]));
    const walked = pages.filter(({ rows }) => (rows as Row[]).some(({ id }) => id.startsWith('w')));
    const marks = walked.map(({ progress: { highWaterMark, shownBelow } }) => [highWaterMark, shownBelow]);
    expect(new Set(marks.map(String))).toEqual(new Set(['50000,49995']));
  });

  it('with rows that keep coming is given up: that is warned of, and the scan is not settled', async () => {
    let next = 0;
    const { last, warnings } = await poll(({ updatedSince, pageOffset }) =>
      updatedSince > 0 && updatedSince <= 50_100 && pageOffset < 2
        ? Array.from({ length: pageOffset === 0 ? 30 : 5 }, () => ({ id: `n${next++}`, updated: 50_100 }))
        : [],
    );
    expect(warnings).toEqual([expect.stringContaining('kept changing while they were read')]);
    expect(last).toMatchObject({ settled: false, complete: true });
  });

  it('is given up early if a page shows the rows of another one in each walk', async () => {
    const show = serving(wide);
    const { asked, last, warnings } = await poll((request) =>
      show(request.pageOffset === 2 ? { ...request, pageOffset: 1 } : request),
    );
    expect(warnings).toEqual([expect.stringContaining('the API ignores paging in part')]);
    expect(last).toMatchObject({ settled: false, complete: true });
    expect(asked.length).toBeLessThan(80);
  });

  it('is complete if the API counts rows that it does not show', async () => {
    const all: Row[] = [...wide, ...from(50_200, 100)];
    const isShown = (row: Row) => !/[258]$/.test(row.id);
    const { ids, last } = await poll(
      ({ updatedSince, pageOffset, pageSize }) =>
        all
          .filter(({ updated }) => updated! >= updatedSince)
          .slice(pageOffset, pageOffset + pageSize)
          .filter(isShown),
      { snapshot: true },
      { paging: { style: 'offset' } },
    );
    expect([ids.size, last.settled]).toEqual([all.filter(isShown).length, true]);
  });

  it('is read though its pages are too large, and get smaller on the way', async () => {
    const { ids, last } = await poll((asked) => {
      if (asked.pageSize > 8 && asked.pageOffset > 0)
        throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
      return serving(wide)(asked);
    });
    expect([ids.size, last.complete, last.settled]).toEqual([70, true, true]);
  });
});

it('a wide poll learns that pages have become shorter', async () => {
  const paging = { ...known, longestPage: 30 };
  const { last } = await poll(serving(from(50_000, 70), 20), { wide: true, paging });
  expect(last.paging.longestPage).toBe(20);
});
