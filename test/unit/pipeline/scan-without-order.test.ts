import type { HighwaterError } from '../../../src/errors';
import { PageReader } from '../../../src/pipeline/scan/pages/page-reader';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { ScanPosition } from '../../../src/pipeline/scan/scan-position';
import { scanWithoutOrder } from '../../../src/pipeline/scan/scan-without-order';
import type { PageRequest } from '../../../src/source/source';
import type { ScanPage } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';
import { quietLogger } from '../../support/source';

const PRESENT = 5_000;
const rows = (count: number, first = 1000) =>
  Array.from({ length: count }, (_, i) => ({ id: `r${first + i}`, updated: first + i }));

/** Scans at second 5000, thirty rows a page; paging reaches a hundred. */
async function scan(
  show: (asked: PageRequest, request: number) => readonly unknown[],
  { from = 900, highWaterMark = 950, mayRewind = true, present = PRESENT } = {},
) {
  const feed = { ...testFeed('ipos'), pageSize: 30, pagingLimit: 100, wideOverlapSeconds: 600 };
  const source = pagedSource(show, present * 1000);
  const known = { ...unknownPaging(30), unit: 'page', ordered: false } as const;
  const reader = new PageReader(feed, source, known, new AbortController().signal);
  const logger = quietLogger();
  const position = new ScanPosition(feed, reader, logger, { snapshot: true, highWaterMark }, from);
  const pages: ScanPage[] = [];
  const scanned = scanWithoutOrder(position, { from, highWaterMark, mayRewind });
  for (;;) {
    const { done, value } = await scanned.next();
    if (done) {
      const end: HighwaterError | null = value;
      return { end, pages, last: pages.at(-1)!, asked: source.asked, warnings: logger.warnings };
    }
    pages.push(value);
  }
}

/** The pages of a server that heeds neither order nor filter. */
const pagesOf =
  (all: readonly unknown[]) =>
  ({ pageOffset, pageSize }: PageRequest) =>
    all.slice(pageOffset * pageSize, (pageOffset + 1) * pageSize);
const reversed = (count: number) => rows(count).reverse();

describe('a scan without order', () => {
  it('moves the mark at its end only, to the newest row of all', async () => {
    const { end, pages, last } = await scan(pagesOf(reversed(70)));
    expect(end).toBeNull();
    expect(new Set(pages.flatMap((page) => page.rows))).toHaveProperty('size', 70);
    for (const { progress } of pages.slice(0, -1))
      expect(progress).toMatchObject({ highWaterMark: 950, shownBelow: 900, complete: false, settled: true });
    expect(last).toMatchObject({
      rows: [],
      observedAtMs: PRESENT * 1000,
      progress: {
        ...{ highWaterMark: 1069, shownBelow: 1070, complete: true, settled: true, duringSnapshot: true },
        paging: { ordered: false },
      },
    });
    expect(await last.reread()).toStrictEqual([]);
    expect(await pages[0]!.reread()).toEqual(pages[0]!.rows);
  });

  it('leaves the mark where nothing is newer, and before the present of its first answer', async () => {
    const old = await scan(pagesOf(rows(5, 910)));
    expect(old.last.progress).toMatchObject({ highWaterMark: 950, shownBelow: 951 });
    expect((await scan(() => [])).last.progress).toMatchObject({ highWaterMark: 950, shownBelow: 951 });
    const ahead = await scan(pagesOf(rows(5, 6000)));
    expect(ahead.last.progress).toMatchObject({ highWaterMark: PRESENT, shownBelow: 6005 });
  });

  it('trusts the order again when all pages come oldest first, and enough rows to tell', async () => {
    const isOrdered = async (all: readonly unknown[], from = 900) =>
      (await scan(pagesOf(all), { from })).last.progress.paging.ordered;
    expect(await isOrdered(rows(70))).toBe(true);
    expect(await isOrdered(rows(20))).toBe(true);
    expect(await isOrdered(rows(19))).toBe(false);
    expect(await isOrdered([])).toBe(false);
    expect(await isOrdered([...rows(50), ...reversed(20)])).toBe(false);
    expect(await isOrdered(rows(25), 1000)).toBe(true);
    expect(await isOrdered(rows(25), 1001)).toBe(false);
    expect(await isOrdered(rows(25).map(({ id }) => ({ id, updated: 1000 })))).toBe(false);
    expect(await isOrdered(rows(25).map(({ id }) => ({ id })))).toBe(false);
  });

  it('of more than paging reaches leaves it to a scan in order, if all that came was in order', async () => {
    const { end, pages } = await scan(pagesOf(rows(200)));
    expect(end).toMatchObject({ code: 'SCAN_BEYOND_REACH' });
    expect(pages.every(({ progress }) => !progress.complete && progress.highWaterMark === 950)).toBe(true);
    await expect(scan(pagesOf(reversed(200)))).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
    // Each page is in order itself, but the second is older than the first.
    const turned = [...rows(30, 2000), ...rows(170)];
    await expect(scan(pagesOf(turned))).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
    const undated = [...rows(30), ...rows(30).map(({ id }) => ({ id: `x${id}` })), ...rows(140, 1030)];
    expect((await scan(pagesOf(undated))).end).toMatchObject({ code: 'SCAN_BEYOND_REACH' });
    await expect(scan(() => rows(30))).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
  });

  it('begins before the present where its mark lies ahead of it, once', async () => {
    const ahead = { from: 5001, highWaterMark: 5600 };
    const { asked, last } = await scan(pagesOf(reversed(5)), ahead);
    expect(asked[0]!.updatedSince).toBe(5001);
    expect(asked.at(-1)!.updatedSince).toBe(PRESENT - 600);
    expect(last.progress).toMatchObject({ highWaterMark: PRESENT, complete: true });
    const named = await scan(pagesOf(reversed(5)), { ...ahead, mayRewind: false });
    expect(named.asked.every(({ updatedSince }) => updatedSince === 5001)).toBe(true);
    const now = await scan(pagesOf(reversed(5)), { ...ahead, from: PRESENT });
    expect(now.asked.every(({ updatedSince }) => updatedSince === PRESENT)).toBe(true);
    const early = await scan(pagesOf(reversed(5)), { ...ahead, present: 100 });
    expect(early.asked.at(-1)!.updatedSince).toBe(0);
  });

  it('warns when rows keep changing, looks at the paging again, and does not claim to be complete', async () => {
    const { last, warnings, asked } = await scan(({ pageOffset }, request) =>
      pageOffset === 0 ? rows(30, 1000 + 40 * request) : pageOffset === 1 ? rows(5, 900) : [],
    );
    expect(warnings).toEqual([expect.stringContaining('Feed ipos: the rows from 900 on kept changing')]);
    expect(last.progress).toMatchObject({ complete: true, settled: false });
    expect(asked.slice(-3).map(({ updatedSince, pageOffset }) => [updatedSince, pageOffset])).toEqual([
      [0, 1],
      [0, 2],
      [0, 2],
    ]);
  });
});
