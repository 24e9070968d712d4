import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import type { PageRequest, Source, SourcePage } from '../../../src/source/source';
import { reconciled } from '../../support/operations';
import { ipo } from '../../support/records';
import { styledPublisher } from '../../support/styled-publisher';
import { plainShape, styledFeed, type VendorRow, type VendorShape } from '../../support/styled-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

/** Limits that a feed declares because its API has them, and answers that say where they end. */
const NOW = 1_790_000_000;
const DAY = 86_400;

let publisher: TestPublisher;

const row = (id: string, updated: number): VendorRow => ({ ...ipo({ id }), id, updated });
/** Rows of one second each. */
const rowsOf = (count: number) => Array.from({ length: count }, (_, i) => row(`r${i}`, NOW - 9_000 + i));
const unfiltered = { parameters: { page: 'offset', pageSize: 'limit', updatedSince: null } };

async function start(
  rows: VendorRow[],
  show: (rows: readonly VendorRow[], request: PageRequest) => Partial<SourcePage>,
  overrides: Partial<Feed>,
) {
  const asked: PageRequest[] = [];
  const source: Source = {
    async fetchPage(_feed, request) {
      asked.push(request);
      const all = [...rows].sort((a, b) => a.updated - b.updated);
      const inRange = all.filter(({ updated }) => updated >= request.updatedSince);
      return {
        rows: [],
        next: null,
        serverDateMs: NOW * 1000,
        receivedAtMs: NOW * 1000,
        ...show(inRange, request),
      };
    },
  };
  const feed = styledFeed({ ...plainShape, style: 'offset' }, { pageSize: 50, ...overrides });
  publisher = await testPublisher(feed, source);
  const known = () => publisher.owned().deps.state.recordCount;
  return { asked, known };
}

const part = (rows: readonly VendorRow[], { pageOffset, pageSize }: PageRequest) =>
  rows.slice(pageOffset, pageOffset + pageSize);

describe('an API that answers some days behind the time that is asked for', () => {
  const ages = [200, 199, 90, 89, 88, 3, 1];
  const rows = ages.map((age) => row(`d${age}`, NOW - age * DAY));
  const ranged = (shown: readonly VendorRow[], request: PageRequest): Partial<SourcePage> => ({
    rows: part(
      shown.filter(({ updated }) => updated <= request.updatedSince + 10 * DAY),
      request,
    ),
  });

  it('is read range by range, empty ones included, from its beginning on', async () => {
    const limits = { windowSeconds: 10 * DAY, beginAt: NOW - 365 * DAY };
    const { asked, known } = await start(rows, ranged, limits);
    await publisher.poll();
    expect(known()).toBe(rows.length);
    expect(Math.min(...asked.map(({ updatedSince }) => updatedSince))).toBe(limits.beginAt);
    expect(asked.every(({ updatedSince, updatedUntil }) => updatedUntil === updatedSince + 10 * DAY)).toBe(
      true,
    );
    const { snapshot, high_water_mark } = publisher.offset();
    expect([snapshot, high_water_mark]).toEqual(['complete', NOW - DAY]);
  });

  // The end of a range is a whole second, and a row may come within it.
  it.each([350, 355 - 0.5 / DAY])(
    'is read if a range has only rows of one second, on several pages, and the next rows come %d days ago',
    async (days) => {
      const wide = Array.from({ length: 120 }, (_, i) => row(`w${i}`, NOW - 358 * DAY));
      const later = row('later', NOW - days * DAY);
      const limits = { windowSeconds: 10 * DAY, beginAt: NOW - 365 * DAY };
      const { known } = await start([...wide, later, ...rows], ranged, limits);
      await publisher.poll();
      expect(known()).toBe(121 + rows.length);
    },
  );

  it('is read on from the range that was reached', async () => {
    const { known } = await start(rows, ranged, { windowSeconds: 10 * DAY, beginAt: NOW - 365 * DAY });
    await publisher.poll();
    rows.push(row('new', NOW - 5));
    await publisher.poll();
    expect(known()).toBe(rows.length);
  });

  it('is said if only rows are on the first page that are hidden, and there is no page 0', async () => {
    const hidden = Array.from({ length: 60 }, (_, i) => row(`hidden${i}`, NOW - DAY));
    const shown = (all: readonly VendorRow[], { pageOffset, pageSize }: PageRequest) =>
      pageOffset === 0
        ? []
        : part(all, { pageOffset: (pageOffset - 1) * pageSize, pageSize } as PageRequest).filter(
            ({ id }) => !id.startsWith('hidden'),
          );
    const overrides = {
      ...styledFeed({ ...plainShape, style: 'page' }, { pageSize: 50 }),
      ...{ windowSeconds: 10 * DAY, beginAt: NOW - 365 * DAY },
    };
    await start(
      [...hidden, row('later', NOW - 5)],
      (all, request) => {
        const total = all.filter(({ updated }) => updated <= request.updatedSince + 10 * DAY);
        return { rows: shown(total, request), ...(request.pageOffset > 0 && { total: total.length }) };
      },
      overrides,
    );
    await publisher.poll();
    expect(publisher.offset()).toMatchObject({ last_complete_scan_ms: null });
    expect(publisher.logger.warnings.join()).toContain('nothing of it is deleted');
  });
});

it('a page that comes again, but says that more rows follow, ends no complete scan', async () => {
  const hidden = (at: number, count: number) =>
    Array.from({ length: count }, (_, i) => row(`hidden${at}.${i}`, NOW - 9_000 + at));
  let cap = 100;
  await start(
    [...rowsOf(30), ...hidden(11, 2), ...hidden(12, 30)],
    (all, request) => {
      const page = part(all, { ...request, pageSize: cap });
      const isLast = request.pageOffset + cap >= all.length;
      return { rows: page.filter(({ id }) => !String(id).startsWith('hidden')), isLast };
    },
    {
      ...{ pageSize: 100, pollIntervalMs: 10, updatedField: null },
      parameters: { ...unfiltered.parameters, pageSize: null },
    },
  );
  await publisher.poll();
  await publisher.restart();
  cap = 7;
  const { deps } = publisher.owned();
  expect(await reconciled(publisher, deps.feed)).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
  expect(publisher.logger.warnings.join()).toContain('says that more rows follow');
});

it('a full last page that comes again, and says by its length that more rows follow, is the end', async () => {
  const { known } = await start(
    rowsOf(150),
    (all, { pageOffset, pageSize }) => {
      const from = Math.min(pageOffset * pageSize, all.length - 1);
      const page = all.slice(Math.floor(from / pageSize) * pageSize).slice(0, pageSize);
      return { rows: page, isLast: page.length < pageSize };
    },
    styledFeed({ ...plainShape, style: 'page', filter: false }, { pageSize: 50 }),
  );
  await publisher.poll();
  expect(known()).toBe(150);
  expect(publisher.offset().last_complete_scan_ms).toBe(NOW * 1000);
  expect(publisher.logger.warnings).toEqual([]);
});

describe.each([
  ['a flag', 200, (rows: readonly VendorRow[], end: number) => ({ isLast: end >= rows.length })],
  // A total may be cut at a full page.
  ['a total', 250, (rows: readonly VendorRow[]) => ({ total: rows.length })],
] as const)('positions past the end that begin again, with %s', (_, greatest, said) => {
  it('are asked for only behind a full page that a total ends with', async () => {
    const { asked, known } = await start(
      rowsOf(250),
      (all, request) => {
        const from = request.pageOffset >= all.length ? 0 : request.pageOffset;
        return { rows: all.slice(from, from + 50), ...said(all, from + 50) };
      },
      unfiltered,
    );
    await publisher.poll();
    expect([known(), Math.max(...asked.map(({ pageOffset }) => pageOffset))]).toEqual([250, greatest]);
    expect(publisher.logger.warnings).toEqual([]);
    expect(publisher.offset().last_complete_scan_ms).not.toBeNull();
    expect(asked.length).toBeLessThan(30);
  });
});

it('positions past the end that begin again take a bounded number of requests without any such member', async () => {
  const { asked, known } = await start(
    rowsOf(250),
    (all, { pageOffset }) => ({ rows: all.slice(pageOffset >= all.length ? 0 : pageOffset).slice(0, 50) }),
    unfiltered,
  );
  await publisher.poll();
  expect([known(), publisher.logger.warnings]).toEqual([250, []]);
  expect(asked.length).toBeLessThan(60);
});

it.each([true, false])(
  'later rows do not wait for a second that paging does not reach to its end, and the feed does not count as read (declared: %s)',
  async (isDeclared) => {
    const wide = Array.from({ length: 200 }, (_, i) => row(`w${i}`, NOW - 500));
    const rows = [row('a', NOW - 900), ...wide, row('later', NOW - 100)];
    const { asked, known } = await start(
      rows,
      (all, request) => {
        if (request.pageOffset >= 150)
          throw new HighwaterError(
            'SOURCE_REQUEST_REFUSED',
            'GET answered with "Result window is too large".',
          );
        return { rows: part(all, request) };
      },
      isDeclared ? { pagingLimit: 150 } : {},
    );
    const code = isDeclared ? 'SCAN_BEYOND_REACH' : 'SOURCE_REQUEST_REFUSED';
    await expect(publisher.poll()).rejects.toMatchObject({ code });
    const { state } = publisher.owned().deps;
    expect(state.image('later')).toBeDefined();
    expect(known()).toBe(152);
    const furthest = Math.max(...asked.map(({ pageOffset }) => pageOffset));
    expect(furthest).toBeLessThan(isDeclared ? 150 : 152);
    expect(state.offset).toMatchObject({ snapshot: 'running', last_complete_scan_ms: null });
    expect(state.offset.high_water_mark).toBeLessThanOrEqual(NOW - 500);
  },
);

it.each([150, 1_000])(
  'nor for a second of which the API shows only %i rows, and does not say so',
  async (limit) => {
    let reach = limit;
    const wide = Array.from({ length: limit + 30 }, (_, i) => row(`w${i}`, NOW - 500));
    const rows = [row('a', NOW - 900), ...wide];
    const { known } = await start(rows, (all, one) => ({ rows: part(all.slice(0, reach), one) }), {});
    await publisher.poll();
    rows.push(row('later', NOW - 100));
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
    expect(publisher.owned().deps.state.image('later')).toBeDefined();
    expect(publisher.offset().high_water_mark).toBeLessThanOrEqual(NOW - 500);
    reach = 10_000;
    await publisher.poll();
    expect(known()).toBe(rows.length);
  },
);

it('a row that comes while the pages of a second are read does not show that they were cut', async () => {
  const rows = Array.from({ length: 200 }, (_, i) => row(`w${i}`, NOW - 500));
  const { known } = await start(
    rows,
    (all, request) => {
      if (request.updatedSince <= NOW - 500 || known() === 201) return { rows: part(all, request) };
      const later = row('later', NOW - 100);
      if (rows.length === 200) rows.push(later);
      return { rows: [later] };
    },
    {},
  );
  await publisher.poll();
  expect([known(), publisher.logger.warnings]).toEqual([201, []]);
});

describe('rows that the API has and does not show', () => {
  const rows = rowsOf(120);
  type Said = (all: readonly VendorRow[], request: PageRequest) => Partial<SourcePage>;
  const ended = () => {
    const { snapshot, last_complete_scan_ms, high_water_mark } = publisher.offset();
    return { snapshot, isComplete: last_complete_scan_ms !== null, high_water_mark };
  };

  it.each<[string, Said]>([
    ['a flag says that more rows follow', () => ({ isLast: false })],
    ['a total counts more rows', (all) => ({ total: all.length })],
  ])('are said, and nothing is deleted, if a limit of paging ends the pages and %s', async (_, said) => {
    const shown = (request: PageRequest) => (request.pageOffset >= 50 ? [] : part(rows, request));
    const { known } = await start(rows, (all, one) => ({ rows: shown(one), ...said(all, one) }), unfiltered);
    const { complete } = await publisher.poll();
    expect([known(), complete, ended().isComplete]).toEqual([50, false, false]);
    expect(publisher.logger.warnings.join()).toContain('nothing of it is deleted');
  });

  it('are read if the total counts no further than to a full page', async () => {
    const { known } = await start(rows, (all, one) => ({ rows: part(all, one), total: 50 }), unfiltered);
    const { complete } = await publisher.poll();
    expect([known(), complete, ended().isComplete]).toEqual([120, true, true]);
    expect(publisher.logger.warnings).toEqual([]);
  });

  it('are read if it does so, and page 0 is page 1, too', async () => {
    const shown = (all: readonly VendorRow[], { pageOffset, pageSize }: PageRequest) => {
      const from = Math.max(0, pageOffset - 1) * pageSize;
      // A page begins with the last row of the page before, so nothing shows what the number counts.
      return all.slice(Math.max(0, from - 1), from + pageSize);
    };
    const byPage = {
      ...styledFeed({ ...plainShape, style: 'page', dated: false }, { pageSize: 50 }),
      parameters: { ...unfiltered.parameters, page: 'page' },
    };
    const { known } = await start(rows, (all, one) => ({ rows: shown(all, one), total: 20 }), byPage);
    await publisher.poll();
    expect([known(), ended().isComplete]).toEqual([120, true]);
  });

  it('are asked for again, and nothing is deleted, while answers say that they lack rows', async () => {
    let isPartial = true;
    const show: Said = (all, one) => {
      const page = part(all, one);
      return isPartial ? { rows: page.slice(1), partialBy: 'timed_out' } : { rows: page };
    };
    const { known } = await start(rows, show, {});
    const { complete } = await publisher.poll();
    expect([complete, ended()]).toEqual([
      false,
      { snapshot: 'running', isComplete: false, high_water_mark: 0 },
    ]);
    expect(publisher.logger.warnings.join()).toContain('says by "timed_out" that an answer lacks rows');
    expect(publisher.offset().last_error).toMatch(/^POLL_NOT_COUNTED: the API says by "timed_out" that an/);
    isPartial = false;
    await publisher.poll();
    expect(publisher.offset().last_error).toBeNull();
    expect([known(), ended()]).toEqual([
      120,
      { snapshot: 'complete', isComplete: true, high_water_mark: NOW - 8_881 },
    ]);
    isPartial = true;
    rows.push(row('late', NOW - 8_000), row('later', NOW - 7_000));
    await publisher.poll();
    isPartial = false;
    await publisher.poll();
    expect(known()).toBe(122);
  });
});

it.each([
  [250, 110, true],
  [110, 110, false],
  // A few rows may have gone since the first page.
  [112, 110, false],
] as const)(
  'a total of %i announces rows if positions from %i on show the short last page again: %s',
  async (total, reach, isSaid) => {
    await start(
      rowsOf(reach),
      (all, { pageOffset }) => {
        const isPast = pageOffset >= reach;
        const from = isPast ? reach - 10 : pageOffset;
        return { rows: all.slice(from, from + 50), ...(!isPast && { total }) };
      },
      unfiltered,
    );
    await publisher.poll();
    expect(publisher.logger.warnings.join().includes(`the API counts ${total} rows`)).toBe(isSaid);
    expect(publisher.offset().last_complete_scan_ms === null).toBe(isSaid);
  },
);

describe('a total that is less than a page too high', () => {
  const hide = (page: SourcePage, most: number) => ({
    ...page,
    rows: page.rows.filter((one) => Number((one as VendorRow).id.slice(1)) >= most),
  });
  const start = async (pages: Partial<VendorShape>) => {
    const shape = { style: 'page', says: 'total', cap: 100, ...pages } as const;
    const styled = await styledPublisher(shape, { pageSize: 100 });
    for (let i = 0; i < 230; i++) styled.vendor.write(`r${i}`, NOW - 9_000 + i);
    return styled;
  };

  it.each([{}, { filter: false }, { order: 'id' }] as const)(
    'may count records that did not come, which are not deleted: %j',
    async (pages) => {
      const { vendor, poll, reconcile, offset } = await start(pages);
      await poll();
      vendor.shows = (page) => hide(page, 8);
      expect(await reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
      expect(offset().record_count).toBe(230);
    },
  );

  it('and always is as much too high does not keep a record that is gone', async () => {
    const { vendor, poll, reconcile, offset } = await start({ order: 'id' });
    vendor.shows = (page) => hide(page, 3);
    await poll();
    await reconcile();
    vendor.rows.delete('r100');
    expect(await reconcile()).toMatchObject({ deleted: 1, why: null });
    expect(offset().record_count).toBe(226);
  });
});
