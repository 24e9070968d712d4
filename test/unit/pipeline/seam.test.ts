import type { PageRequest } from '../../../src/source/source';
import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { VendorRow, VendorShape } from '../../support/styled-vendor';

/** APIs that leave out what a scan relies on, each with a publisher of its own. */
let publisher: StyledPublisher;

/** @param show what the API makes of the rows of a page */
async function start(
  shape: Partial<VendorShape>,
  seconds: readonly number[],
  pageSize = 2,
  show: (rows: readonly unknown[], request: PageRequest) => readonly unknown[] = (rows) => rows,
) {
  const beginAt = Number.isFinite(shape.range) ? NOW - 30_000 : undefined;
  publisher = await styledPublisher(shape, { pageSize, deleteShare: 1, beginAt });
  const { vendor, unknown } = publisher;
  vendor.shows = (page, request) => ({ ...page, rows: show(page.rows, request) });
  for (const [i, second] of seconds.entries())
    vendor.write(String.fromCodePoint(97 + (i % 26)) + i, NOW - 9_000 + second);
  return { vendor, unknown, write: vendor.write };
}

const styles = ['page', 'offset', 'cursor', 'link'] as const;
const filters = ['after', 'minute', 'hours'] as const;

describe.each(filters)(
  'a filter of the kind "%s", which leaves out the second that it is asked for',
  (since) => {
    it.each(styles)('hides no row of a feed that is paged by %s, and it is said once', async (style) => {
      const { unknown } = await start({ style, since }, [10, 20, 20, 30, 40, 75, 75, 140]);
      await publisher.poll();
      await publisher.poll({ wide: true });
      expect(unknown()).toEqual([]);
      await publisher.reconcile();
      expect(publisher.logger.warnings).toEqual([
        expect.stringContaining('the filter since does not show the rows'),
      ]);
      const { filter_lag } = publisher.offset();
      expect(filter_lag).toBe({ after: 1, minute: 60, hours: 28_800 }[since]);
    });

    it('does not make a reconcile delete what the API still shows', async () => {
      const { unknown, write } = await start({ style: 'offset', since }, [10, 20, 30, 40]);
      await publisher.poll();
      // It shares its second with the last row of a page.
      write('late', NOW - 9_000 + 20);
      write('fresh', NOW);
      await publisher.poll({ wide: true });
      await publisher.reconcile();
      const result = await publisher.reconcile();
      expect([result.deleted, unknown()]).toEqual([0, []]);
    });

    it('is noticed by a poll whose mark it leaves out, after a snapshot of one page', async () => {
      const { unknown, write } = await start({ style: 'offset', since }, [8_000], 100);
      await publisher.poll();
      write('next', NOW - 900);
      await publisher.poll({ wide: true });
      expect(unknown()).toEqual([]);
    });

    it('is noticed although page 1 is page 0 again', async () => {
      const shape = { style: 'page', first: 'one, zero is the same', since } as const;
      const seconds = Array.from({ length: 45 }, (_, i) => 10 + 200 * Math.floor(i / 3));
      const { unknown } = await start(shape, seconds);
      await publisher.poll();
      expect(unknown()).toEqual([]);
    });

    it('is noticed although rows have no id', async () => {
      const seconds = Array.from({ length: 9 }, (_, i) => 20 * (i >> 1));
      await start({ style: 'offset', since }, seconds, 3, (rows) =>
        rows.map((row) => ({ ...(row as VendorRow), id: null, name: (row as VendorRow).id })),
      );
      await publisher.poll().catch(() => undefined);
      expect(await publisher.topic('ipos.dead-letters')).toHaveLength(9);
    });
  },
);

it('what the first request of a poll has left out is read as soon as the lag of the filter is known', async () => {
  const { unknown, write } = await start({ style: 'offset', since: 'after' }, [8_000], 3);
  await publisher.poll();
  // At the second from which on the poll asks.
  write('late', NOW - 1_005);
  for (const [i, second] of [10, 20, 20, 30, 30].entries()) write(`n${i}`, NOW - 1_000 + second);
  await publisher.poll();
  expect([unknown(), publisher.offset().filter_lag]).toEqual([[], 1]);
});

it('a filter that leaves out some rows of the second that it is asked for hides none of them', async () => {
  const { unknown } = await start({ style: 'offset', since: 'in part' }, [10, 20, 20, 20, 30, 40], 3);
  await publisher.poll();
  expect(unknown()).toEqual([]);
  expect(publisher.offset().filter_lag).toBe(1);
  expect(publisher.logger.warnings).toEqual([
    expect.stringContaining('the filter since does not show the rows'),
  ]);
});

it.each(styles)('a reconcile of a feed by %s finds rows that the filter never shows', async (style) => {
  const { vendor, unknown, write } = await start({ style, since: 'edited' }, [10, 20, 30, 40, 50]);
  for (const id of vendor.rows.keys()) vendor.created.set(id, 0);
  await publisher.poll();
  write('fresh', NOW - 100);
  await publisher.poll({ wide: true });
  const result = await publisher.reconcile();
  expect([unknown(), result.deleted, result.missing]).toEqual([[], 0, 0]);
});

it('a filter by another time is noticed in a second that is wider than a page', async () => {
  const shape = { style: 'offset', since: 'created' } as const;
  const { vendor, unknown } = await start(shape, [17, 18, 19, 20, 20, 20, 20, 20, 20, 20, 30], 4);
  // d3 ends the first page. e4 is hidden with it from a request for their second on.
  for (const id of ['a0', 'b1', 'c2', 'd3', 'e4']) vendor.created.set(id, NOW - 300_000);
  await publisher.poll();
  expect(unknown()).toEqual([]);
});

it('a row that an API leaves out at the border of two pages is not deleted, for two scans have different borders', async () => {
  let hides = false;
  const seconds = Array.from({ length: 25 }, (_, i) => i);
  const { vendor } = await start({ style: 'page', filter: false }, seconds, 10, (rows, { pageSize }) =>
    hides && rows.length === pageSize ? rows.slice(0, -1) : rows,
  );
  await publisher.poll();
  hides = true;
  const { deleted } = await publisher.reconcile();
  expect([deleted, vendor.rows.size]).toEqual([0, 25]);
});

it.each(['cursor', 'link'] as const)(
  'the first scan of a reconcile reads each page of a %s whose page size cannot be asked for',
  async (style) => {
    const seconds = Array.from({ length: 9 }, (_, i) => i);
    const { vendor } = await start({ style, filter: false, sized: false, cap: 3 }, seconds);
    await publisher.poll();
    // A change without a new `updated`, on the second of three pages.
    const row = vendor.rows.get('e4')!;
    vendor.rows.set('e4', { ...row, notes: 'silent' });
    vendor.asked.length = 0;
    const { rows, updated } = await publisher.reconcile();
    expect([rows, updated]).toEqual([9, 1]);
  },
);

it('a reconcile that moves the borders of pages counts no row twice if some rows have no id', async () => {
  const seconds = Array.from({ length: 27 }, () => 0);
  await start({ style: 'offset', filter: false }, seconds, 25, (rows) =>
    (rows as readonly VendorRow[]).map((row) => (row.id < 'f' ? { ...row, id: null, name: row.id } : row)),
  );
  await publisher.poll();
  await publisher.reconcile();
  expect(publisher.logger.warnings).toEqual([]);
});

it.each([{ style: 'offset' }, { style: 'page', first: 'one, zero is the same' }] as const)(
  'a row that was updated is found by a reconcile, and not deleted, if the filter goes by the time of creation: %j',
  async (shape) => {
    const seconds = Array.from({ length: 47 }, (_, i) => 20 * i);
    const { vendor, write } = await start({ ...shape, since: 'created' }, seconds, 10);
    await publisher.poll();
    // Requests from the later seconds of a scan do not show it, nor do polls.
    write('e30', NOW);
    await publisher.poll();
    const { deleted } = await publisher.reconcile();
    const { images, state } = publisher.owned().deps;
    expect([deleted, images.decode(state.image('e30')!).updated, vendor.rows.size]).toEqual([0, NOW, 47]);
  },
);

it.each(['cursor', 'link'] as const)(
  'a %s that leaves out rows of the second at which a page ends: a reconcile finds them, and deletes none',
  async (style) => {
    const seconds = Array.from({ length: 50 }, (_, i) => i >> 1);
    const { vendor, unknown } = await start({ style, filter: false }, seconds, 9);
    vendor.named = (next) => {
      const place = JSON.parse(next);
      return JSON.stringify({ ...place, after: [place.after[0], '\uffff'] });
    };
    await publisher.poll();
    expect(unknown().length).toBeGreaterThan(0);
    await publisher.reconcile();
    expect(unknown()).toEqual([]);
    expect((await publisher.reconcile()).deleted).toBe(0);
  },
);

it.each(['cursor', 'link'] as const)(
  'a reconcile of a feed by %s in ranges of time finds rows that the filter leaves out of its own second',
  async (style) => {
    const { unknown, write } = await start(
      { style, since: 'in part', range: 3_600, overlaps: true },
      [4_000],
    );
    for (let i = 0; i < 5; i++) write(`n${i}`, NOW - 9_000 + 4_100);
    await publisher.poll();
    await publisher.reconcile();
    expect(unknown()).toEqual([]);
  },
);

it.each(['id', 'updated'] as const)(
  'a filter by another time than `updated`, with rows ordered by %s, is not used any more, and it is said once',
  async (order) => {
    const { vendor, unknown, write } = await start(
      { style: 'offset', since: 'created', order },
      [10, 20, 30, 40, 50],
      10,
    );
    for (const id of vendor.rows.keys()) vendor.created.set(id, NOW - 300_000);
    await publisher.poll();
    // The row is older than the mark says.
    write('b1', NOW - 100);
    await publisher.poll({ wide: true });
    write('c2', NOW - 50);
    await publisher.poll({ wide: true });
    write('d3', NOW - 10);
    await publisher.poll();
    const { images, state } = publisher.owned().deps;
    expect(unknown()).toEqual([]);
    expect(images.decode(state.image('d3')!).updated).toBe(NOW - 10);
    expect(publisher.logger.warnings).toEqual([expect.stringContaining('goes by something else')]);
  },
);

describe.each([
  ['page', {}],
  ['offset', {}],
  ['link', { linksNumbers: true }],
  ['cursor', { linksNumbers: true }],
] as const)('ties that change places between two pages, paged by %s', (style, shape) => {
  it.each([
    ['in one second', true, () => 10],
    ['in pairs', false, (i: number) => Math.floor((i + 1) / 2)],
  ] as const)('hide no row %s', async (_, filter, second) => {
    const seconds = Array.from({ length: 100 }, (_row, i) => second(i));
    const { unknown, vendor } = await start({ style, ...shape, filter, ties: 'by page' }, seconds, 25);
    await publisher.poll();
    expect([unknown(), publisher.logger.warnings]).toEqual([[], []]);
    const { why } = await publisher.reconcile();
    expect([why, unknown()]).toEqual([null, []]);
    // The other borders were of these walks only.
    vendor.asked.length = 0;
    await publisher.poll();
    expect(vendor.asked[0]!.pageSize).toBe(25);
  });

  it('are named if the API decides where pages begin, and nothing is deleted', async () => {
    const odd = { style, ...shape, filter: false, ties: 'by page', sized: false, cap: 25 } as const;
    const { unknown, vendor } = await start(
      odd,
      Array.from({ length: 100 }, (_row, i) => Math.floor((i + 1) / 2)),
    );
    const { complete } = await publisher.poll();
    expect(complete).toBe(style === 'offset');
    if (style === 'offset') return expect(unknown()).toEqual([]);
    expect(unknown().length).toBeGreaterThan(0);
    expect(publisher.logger.warnings[0]).toContain('may stand in the place of others');
    expect(publisher.offset().last_complete_scan_ms).toBeNull();
    vendor.rows.delete('b1');
    const { why, deleted } = await publisher.reconcile();
    expect([why, deleted]).toEqual(['scan-not-complete', 0]);
  });
});

it('answers that say that they lack rows teach no lag of the filter', async () => {
  const seconds = Array.from({ length: 30 }, (_, i) => 10 * i);
  const { vendor } = await start({ style: 'offset', since: 'minute' }, seconds, 10);
  vendor.shows = (page) => ({ ...page, partialBy: '_shards.failed' });
  await publisher.poll();
  expect(publisher.offset().filter_lag).toBe(0);
  vendor.shows = (page) => page;
  await publisher.poll();
  expect(publisher.offset().filter_lag).toBe(60);
});

it('rows that were updated together in a list by id do not end a scan by `updated`', async () => {
  const { unknown, write } = await start(
    { style: 'link', order: 'id' },
    Array.from({ length: 60 }, (_, i) => i),
    10,
  );
  const ids = Array.from({ length: 60 }, (_, i) => String.fromCodePoint(97 + (i % 26)) + i).sort();
  // The last rows of the fourth page.
  for (const [i, id] of ids.entries()) write(id, NOW - 9_000 + i);
  for (const id of ids.slice(36, 40)) write(id, NOW - 10);
  await publisher.poll();
  expect(unknown()).toEqual([]);
  expect((await publisher.reconcile()).deleted).toBe(0);
});

describe.each([
  [20, Number.POSITIVE_INFINITY],
  [60, Number.POSITIVE_INFINITY],
  [20, 3_600],
  [60, 3_600],
])('pages of %i rows that come to begin at 0, in ranges of %d s', (pageSize, range) => {
  const seconds = Array.from({ length: 40 }, (_, i) => 10 + 20 * Math.floor(i / 3));

  /** Pages have begun at 1 until now. */
  async function renumbered() {
    const api = await start({ style: 'page', first: 'one, zero is refused', range }, seconds, pageSize);
    await publisher.poll();
    publisher.shape.first = 'zero';
    return api;
  }

  it('lose no record to a reconcile', async () => {
    const { unknown, write } = await renumbered();
    write('first', NOW - 9_000 + 1);
    // A range without rows does not tell where pages begin.
    if (Number.isFinite(range)) {
      expect(await publisher.reconcile()).toMatchObject({ deleted: 0 });
      write('later', NOW - 5);
      await publisher.poll();
    }
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0 });
    expect(unknown()).toEqual([]);
  });

  it.each([5, 50, 150])('are found by a poll of %i changes', async (changes) => {
    const { unknown, write } = await renumbered();
    for (let i = 0; i < changes; i++) write(`new${i}`, NOW - 500 + i);
    await publisher.poll();
    expect([unknown(), publisher.logger.warnings]).toEqual([[], []]);
    expect(publisher.offset()).toMatchObject({ page_begin: 0, filter_lag: 0 });
  });
});

it('pages that come to begin at 0 lose no record of a range that has fewer rows than a page', async () => {
  const shape = { style: 'page', first: 'one, zero is empty', range: 600 } as const;
  const { vendor, unknown, write } = await start(shape, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10);
  await publisher.poll();
  publisher.shape.first = 'zero';
  for (const id of [...vendor.rows.keys(), 'new']) write(id, NOW - 20);
  for (let i = 0; i < 2; i++) await publisher.poll({ wide: true });
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0 });
  await publisher.poll({ wide: true });
  expect([unknown(), publisher.offset().page_begin]).toEqual([[], 0]);
});

it.each([
  ['null', () => null],
  ['without an id', ({ id: _, ...row }: VendorRow) => row],
  ['without a time', ({ updated: _, ...row }: VendorRow) => row],
] as const)('rows that are %s for a while do not look like a lag of the filter', async (_, spoiled) => {
  let isIll = false;
  const seconds = Array.from({ length: 60 }, (_, i) => i * 30);
  const { vendor, write, unknown } = await start({ style: 'page', order: 'updated' }, seconds, 10, (rows) =>
    isIll ? rows.map((row, i) => (i % 3 === 1 ? spoiled(row as VendorRow) : row)) : rows,
  );
  await publisher.poll();
  isIll = true;
  const ids = [...vendor.rows.keys()];
  for (let i = 0; i < 300; i++) {
    write(ids[(i * 37) % 60]!, NOW - 7_000 + (i >> 1));
    if (i % 14 === 0) await publisher.poll({ wide: i % 4 === 0 });
  }
  isIll = false;
  await publisher.poll({ wide: true });
  await publisher.poll({ wide: true });
  expect([publisher.offset().filter_lag, unknown()]).toEqual([0, []]);
});
