import { HighwaterError } from '../../../src/errors';
import { isYetToBegin, scanFromNow } from '../../../src/pipeline/scan/beginning';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import type { PageRequest } from '../../../src/source/source';
import { firstSourceOffset } from '../../../src/state/source-offset';
import type { ScanPage } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';
import { quietLogger } from '../../support/source';

const BEGAN = 1_000_000;
/** The own clock at the first answer. */
const ANSWERED = BEGAN + 100;

/** @param ahead of the server's clock, seconds; null for answers without a date */
async function begin(ahead: number | null, show: (asked: PageRequest) => readonly unknown[], began = BEGAN) {
  const feed = testFeed('ipos', { pageSize: 30, overlapSeconds: 5 });
  const date = ahead === null ? null : (ANSWERED - ahead) * 1000;
  const source = pagedSource(show, ANSWERED * 1000 + 999, date);
  const logger = quietLogger();
  const paging = unknownPaging(30);
  const start = { highWaterMark: 0, snapshot: false, wide: false, paging };
  const pages: ScanPage[] = [];
  const scan = scanFromNow(feed, began, start, { source, logger }, new AbortController().signal);
  for await (const page of scan) pages.push(page);
  return { pages, paging, asked: source.asked, warnings: logger.warnings };
}

it.each([
  ['begins at 0', { begins_at: 0 }, false],
  ['has a mark', { high_water_mark: 1 }, false],
  ['takes a snapshot', { snapshot: 'running' }, false],
  ['begins without a snapshot and has had no answer', {}, true],
] as const)('a feed that %s', (_, other, isYet) => {
  const first = firstSourceOffset('ipos', 'abcd1234', 'scope');
  expect(isYetToBegin({ ...first, begins_at: 1, snapshot: 'complete', ...other })).toBe(isYet);
});

it.each([
  ['is right', 0, BEGAN],
  ['is not told', null, BEGAN],
  ['is behind the own one', 40, BEGAN - 40],
  ['is ahead of the own one', -40, BEGAN + 40],
  ['is a day behind', 86_400, BEGAN - 86_400],
  ['is a day ahead', -86_400, BEGAN + 86_400],
])('the first mark is by the server’s clock when that %s', async (_, ahead, mark) => {
  const { pages, paging, warnings } = await begin(ahead, () => []);
  const [{ reread, ...first }] = pages as [ScanPage];
  expect(first).toEqual({
    rows: [],
    observedAtMs: ANSWERED * 1000 + 999,
    progress: {
      ...{ highWaterMark: mark, shownBelow: mark, duringSnapshot: false, complete: false, settled: true },
      paging,
    },
  });
  expect(await reread()).toStrictEqual([]);
  expect(warnings).toStrictEqual([]);
});

it.each([
  [86_401, 'behind'],
  [-86_401, 'ahead'],
])('a server’s clock that differs by %d s is not believed', async (ahead, how) => {
  const { pages, warnings } = await begin(ahead, () => []);
  expect(pages[0]!.progress.highWaterMark).toBe(BEGAN);
  expect(warnings).toEqual([expect.stringContaining(`the clock of the API is 86401 s ${how} and`)]);
});

it('the first mark is never 0, which would say that there is none', async () => {
  expect((await begin(40, () => [], 5)).pages[0]!.progress.highWaterMark).toBe(1);
});

it('the scan goes on from the mark, and shows what has come since the beginning', async () => {
  const row = { id: 'new', updated: BEGAN + 3 };
  const { pages, asked } = await begin(0, ({ pageOffset }) => (pageOffset === 0 ? [row] : []));
  expect(asked.slice(0, 2)).toMatchObject([
    { updatedSince: BEGAN, pageOffset: 0 },
    { updatedSince: BEGAN - 5, pageOffset: 0 },
  ]);
  expect(pages.flatMap(({ rows }) => rows)).toEqual([row]);
  expect(pages.at(-1)).toMatchObject({ progress: { complete: true, highWaterMark: BEGAN + 3 } });
});

it('a first answer that is too large is asked for again with fewer records', async () => {
  const { pages } = await begin(0, ({ pageSize }) => {
    if (pageSize > 10) throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
    return [];
  });
  expect(pages.at(-1)!.progress).toMatchObject({ complete: true, highWaterMark: BEGAN });
});
