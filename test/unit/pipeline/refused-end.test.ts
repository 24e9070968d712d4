import { HighwaterError } from '../../../src/errors';
import { reconciled } from '../../support/operations';
import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { VendorRow, VendorShape } from '../../support/styled-vendor';

/** An API that refuses page numbers behind its last page, as WordPress does (400). */
let publisher: StyledPublisher;

async function start(rows: number, traits: Partial<VendorShape> = {}, pageSize = 100): Promise<void> {
  const shape = { style: 'page', first: 'one, zero is refused', pastEnd: 'refused', cap: 100 } as const;
  publisher = await styledPublisher({ ...shape, ...traits }, { pageSize, beginAt: NOW - 10_000 });
  for (let i = 0; i < rows; i++) publisher.vendor.write(`r${i}`, NOW - 9_000 + i);
}

const traits: readonly Partial<VendorShape>[] = [
  {},
  { filter: false },
  { order: 'newest' },
  { style: 'offset', filter: false },
  { ties: 'by page' },
];
const cases = traits.flatMap((one) =>
  [50, 99, 100, 150, 200, 250, 300, 600].map((rows) => [rows, one] as const),
);

it.each(cases)('%i records are read, and deletes are noticed: %j', async (rows, one) => {
  await start(rows, one);
  await publisher.poll();
  expect(publisher.unknown()).toEqual([]);
  expect(publisher.offset().snapshot).toBe('complete');
  publisher.clock.ms += 2_000;
  await publisher.poll();
  await publisher.poll({ wide: true });
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: null });
  publisher.vendor.rows.delete('r5');
  publisher.vendor.write('n', NOW);
  publisher.clock.ms += 2_000;
  // A limit may end the pages in the same way, until their number shows that none does.
  if (rows % 100 === 0) {
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
    publisher.vendor.write('m', NOW);
  }
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
  expect(publisher.unknown()).toEqual([]);
});

it.each([1, 7, 12, 19, 24, 30, 50])('a feed of %i records whose page 0 is page 1 is read', async (rows) => {
  await start(rows, { first: 'one, zero is the same', order: 'newest' });
  await publisher.poll();
  await publisher.poll({ wide: true });
  expect([publisher.unknown(), publisher.offset().snapshot]).toEqual([[], 'complete']);
  publisher.vendor.write('n', NOW);
  publisher.vendor.rows.delete('r0');
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
  expect(publisher.unknown()).toEqual([]);
});

/** A poll, a wide poll and a reconcile read everything, and a record that is gone is deleted while the pages stay full. */
async function isReadThough(rows: number): Promise<void> {
  await publisher.poll();
  await publisher.poll({ wide: true });
  expect([publisher.unknown(), publisher.offset().snapshot]).toEqual([[], 'complete']);
  publisher.vendor.write('n', NOW);
  publisher.vendor.rows.delete('r1');
  publisher.clock.ms += 2_000;
  await publisher.poll();
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
  expect([publisher.unknown(), publisher.vendor.rows.size]).toEqual([[], rows]);
}

it.each([
  [10, { first: 'zero' }],
  [20, { first: 'zero' }],
  [30, { filter: false }],
  [40, { order: 'id' }],
] as const)(
  '%i records that fill their pages are read, if the answers say that no more follow and the size is fixed: %j',
  async (rows, one) => {
    await start(rows, { otherSizes: 'refused', says: 'more', ...one }, 10);
    await isReadThough(rows);
  },
);

const again = (['zero', 'one, zero is the same', 'one, zero is empty'] as const).flatMap((first) =>
  (['first page', 'last page'] as const).flatMap((pastEnd) =>
    ([{ order: 'newest' }, { filter: false }] as const).map((one) => ({ first, pastEnd, ...one })),
  ),
);

it.each(again)(
  'records that just fill a page are read, though pages behind it show it again: %j',
  async (one) => {
    await start(100, one);
    await isReadThough(100);
  },
);

it.each(again)('an API that ignores page numbers is not taken as read: %j', async (one) => {
  await start(100, one);
  for (let i = 0; i < 50; i++) publisher.vendor.write(`s${i}`, NOW - 9_000);
  const { fetchPage } = publisher.vendor;
  publisher.vendor.fetchPage = (feed, request, signal) =>
    fetchPage(feed, { ...request, pageOffset: 1 }, signal);
  await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
});

it('an API with a size and a filter but no page numbers is read even if several records share its last second', async () => {
  await start(60, { first: 'zero', pastEnd: 'empty' }, 1_000);
  for (let i = 0; i < 6; i++) publisher.vendor.write(`s${i}`, NOW - 100);
  const { fetchPage } = publisher.vendor;
  publisher.vendor.fetchPage = (feed, request, signal) =>
    fetchPage(feed, { ...request, pageOffset: 0 }, signal);
  await publisher.poll();
  await publisher.poll({ wide: true });
  expect([publisher.unknown(), publisher.offset().snapshot]).toEqual([[], 'complete']);
});

it('a reconcile counts the records of an API whose last page comes again, though two sizes of pages are full', async () => {
  await start(90, { first: 'zero', pastEnd: 'last page', order: 'id', cap: 10 });
  await isReadThough(90);
});

it('many records of one second that fill pages are read', async () => {
  await start(50);
  for (let i = 0; i < 200; i++) publisher.vendor.write(`s${i}`, NOW - 100);
  await publisher.poll();
  expect(publisher.unknown()).toEqual([]);
  expect(publisher.offset().snapshot).toBe('complete');
});

it.each([{}, { filter: false }, { order: 'newest' }] as const)(
  'a limit of paging that is refused is no end: %j',
  async (one) => {
    await start(350, { first: 'zero', pastEnd: 'empty', ...one });
    publisher.vendor.shows = (page, { pageOffset, pageSize }) => {
      if ((pageOffset + 1) * pageSize <= 300) return page;
      throw new HighwaterError('SOURCE_REQUEST_REFUSED', 'GET answered with "page is too large".');
    };
    for (let i = 0; i < 350; i++) publisher.vendor.write(`r${i}`, NOW - 100);
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'SOURCE_REQUEST_REFUSED' });
    expect(publisher.offset().snapshot).not.toBe('complete');
  },
);

/** From now on, the API cuts each page at a limit, and refuses the pages behind it. */
function showTheFirst500(): void {
  publisher.vendor.shows = (page, { pageOffset, pageSize }) => {
    const begin = pageOffset * pageSize;
    if (begin < 500) return { ...page, rows: page.rows.slice(0, 500 - begin) };
    throw new HighwaterError('SOURCE_REQUEST_REFUSED', 'GET answered with "page is out of valid range".');
  };
}

const limited = [true, false].map((filter) => ({ filter }));

it.each(limited)(
  'no live record is deleted behind a limit that cuts each page and refuses the next one: %j',
  async (one) => {
    await start(450, { first: 'zero', pastEnd: 'empty', order: 'newest', ...one });
    showTheFirst500();
    await publisher.poll();
    for (let i = 0; i < 100; i++) publisher.vendor.write(`n${i}`, NOW);
    publisher.clock.ms += 2_000;
    await publisher.poll();
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
  },
);

it.each([{}, { filter: false }, { dated: false }] as const)(
  'it is said that a limit may end full pages, if nothing else tells: %j',
  async (one) => {
    await start(800, { first: 'zero', pastEnd: 'empty', order: 'newest', ...one });
    showTheFirst500();
    await publisher.poll();
    expect(publisher.logger.warnings.join()).toContain('the API ended behind exactly 500 rows');
  },
);

it.each([{ filter: false }, { order: 'newest' }] as const)(
  'an API that leaves rows out of its pages, the first one above all, is read: %j',
  async (one) => {
    await start(0, { hides: true, ...one });
    const isHidden = (i: number) => i < 20 || (i >= 200 && i < 205);
    for (let i = 0; i < 290; i++) {
      const second = publisher.shape.order === 'newest' ? -i : i;
      publisher.vendor.write(`${isHidden(i) ? 'hidden' : 'r'}${i}`, NOW - 9_000 + second);
    }
    await publisher.poll();
    await publisher.poll({ wide: true });
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: null });
    expect(publisher.unknown().filter((id) => !id.startsWith('hidden'))).toEqual([]);
  },
);

it('a record that is gone in front of full pages is not deleted, and what is said of it helps', async () => {
  await start(101, { filter: false });
  await publisher.poll();
  publisher.vendor.rows.delete('r5');
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
  expect(publisher.logger.warnings.join()).toMatch(
    /refuses the page behind 100 rows.*another length \(pageSize\)/,
  );
  const feed = { ...publisher.feed, pageSize: 99 };
  await publisher.restart({ feed });
  expect(await reconciled(publisher, feed, {})).toMatchObject({ deleted: 1, why: null });
});

it.each([
  [103, 100, { order: 'newest' }],
  [103, 100, { order: 'id', filter: false }],
  [26, 25, { order: 'newest' }],
  [26, 25, { order: 'id', style: 'offset' }],
] as const)(
  'no live record of %i is deleted if the API comes to show the same %i to each request: %j',
  async (rows, ignoresQuery, traits) => {
    await start(rows, { first: 'zero', pastEnd: 'empty', ...traits }, 1_000);
    await publisher.poll();
    publisher.shape.ignoresQuery = ignoresQuery;
    await expect(publisher.reconcile()).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
    expect(publisher.offset().record_count).toBe(rows);
  },
);

const unshowable = (['SOURCE_REQUEST_REFUSED', 'SOURCE_NOT_FOUND'] as const).flatMap((code) =>
  (['empty', 'refused', 'not found'] as const).flatMap((pastEnd) =>
    (['page', 'offset', 'cursor', 'link'] as const).flatMap((style) =>
      [249, 205, 120].map((row) => ({ code, pastEnd, style, row })),
    ),
  ),
);

it.each(unshowable)(
  'no record is deleted behind a row that the API cannot show, behind a short page: %j',
  async ({ code, row, ...one }) => {
    await start(0, { first: 'zero', hides: true, filter: false, ...one });
    const idOf = (i: number) => (i === 170 ? `hidden${i}` : `r${i}`);
    for (let i = 0; i < 250; i++) publisher.vendor.write(idOf(i), NOW - 9_000 + i);
    await publisher.poll();
    expect(publisher.offset().record_count).toBe(249);
    publisher.vendor.shows = (page) => {
      if (!page.rows.some((one) => (one as VendorRow).id === `r${row}`)) return page;
      throw new HighwaterError(code, 'GET answered 422 with "a record cannot be shown".');
    };
    await expect(publisher.poll()).rejects.toMatchObject({
      code: expect.stringMatching(/REFUSED|NOT_FOUND|EXPIRED/),
    });
    await publisher.reconcile().catch(() => null);
    expect(publisher.offset().record_count).toBe(249);
  },
);

it.each([{}, { range: 400 }, { range: 400, style: 'offset' }] as const)(
  'nor behind rows of one second of a feed in order: %j',
  async (one) => {
    await start(90, { first: 'zero', pastEnd: 'empty', ...one });
    for (let i = 0; i < 108; i++) publisher.vendor.write(`s${i}`, NOW - 5_000);
    await publisher.poll();
    expect(publisher.offset().record_count).toBe(198);
    publisher.vendor.shows = (page) => {
      if (!page.rows.some((row) => (row as VendorRow).id === 's99')) return page;
      throw new HighwaterError('SOURCE_NOT_FOUND', 'GET answered 404 with "a record cannot be shown".');
    };
    await publisher.reconcile().catch(() => null);
    expect(publisher.offset().record_count).toBe(198);
  },
);

it.each([
  [
    'a long text that names the page',
    (page: number) => `page ${page} is ${'too far behind the last one, '.repeat(9)}`,
  ],
  [
    'an id of the request',
    (page: number) => `request 3f2b-9abc-${page % 2 === 0 ? 'beef' : 'cafe'}: no such page`,
  ],
])('a refusal with %s ends the pages', async (_, text) => {
  await start(850, { first: 'zero', pastEnd: 'empty', filter: false });
  publisher.vendor.shows = (page, { pageOffset }) => {
    if (page.rows.length > 0) return page;
    throw new HighwaterError(
      'SOURCE_NOT_FOUND',
      `GET answered 404 with "${text(pageOffset).slice(0, 120)}…".`,
    );
  };
  await publisher.poll();
  expect([publisher.unknown(), publisher.offset().snapshot]).toEqual([[], 'complete']);
});
