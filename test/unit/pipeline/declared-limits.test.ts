import type { Feed } from '../../../src/feeds/feed';
import type { PageRequest, Source, SourcePage } from '../../../src/source/source';
import { ipo } from '../../support/records';
import { plainShape, styledFeed, type VendorRow } from '../../support/styled-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

/** Limits that a feed declares because its API has them, and answers that say where they end. */
const NOW = 1_790_000_000;
const DAY = 86_400;

let publisher: TestPublisher;

const row = (id: string, updated: number): VendorRow => ({ ...ipo({ id }), id, updated });

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
    const { snapshot, high_water_mark } = publisher.owned().deps.state.offset;
    expect([snapshot, high_water_mark]).toEqual(['complete', NOW - DAY]);
  });

  it('is read on from the range that was reached', async () => {
    const { known } = await start(rows, ranged, { windowSeconds: 10 * DAY, beginAt: NOW - 365 * DAY });
    await publisher.poll();
    rows.push(row('new', NOW - 5));
    await publisher.poll();
    expect(known()).toBe(rows.length);
  });
});

describe.each([
  ['a flag', (rows: readonly VendorRow[], end: number) => ({ isLast: end >= rows.length })],
  ['a total', (rows: readonly VendorRow[]) => ({ total: rows.length })],
] as const)('positions past the end that begin again, with %s', (_, said) => {
  it('are not asked for', async () => {
    const rows = Array.from({ length: 250 }, (_row, i) => row(`r${i}`, NOW - 9_000 + i));
    const parameters = { page: 'offset', pageSize: 'limit', updatedSince: null };
    const { asked, known } = await start(
      rows,
      (all, request) => {
        const from = request.pageOffset >= all.length ? 0 : request.pageOffset;
        return { rows: all.slice(from, from + 50), ...said(all, from + 50) };
      },
      { parameters },
    );
    await publisher.poll();
    expect([known(), Math.max(...asked.map(({ pageOffset }) => pageOffset))]).toEqual([250, 200]);
    expect(asked.length).toBeLessThan(30);
  });
});

it('positions past the end that begin again take a bounded number of requests without any such member', async () => {
  const rows = Array.from({ length: 250 }, (_, i) => row(`r${i}`, NOW - 9_000 + i));
  const parameters = { page: 'offset', pageSize: 'limit', updatedSince: null };
  const { asked, known } = await start(
    rows,
    (all, { pageOffset }) => ({ rows: all.slice(pageOffset >= all.length ? 0 : pageOffset).slice(0, 50) }),
    { parameters },
  );
  await publisher.poll();
  expect([known(), publisher.logger.warnings]).toEqual([250, []]);
  expect(asked.length).toBeLessThan(60);
});

it('later rows do not wait for a second that paging does not reach to its end, and the feed does not count as read', async () => {
  const wide = Array.from({ length: 150 }, (_, i) => row(`w${i}`, NOW - 500));
  const rows = [row('a', NOW - 900), ...wide, row('later', NOW - 100)];
  const { asked, known } = await start(rows, (all, request) => ({ rows: part(all, request) }), {
    pagingLimit: 100,
  });
  await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_BEYOND_REACH' });
  const { state } = publisher.owned().deps;
  expect(state.image('later')).toBeDefined();
  expect(known()).toBe(102);
  expect(Math.max(...asked.map(({ pageOffset }) => pageOffset))).toBeLessThan(100);
  expect(state.offset).toMatchObject({ snapshot: 'running', last_complete_scan_ms: null });
  expect(state.offset.high_water_mark).toBeLessThanOrEqual(NOW - 500);
});
