import fc from 'fast-check';
import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { scan } from '../../../src/pipeline/scan/scan';
import type { ScanStart } from '../../../src/pipeline/scan/scan-position';
import { type ScanPage, WHOLE_FEED } from '../../../src/types';
import { runs } from '../../support/runs';
import { quietLogger } from '../../support/source';
import { NOW, styledPublisher } from '../../support/styled-publisher';
import {
  anyShape,
  namedErrors,
  plainShape,
  refuseCursor,
  type StyledVendor,
  styledFeed,
  styledVendor,
  type VendorRow,
  type VendorShape,
} from '../../support/styled-vendor';

/** The present of both clocks, Unix seconds. */
const PRESENT = 100_000;

const at = (...seconds: readonly number[]): VendorRow[] =>
  seconds.map((updated, i) => ({ id: `r${String(i).padStart(4, '0')}`, updated }));
const from = (first: number, count: number) => at(...Array.from({ length: count }, (_, i) => first + i));

function vendorOf(shape: Partial<VendorShape>, rows: readonly VendorRow[]): StyledVendor {
  const vendor = styledVendor({ ...plainShape, ...shape }, () => PRESENT * 1000);
  for (const row of rows) vendor.rows.set(row.id, row);
  return vendor;
}

/** A scan, thirty rows a page. `error`: what ended it. */
async function read(
  shape: Partial<VendorShape>,
  vendor: StyledVendor,
  start: Partial<ScanStart> = {},
  overrides: Partial<Feed> = {},
) {
  const feed = styledFeed({ ...plainShape, ...shape }, { pageSize: 30, ...overrides });
  const logger = quietLogger();
  const whole: ScanStart = {
    highWaterMark: 0,
    snapshot: true,
    wide: false,
    paging: unknownPaging(30),
    ...start,
  };
  const pages: ScanPage[] = [];
  const before = vendor.asked.length;
  let error: unknown = null;
  try {
    const { signal } = new AbortController();
    for await (const page of scan(feed, whole, { source: vendor, logger }, signal)) pages.push(page);
  } catch (caught) {
    error = caught;
  }
  const ids = new Set(pages.flatMap(({ rows }) => (rows as VendorRow[]).map(({ id }) => id)));
  const asked = vendor.asked.slice(before);
  return { ids, pages, asked, error, last: pages.at(-1)?.progress, warnings: logger.warnings };
}

const poll = { highWaterMark: 50_000, snapshot: false };
const styles = ['page', 'offset', 'cursor', 'link', 'none'] as const;

it.each(['page', 'offset'] as const)(
  'a feed that is paged by %s is read with other borders though positions behind its end are refused',
  async (style) => {
    const shape = { style, pastEnd: 'not found' } as const;
    const rows = at(50_004, 50_018, 50_020, 50_020);
    const start = { snapshot: false, wide: true, whole: true, otherBorders: true, withoutFilter: true };
    const { error, ids, last } = await read(shape, vendorOf(shape, rows), start, { pageSize: 2 });
    expect([error, ids.size, last?.complete]).toEqual([null, 4, true]);
  },
);

it('a total that counts no further than 20 rows ends no walk behind them, though pages have become shorter', async () => {
  const shape = { style: 'offset', order: 'id', cap: 7, says: 'capped total', ties: 'by page' } as const;
  const rows = at(...Array.from({ length: 56 }, (_, i) => 50_000 + 20 * Math.floor(i / 2)));
  const paging = { ...unknownPaging(25), unit: 'record', longestPage: 25, ordered: false } as const;
  const whole = { snapshot: false, wide: true, whole: true, otherBorders: true, withoutFilter: true };
  const { error, ids, asked } = await read(
    shape,
    vendorOf(shape, rows),
    { paging, ...whole },
    { pageSize: 25 },
  );
  expect([error, ids.size]).toEqual([null, 56]);
  expect(asked.length).toBeLessThan(100);
});

it.each([8, 9, 14, 20])(
  'ties that change places hide none of %i rows from pages that are called the last because they are capped',
  async (rows) => {
    const shape = { style: 'offset', order: 'id', cap: 7, says: 'more by length', ties: 'by page' } as const;
    const vendor = vendorOf({ ...shape, filter: false }, at(...Array.from({ length: rows }, () => 50_000)));
    const whole = { snapshot: false, wide: true, whole: true, otherBorders: true, withoutFilter: true };
    const { error, ids } = await read({ ...shape, filter: false }, vendor, whole, { pageSize: 1000 });
    expect([error, ids.size]).toEqual([null, rows]);
  },
);

it('an offset behind the last row that shows this row again ends a walk of an API that says by length that more rows follow', async () => {
  const shape = { style: 'offset', order: 'id', cap: 7, says: 'more by length', filter: false } as const;
  const vendor = vendorOf(shape, from(50_000, 10));
  const { fetchPage } = vendor;
  vendor.fetchPage = (feed, request, ...rest) =>
    fetchPage(feed, { ...request, pageOffset: Math.min(request.pageOffset, 9) }, ...rest);
  const whole = { snapshot: false, wide: true, whole: true, otherBorders: true, withoutFilter: true };
  const { error, ids, asked, last } = await read(shape, vendor, whole, { pageSize: 1000 });
  expect([error, ids.size, last?.complete]).toEqual([null, 10, true]);
  expect(asked.length).toBeLessThan(30);
});

it('an offset that is rounded down to whole pages is not taken for one that is ignored when a row comes meanwhile', async () => {
  const publisher = await styledPublisher({ style: 'offset', order: 'newest' }, { pageSize: 50 });
  const { vendor, clock } = publisher;
  const { fetchPage } = vendor;
  vendor.fetchPage = (feed, request, ...rest) => {
    const pageOffset = Math.floor(request.pageOffset / request.pageSize) * request.pageSize;
    return fetchPage(feed, { ...request, pageOffset }, ...rest);
  };
  for (let i = 0; i < 230; i++) vendor.write(`r${i}`, NOW - 900_000 + i * 1_000);
  await publisher.poll();
  clock.ms += 100_000;
  for (const id of ['r0', 'r7', 'r14']) vendor.write(id, clock.ms / 1000 - 20);
  const before = vendor.asked.length;
  vendor.beforeAnswer = (n) => {
    if (n === before + 3) vendor.write('r200', clock.ms / 1000);
  };
  await publisher.poll();
  await publisher.poll();
  expect(publisher.offset().last_error).toBeNull();
});

it.each(['offset', 'cursor'] as const)(
  'a poll by %s with a lag of days reads these days once, not once for each second',
  async (style) => {
    const shape = { style, since: 'created' } as const;
    const vendor = vendorOf(shape, from(50_000, 200));
    for (const id of vendor.rows.keys()) vendor.created.set(id, 0);
    const paging = { ...unknownPaging(30), lag: 172_800 };
    const start = { highWaterMark: 50_100, snapshot: false, overlapSeconds: 100, paging };
    const { error, ids, asked, last } = await read(shape, vendor, start);
    expect([error, ids.size, last?.complete, last?.paging.ordered]).toEqual([null, 200, true, false]);
    expect(asked.length).toBeLessThan(200);
  },
);

it('a total that is one too high hides no row of a feed of one page', async () => {
  const shape = { style: 'offset', filter: false, says: 'total' } as const;
  const vendor = vendorOf(shape, from(50_000, 20));
  vendor.shows = (page) => ({ ...page, total: 21 });
  const paging = { ...unknownPaging(30), longestPage: 21 };
  const { last } = await read(shape, vendor, { snapshot: false, wide: true, paging });
  expect(last).toMatchObject({ complete: true, settled: true });
});

describe.each(['updated', 'newest'] as const)('a total of rows from a second on (order: %s)', (order) => {
  it.each([
    ['page', 100],
    ['offset', 10_000],
  ] as const)('tells a poll of rows that come to be left out (%s, %i)', async (style, hidden) => {
    const publisher = await styledPublisher({ style, order, says: 'total' }, { pageSize: 50 });
    const { vendor, clock, logger } = publisher;
    for (let i = 0; i < 120; i++) vendor.write(`r${i}`, NOW - 9_000 + i);
    await publisher.poll();
    vendor.write('n0', NOW - 1);
    await publisher.poll();
    const { last_complete_scan_ms } = publisher.offset();
    vendor.shows = (page) => ({ ...page, total: page.total! + hidden });
    for (let i = 0; i < 3; i++) {
      clock.ms += 60_000;
      vendor.write('n1', NOW + 60 * i + 59);
      await publisher.poll();
    }
    expect(publisher.offset()).toMatchObject({ last_complete_scan_ms });
    expect(logger.warnings.join()).toContain(`the API counts ${hidden + 2} rows, and shows 2`);
    vendor.shows = (page) => page;
    await publisher.poll();
    expect(publisher.offset().last_complete_scan_ms).toBe(clock.ms);
  });

  it.each(['total of all', 'capped total', 'total of page'] as const)('is not seen in a %s', async (says) => {
    const publisher = await styledPublisher({ style: 'page', order, says }, { pageSize: 5 });
    const { vendor, clock } = publisher;
    for (let i = 0; i < 120; i++) vendor.write(`r${i}`, NOW - 9_000 + i);
    for (let i = 0; i < 8; i++) {
      clock.ms += 60_000;
      for (let n = 0; n < i; n++) vendor.write(`n${i}-${n}`, NOW + 60 * i + 50);
      await publisher.poll({ wide: i === 4 });
      expect(publisher.offset().last_complete_scan_ms).toBe(clock.ms);
    }
    expect(publisher.unknown()).toEqual([]);
  });
});

describe('an API whose pages have become shorter', () => {
  const start = { snapshot: false, wide: true, paging: { ...unknownPaging(50), longestPage: 50 } } as const;

  it('announces rows by a total, though fewer are missing than pages had before', async () => {
    const shape = { style: 'offset', filter: false, cap: 7, says: 'total', depth: 20 } as const;
    const { ids, last } = await read(shape, vendorOf(shape, from(50_000, 60)), start, { pageSize: 50 });
    expect([ids.size, last?.settled]).toEqual([21, false]);
  });

  it('may answer once without rows behind any of them', async () => {
    const shape = { filter: false, cap: 7 } as const;
    const vendor = vendorOf(shape, from(50_000, 60));
    vendor.shows = (page) => (vendor.asked.length === 3 ? { ...page, rows: [], next: null } : page);
    expect((await read(shape, vendor, start, { pageSize: 50 })).ids.size).toBe(60);
  });
});

it.each([1, 5, 8, 41])(
  'an idle poll of a list of %i rows is one request if it is said to end there',
  async (rows) => {
    const { vendor, clock, poll } = await styledPublisher({ style: 'page', says: 'more' }, { pageSize: 50 });
    for (let i = 0; i < rows; i++) vendor.write(`r${i}`, NOW - 100);
    for (const _ of [1, 2]) {
      await poll();
      clock.ms += 60_000;
    }
    const before = vendor.asked.length;
    await poll();
    expect(vendor.asked.length - before).toBe(1);
  },
);

it.each(['refused', 'ignored'] as const)(
  'a poll may end at a full page that is said to be the last, and behind which numbers are refused (other sizes: %s)',
  async (otherSizes) => {
    const shape = { style: 'page', says: 'more', cap: 20, pastEnd: 'refused', otherSizes } as const;
    const { vendor, clock, poll, unknown } = await styledPublisher(shape, { pageSize: 50 });
    for (let i = 0; i < 20; i++) vendor.write(`r${i}`, NOW - 100);
    await poll();
    clock.ms += 60_000;
    for (let i = 0; i < 40; i++) vendor.write(`n${i}`, NOW + 59);
    await poll();
    expect(unknown()).toEqual([]);
  },
);

describe.each([
  { style: 'page', says: 'more by length' },
  { style: 'offset', says: 'more by length' },
  { style: 'offset', says: 'total of page' },
] as const)('an API that caps its pages and says of each that it is the last (%j)', (shape) => {
  it('is read to its end by a snapshot', async () => {
    const vendor = vendorOf({ ...shape, cap: 7, filter: false }, from(50_000, 60));
    const { error, ids, last } = await read(shape, vendor, undefined, { pageSize: 50 });
    expect([error, ids.size, last?.settled]).toEqual([null, 60, true]);
  });

  it.each([
    ['one second', 0],
    ['a second each', 1],
  ])('is read to its end by a poll, if more rows of %s than a page has were written', async (_, step) => {
    const vendor = vendorOf({ ...shape, cap: 25 }, from(50_000, 60));
    const { last: before } = await read(shape, vendor, undefined, { pageSize: 50 });
    for (let i = 0; i < 60; i++) vendor.rows.set(`n${i}`, { id: `n${i}`, updated: 50_100 + i * step });
    vendor.rows.set('later', { id: 'later', updated: 50_200 });
    const { ids, last } = await read(shape, vendor, { ...before, snapshot: false }, { pageSize: 50 });
    expect([ids.has('n59'), ids.has('later'), last?.complete, last?.highWaterMark]).toEqual([
      ...[true, true],
      ...[true, 50_200],
    ]);
  });

  // If page numbers show the same page, they may be ignored.
  const ends = ['empty', 'not found', 'refused'] as const;
  it.each(shape.style === 'page' ? ends : ([...ends, 'first page', 'last page'] as const))(
    'is read if positions behind its end are %s, though all rows are on one page that changes',
    async (pastEnd) => {
      const vendor = vendorOf({ ...shape, pastEnd, order: 'newest' }, from(50_000, 20));
      vendor.beforeAnswer = (n) => vendor.rows.set('moves', { id: 'moves', updated: 50_100 + n });
      const { error, ids, last } = await read(shape, vendor, undefined, { pageSize: 50 });
      expect([error, ids.size, last?.settled]).toEqual([null, 21, true]);
    },
  );
});

describe.each(styles)('a feed that is paged by %s', (style) => {
  it('is read to its end by a snapshot, and by polls from then on', async () => {
    const vendor = vendorOf({ style }, from(50_000, 100));
    const first = await read({ style }, vendor);
    expect([first.error, first.ids.size]).toEqual([null, 100]);
    expect(first.last).toMatchObject({ complete: true, settled: true, highWaterMark: 50_099 });
    vendor.rows.set('new', { id: 'new', updated: 50_200 });
    const next = await read({ style }, vendor, { ...first.last, snapshot: false });
    expect([next.ids.has('new'), next.asked.length]).toEqual([true, 1]);
    expect(next.last).toMatchObject({ complete: true, highWaterMark: 50_200 });
  });

  it('is read at each poll as a whole, in no order, where there is no filter', async () => {
    const shape = { style, filter: false };
    const vendor = vendorOf(shape, from(50_000, 100));
    const first = await read(shape, vendor);
    expect([first.error, first.ids.size]).toEqual([null, 100]);
    expect(first.last).toMatchObject({ complete: true, highWaterMark: 50_099, paging: { ordered: false } });
    vendor.rows.set('old', { id: 'old', updated: 7 });
    const next = await read(shape, vendor, { ...first.last, snapshot: false });
    expect([next.ids.size, next.last?.paging.ordered, next.last?.highWaterMark]).toEqual([
      101,
      false,
      50_099,
    ]);
  });

  it('is read where the API decides how long a page is', async () => {
    for (const filter of [true, false]) {
      const shape = { style, sized: false, cap: 23, filter };
      const { error, ids, last } = await read(
        shape,
        vendorOf(shape, from(50_000, 100)),
        {},
        { pageSize: 1000 },
      );
      expect([error, ids.size, last?.complete, last?.settled]).toEqual([null, 100, true, true]);
    }
  });
});

describe('offsets', () => {
  it('count records from 0 from the first request on, whatever rows come', async () => {
    const { asked, last } = await read({ style: 'offset' }, vendorOf({ style: 'offset' }, from(50_000, 100)));
    expect(asked.slice(0, 3).map(({ pageOffset }) => pageOffset)).toEqual([0, 30, 60]);
    expect(last?.paging).toMatchObject({ unit: 'record', firstPage: 0 });
    const stored = { ...unknownPaging(30), unit: 'page', firstPage: 1 } as const;
    const after = await read(
      { style: 'offset', filter: false },
      vendorOf({ style: 'offset', filter: false }, from(50_000, 100)),
      { ...poll, paging: stored },
    );
    expect(new Set(after.asked.map(({ pageOffset }) => pageOffset))).toEqual(new Set([0, 30, 60, 90, 100]));
  });
});

it.each([{ style: 'offset' }, { style: 'offset', filter: false }] as const)(
  'a cap that changes with each request skips no row (%j)',
  async (plain) => {
    const rows = [...from(50_000, 40), ...at(...Array.from({ length: 60 }, () => 50_100))];
    for (const sized of [true, false])
      for (const caps of [
        [30, 7, 20, 3],
        [7, 30],
        [30, 30, 30, 4],
        [30, 1],
      ]) {
        const shape = { ...plainShape, ...plain, sized, cap: 30 };
        const vendor = styledVendor(shape, () => PRESENT * 1000);
        for (const [i, row] of rows.entries()) vendor.rows.set(`r${i}`, { ...row, id: `r${i}` });
        vendor.beforeAnswer = (request) => Object.assign(shape, { cap: caps[request % caps.length] });
        const { error, ids, last, asked, warnings } = await read(shape, vendor, { snapshot: true });
        expect([error, ids.size, last?.settled, warnings]).toEqual([null, 100, true, []]);
        expect(asked.length).toBeLessThan(600);
      }
  },
);

describe('one response that holds everything', () => {
  it('is asked for once', async () => {
    const shape = { style: 'none' } as const;
    const { asked, last } = await read(shape, vendorOf(shape, from(50_000, 100)));
    // A snapshot asks once more from the last second on, since the answer may be cut.
    expect(asked.map(({ updatedSince, continuation }) => [updatedSince, continuation])).toEqual([
      [0, undefined],
      [50_099, undefined],
    ]);
    expect(last?.shownBelow).toBe(50_100);
  });

  it('is not believed to be whole where it has exactly the length that was asked for', async () => {
    const shape = { style: 'none', filter: false } as const;
    const { error } = await read(shape, vendorOf(shape, from(50_000, 30)));
    expect(error).toMatchObject({ code: 'SCAN_BEYOND_REACH', message: expect.stringContaining('exactly') });
    const free = { ...shape, sized: false };
    expect((await read(free, vendorOf(free, from(50_000, 30)))).error).toBeNull();
  });
});

describe.each(['cursor', 'link'] as const)('by %s', (style) => {
  const unfiltered = { style, filter: false } as const;

  it('all pages are read in one climb, with no request behind the last', async () => {
    const { asked, ids } = await read(unfiltered, vendorOf(unfiltered, from(50_000, 100)));
    expect([asked.length, ids.size]).toEqual([4, 100]);
    expect(asked[0]!.continuation).toBeUndefined();
    expect(asked.slice(1).every(({ continuation }) => continuation !== undefined)).toBe(true);
  });

  it('a page without rows that names a next one is not the end, nor is a next one that is empty', async () => {
    for (const filter of [true, false])
      for (const rows of [from(50_000, 100), at(...Array.from({ length: 100 }, () => 50_100))]) {
        const shape = { style, filter, blanks: 3, endsEmpty: true };
        const { error, ids, last } = await read(shape, vendorOf(shape, rows));
        expect([error, ids.size, last?.complete]).toEqual([null, 100, true]);
      }
  });

  it.each([
    ['a few pages without rows between many short ones', { blanks: 3 }, from(50_000, 400), 2],
    ['many pages without rows between two', { blanks: 900 }, from(50_000, 3), 2],
    ['pages without rows before the first one', { blanks: 300, beginsBlank: true }, from(50_000, 9), 3],
    [
      'a page that names itself, behind one without rows',
      { blanks: 1, beginsBlank: true, endsOnItself: true },
      from(50_000, 9),
      30,
    ],
    [
      'pages of one second',
      { blanks: 3, beginsBlank: true },
      at(...Array.from({ length: 400 }, () => 50_100)),
      2,
    ],
  ])('%s show no fault: everything is read', async (_, blank, rows, pageSize) => {
    for (const [filter, linksNumbers, endsEmpty] of [
      [true, true, false],
      [false, true, true],
      [false, false, false],
    ] as const) {
      const shape = { style, filter, linksNumbers, endsEmpty, ...blank };
      const { error, ids, last } = await read(shape, vendorOf(shape, rows), {}, { pageSize });
      expect([error, ids.size, last?.complete]).toEqual([null, rows.length, true]);
    }
  });

  it('rows that come on two pages are no new pages', async () => {
    const shape = { ...unfiltered, overlaps: true };
    const { error, ids, asked } = await read(shape, vendorOf(shape, from(50_000, 100)));
    // They may stand for others, so pages with other borders are read as well.
    expect([error, ids.size, asked.length]).toEqual([null, 100, 9]);
  });

  it('a place that was named before ends the scan by name, with what was read until then', async () => {
    for (const back of [0, 1]) {
      const vendor = vendorOf(unfiltered, from(50_000, 200));
      vendor.named = (next, before) => (before.length === 3 ? before[back]! : next);
      const { error, ids, last, asked } = await read(unfiltered, vendor);
      expect(error).toMatchObject({ code: 'SCAN_CURSOR_REPEATED' });
      expect([ids.size, asked.length, last?.complete, last?.highWaterMark]).toEqual([120, 4, false, 0]);
      const again = await read(unfiltered, vendor);
      expect([again.error, again.ids.size]).toEqual([null, 200]);
    }
  });

  it('a last page that names itself as the next one is the end', async () => {
    for (const filter of [true, false])
      for (const overlaps of [true, false])
        for (const rows of [from(50_000, 100), at(...Array.from({ length: 100 }, () => 50_100))]) {
          const shape = { style, filter, overlaps, endsOnItself: true };
          const { error, ids, last } = await read(shape, vendorOf(shape, rows));
          expect([error, ids.size, last?.complete]).toEqual([null, 100, true]);
        }
  });

  it('a page behind the last that shows the last row again and names itself is the end, also of a poll of few rows', async () => {
    for (const filter of [true, false]) {
      const shape = { style, filter, endless: true, endsInLast: true, order: 'updated' } as const;
      const publisher = await styledPublisher(shape, { pageSize: 30 });
      for (let i = 0; i < 70; i++) publisher.vendor.write(`r${i}`, NOW - 9_000 + i);
      for (let poll = 0; poll < 3; poll++) await publisher.poll();
      publisher.vendor.write('r5', NOW - 5);
      await publisher.poll();
      expect(publisher.unknown()).toEqual([]);
      expect((await publisher.topic('ipos')).map(({ decoded }) => decoded!.op).slice(70)).toEqual(['u']);
    }
  });

  it.each([29, 0])(
    'a last page that names itself may come with %d of 30 rows the second time',
    async (left) => {
      const vendor = vendorOf({ ...unfiltered, endsOnItself: true }, from(50_000, 60));
      let last = 0;
      vendor.shows = (page, request) => {
        if (page.next !== request.continuation || ++last < 2) return page;
        return { ...page, rows: page.rows.slice(0, left), next: left === 0 ? null : page.next };
      };
      expect((await read({ ...unfiltered, endsOnItself: true }, vendor)).ids.size).toBe(60);
      expect(last).toBe(2);
    },
  );

  it.each([101, 250, 350])(
    'a scroll, which shows other rows of %i at each request for one page, ends by name',
    async (rows) => {
      const vendor = vendorOf(unfiltered, from(50_000, rows));
      const all = [...vendor.rows.values()];
      let shown = 0;
      vendor.named = () => JSON.stringify({ after: null, page: 0, blanks: 0 });
      vendor.shows = (page, { continuation }) => {
        if (continuation === undefined) shown = 0;
        shown += 100;
        return { ...page, rows: all.slice(shown - 100, shown), next: page.next };
      };
      const { error, ids, last } = await read(unfiltered, vendor, {}, { pageSize: 100 });
      if (rows < 200) return expect([error, ids.size, last?.complete]).toEqual([null, rows, true]);
      expect(error).toMatchObject({
        code: 'SCAN_CURSOR_REPEATED',
        message: expect.stringContaining('scroll'),
      });
    },
  );

  it('one answer that names itself as the next page is not believed', async () => {
    const vendor = vendorOf(unfiltered, from(50_000, 200));
    vendor.named = (next, before) => (before.length === 3 ? before[2]! : next);
    const { error, ids, asked } = await read(unfiltered, vendor);
    expect([error, ids.size, asked.length]).toEqual([null, 200, 8]);
  });

  it('a parameter that the API ignores shows by the same place', async () => {
    const vendor = vendorOf(unfiltered, from(50_000, 200));
    vendor.named = () => JSON.stringify({ after: null, page: 0, blanks: 0 });
    const { error, asked } = await read(unfiltered, vendor);
    expect(error).toMatchObject({ code: 'SCAN_CURSOR_REPEATED' });
    expect(asked).toHaveLength(2);
  });

  it('pages without rows that always name new ones come to an end by name', async () => {
    let count = 0;
    const vendor = vendorOf({ ...unfiltered, blanks: 1 }, from(50_000, 200));
    vendor.named = () => JSON.stringify({ after: null, page: 0, blanks: 1 + count++ });
    const { error, asked } = await read({ ...unfiltered, blanks: 1 }, vendor);
    expect(error).toMatchObject({
      code: 'SCAN_PAGES_EMPTY',
      message: expect.stringContaining('1000 pages in a row'),
    });
    expect(asked.length).toBeLessThan(1_010);
  });

  it.each(['SOURCE_NOT_FOUND', 'SOURCE_REQUEST_REFUSED'] as const)(
    'a place that expires (%s) ends the scan by name, and the next one begins again',
    async (code) => {
      const vendor = vendorOf(unfiltered, from(50_000, 200));
      vendor.beforeAnswer = (request) => request === 4 && refuseCursor(code);
      const { error, ids, last } = await read(unfiltered, vendor);
      expect(error).toMatchObject({
        code: 'SCAN_CURSOR_EXPIRED',
        message: expect.stringContaining('"cursor expired"'),
      });
      expect([ids.size, last?.complete, last?.highWaterMark]).toEqual([90, false, 0]);
      const again = await read(unfiltered, vendor, { ...last, snapshot: true });
      expect([again.error, again.ids.size]).toEqual([null, 200]);
    },
  );

  it('a first page that is refused is no place that has expired', async () => {
    const vendor = vendorOf(unfiltered, from(50_000, 9));
    vendor.beforeAnswer = () => refuseCursor();
    expect((await read(unfiltered, vendor)).error).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  });

  it('a scan in order goes by seconds, so that a place that expires costs one second at most', async () => {
    const rows = [...from(50_000, 100), ...at(...Array.from({ length: 70 }, () => 50_200))].map((row, i) => ({
      ...row,
      id: `r${i}`,
    }));
    const vendor = vendorOf({ style }, rows);
    vendor.beforeAnswer = () => {
      if (vendor.asked.at(-1)!.continuation !== undefined && vendor.asked.at(-1)!.updatedSince === 50_200)
        refuseCursor();
    };
    const { error, last } = await read({ style }, vendor);
    expect(error).toMatchObject({ code: 'SCAN_CURSOR_EXPIRED' });
    expect(last?.highWaterMark).toBeGreaterThanOrEqual(50_099);
    vendor.beforeAnswer = () => {};
    const again = await read({ style }, vendor, { ...last, snapshot: true });
    expect([again.error, again.last?.complete, again.ids.size >= 70]).toEqual([null, true, true]);
    expect(again.asked.every(({ updatedSince }) => updatedSince >= 50_090)).toBe(true);
  });

  it('a page is read a second time by the same place', async () => {
    const vendor = vendorOf(unfiltered, from(50_000, 100));
    const { pages } = await read(unfiltered, vendor);
    expect(await pages[2]!.reread()).toEqual(pages[2]!.rows);
    vendor.beforeAnswer = () => refuseCursor();
    await expect(pages[2]!.reread()).rejects.toMatchObject({ code: 'SCAN_CURSOR_EXPIRED' });
  });

  it('a page that is too large is asked for again in smaller ones, if the size can be asked for', async () => {
    for (const sized of [true, false]) {
      const vendor = vendorOf({ ...unfiltered, sized, cap: 30 }, from(50_000, 100));
      vendor.beforeAnswer = (request) => {
        if (request > 2 && vendor.asked.at(-1)!.pageSize > 15)
          throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
      };
      const { error, ids } = await read({ ...unfiltered, sized }, vendor);
      if (sized) expect([error, ids.size]).toEqual([null, 100]);
      else expect(error).toMatchObject({ code: 'SOURCE_BODY_TOO_LARGE' });
    }
  });
});

it('links that hold page numbers are climbed again until nothing new comes: rows that move leave no gap', async () => {
  const shape = { style: 'link', linksNumbers: true, order: 'id' } as const;
  const rows = at(...Array.from({ length: 100 }, (_, i) => 50_000 + ((i * 37) % 100)));
  const vendor = vendorOf(shape, rows);
  vendor.beforeAnswer = (request) => {
    // A row of the first page leaves, and the first of the third page comes to the second one.
    if (request === 9) vendor.rows.delete('r0003');
  };
  const { ids, last } = await read(shape, vendor);
  expect([ids.size, last?.settled]).toEqual([100, true]);
});

it('a poll in order goes on behind a short page that names a next one', async () => {
  const shape = { style: 'cursor', cap: 7 } as const;
  const vendor = vendorOf(shape, from(50_000, 60));
  const paging = { ...unknownPaging(30), longestPage: 30 };
  const { ids, last } = await read(shape, vendor, { ...poll, paging });
  expect([ids.size, last?.complete]).toEqual([60, true]);
});

it.each([
  ['that is not used, since it goes by another time', { lag: WHOLE_FEED, range: 3_600 }],
  ['that is not used, over thousands of ranges', { lag: WHOLE_FEED, range: 5 }],
  ['that is asked for earlier than a range is long', { lag: 8 * 3600, range: 3_600 }],
  ['that is asked for earlier, in no order', { lag: 8 * 3600, range: 3_600, order: 'newest' as const }],
])('ranges of a filter %s are read up to the present', async (_, { lag, ...ranged }) => {
  const shape = { style: 'cursor', ...ranged } as const;
  const vendor = vendorOf(shape, from(PRESENT - 9_000, 60));
  vendor.rows.set('last', { id: 'last', updated: PRESENT - 20 });
  vendor.beforeAnswer = (request) => {
    if (request > 20_000) throw new Error('asked without end');
  };
  const paging = { ...unknownPaging(30), lag };
  const start = { highWaterMark: PRESENT - 9_500, snapshot: false, wide: true, paging };
  const { error, ids, last } = await read(shape, vendor, start, { beginAt: PRESENT - 40_000 });
  expect([error, ids.size, last?.complete]).toEqual([null, 61, true]);
  expect(last!.highWaterMark).toBeLessThanOrEqual(PRESENT);
});

const anyVendor: fc.Arbitrary<VendorShape> = fc.record({
  ...anyShape,
  cap: fc.constantFrom(22, 35, 1000),
  blanks: fc.constantFrom(0, 0, 1, 3),
});

it('in any style, and for any rows, a scan shows all rows within bounded requests', async () => {
  const seconds = fc.array(
    fc.oneof(fc.integer({ min: 49_996, max: 50_060 }), fc.constant(50_007), fc.constant(PRESENT - 1)),
    { maxLength: 120 },
  );
  await fc.assert(
    fc.asyncProperty(
      anyVendor,
      seconds,
      fc.boolean(),
      fc.boolean(),
      async (shape, others, wide, snapshot) => {
        // Without a filter and a page size, nothing shows that an answer is cut.
        if (shape.style === 'none' && shape.isCut && !shape.filter && !shape.sized) return;
        const rows = at(50_000, ...others);
        const vendor = vendorOf(shape, rows);
        const paging = unknownPaging(25);
        const { error, ids, last, asked, warnings } = await read(
          shape,
          vendor,
          { highWaterMark: 50_000, wide, snapshot, paging },
          { pageSize: 25 },
        );
        expect(asked.length).toBeLessThan(200 + 4 * rows.length);
        if (error !== null)
          return expect(namedErrors(shape, rows.length)).toContain((error as HighwaterError).code);
        expect([error, last?.complete, last?.duringSnapshot]).toEqual([null, true, snapshot]);
        // What a poll misses by a filter that it has not tested yet, the next wide poll finds.
        if (shape.filter && shape.since !== 'from' && !wide && !snapshot) return;
        // If the API decides where pages begin, rows that come twice may stand for others.
        if (!last!.settled) {
          expect([shape.sized && !shape.endsInLast, warnings.length > 0]).toEqual([false, true]);
          expect(shape.overlaps || shape.endsInLast || shape.ties === 'by page').toBe(true);
          return;
        }
        expect([ids.size, shape.since === 'from' ? warnings : []]).toStrictEqual([rows.length, []]);
      },
    ),
    { numRuns: runs(3000) },
  );
});

it('a page 0 that was refused once is not left out when the network fails behind it', async () => {
  const vendor = vendorOf({ style: 'page' }, from(50_000, 100));
  const failures = new Map([
    [1, 'SOURCE_NOT_FOUND'],
    [3, 'SOURCE_UNREACHABLE'],
  ] as const);
  vendor.beforeAnswer = (request) => {
    const code = failures.get(request as 1);
    if (code !== undefined) throw new HighwaterError(code, 'failed');
  };
  const { error } = await read({ style: 'page' }, vendor);
  expect(error).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  const { ids, last } = await read({ style: 'page' }, vendor);
  expect([ids.size, last?.paging.begin]).toEqual([100, 0]);
});

it.each<Partial<VendorShape>>([{ endsEmpty: true }, { endless: true }])(
  'a poll without news of an API by %j is two requests',
  async (traits) => {
    const { vendor, clock, poll } = await styledPublisher(traits, { pageSize: 25 });
    for (let i = 0; i < 65; i++) vendor.write(`r${i}`, NOW - 900 + 10 * i);
    await poll();
    clock.ms += 120_000;
    const before = vendor.asked.length;
    await poll();
    expect(vendor.asked.length - before).toBe(2);
  },
);

it.each([
  [{ style: 'link', ties: 'by page' }, 50],
  [{ style: 'link', ties: 'by page', filter: false, order: 'newest' }, 10],
  [{ style: 'cursor', linksNumbers: false, overlaps: true }, 2],
] as const)(
  'a full last page by %j that names itself is the end, though rows come again on it',
  async (traits, perSecond) => {
    const shape = { linksNumbers: true, endsOnItself: true, ...traits };
    const { vendor, poll, offset, unknown } = await styledPublisher(shape, { pageSize: 25 });
    for (let i = 0; i < 50; i++)
      vendor.write(`r${String(i).padStart(3, '0')}`, NOW - 9_000 + Math.floor(i / perSecond));
    await poll();
    expect([offset().snapshot, unknown()]).toEqual(['complete', []]);
  },
);
