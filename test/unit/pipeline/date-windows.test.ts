import { HighwaterError } from '../../../src/errors';
import { type Days, dayOf, readDays } from '../../../src/pipeline/scan/date-windows';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import type { PageRequest } from '../../../src/source/source';
import type { Paging } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { pagedSource } from '../../support/paged-source';
import { quietLogger } from '../../support/source';

const known = { ...unknownPaging(10), unit: 'page' } as const;

/** Reads days, ten rows a page unless `paging` says otherwise. */
async function read(
  days: Days,
  show: (asked: PageRequest, request: number) => readonly unknown[],
  paging: Paging = known,
  pagingLimit = 1000,
) {
  const feed = testFeed('insights', { pageSize: paging.pageSize, pagingLimit });
  const source = pagedSource(show);
  const logger = quietLogger();
  const ids: unknown[] = [];
  const ends: (readonly [number, boolean])[] = [];
  const pagings: Paging[] = [];
  for await (const one of readDays(feed, days, paging, { source, logger }, new AbortController().signal)) {
    pagings.push(one.paging);
    if (one.kind === 'read') ends.push([one.nextDay, one.shortfall === null]);
    else ids.push(...one.page.rows.map((row) => (row as { id: string }).id));
  }
  const { asked } = source;
  const windows = [...new Set(asked.map(({ dates }) => dates && `${dayOf(dates.from)}-${dayOf(dates.to)}`))];
  return { ids, ends, pagings, windows, asked, warnings: logger.warnings };
}

/** A server with so many rows a day, the newest first. */
const holding =
  (rowsOf: (day: number) => number) =>
  ({ dates, pageOffset, pageSize }: PageRequest) => {
    const rows: unknown[] = [];
    for (let day = dayOf(dates!.to); day >= dayOf(dates!.from); day--)
      for (let i = 0; i < rowsOf(day); i++) rows.push({ id: `${day} ${i}`, updated: 1000 + day });
    return rows.slice(pageOffset * pageSize, (pageOffset + 1) * pageSize);
  };

it('windows double while they hold little', async () => {
  const { ends, windows, asked, warnings } = await read(
    { first: 3, last: 200 },
    holding(() => 0),
  );
  expect(windows).toEqual(['3-34', '35-98', '99-200']);
  expect(ends).toEqual([
    [35, true],
    [99, true],
    [201, true],
  ]);
  expect(asked.every(({ updatedSince }) => updatedSince === 0)).toBe(true);
  expect(warnings).toStrictEqual([]);
});

it('a window doubles the next one up to five pages of rows, counted as often as they are read', async () => {
  const windows = async (rows: number) =>
    (
      await read(
        { first: 0, last: 95 },
        holding((day) => (day === 0 ? rows : 0)),
      )
    ).windows;
  // Twice by the walk up and down, and the first page once more.
  expect(await windows(20)).toEqual(['0-31', '32-95']);
  expect(await windows(21)).toEqual(['0-31', '32-63', '64-95']);
});

it('a window of more than twenty pages is halved, and every row of its days is read', async () => {
  const { ids, ends, windows } = await read(
    { first: 0, last: 31 },
    holding(() => 7),
  );
  expect(windows).toEqual(['0-31', '0-15', '16-31']);
  expect(ends).toEqual([
    [16, true],
    [32, true],
  ]);
  expect(new Set(ids)).toHaveProperty('size', 7 * 32);
});

it('the first half of an odd number of days is the larger, and twenty full pages are not too many', async () => {
  const { windows } = await read(
    { first: 0, last: 2 },
    holding(() => 100),
  );
  expect(windows).toEqual(['0-2', '0-1', '2-2']);
});

it('a window of some days never holds more than paging reaches', async () => {
  const { windows } = await read(
    { first: 0, last: 1 },
    holding(() => 99),
    known,
    100,
  );
  expect(windows).toEqual(['0-1', '0-0', '1-1']);
});

it('one day is read as far as paging reaches', async () => {
  const { ids, ends } = await read(
    { first: 5, last: 5 },
    holding(() => 900),
  );
  expect(new Set(ids)).toHaveProperty('size', 900);
  expect(ends).toEqual([[6, true]]);
});

it('one day beyond what paging reaches ends the reading, by its name', async () => {
  await expect(
    read(
      { first: 0, last: 3 },
      holding((day) => (day === 1 ? 1001 : 0)),
    ),
  ).rejects.toMatchObject({
    code: 'SCAN_BEYOND_REACH',
    message: expect.stringMatching(/^The day 1970-01-02 of feed insights holds more .* \(1000\)\./),
    cause: { code: 'SCAN_BEYOND_REACH' },
  });
});

it('a server that ignores paging ends the reading once one day is too much', async () => {
  const rows = Array.from({ length: 10 }, (_, i) => ({ id: `r${i}`, updated: 1000 }));
  const seen: (string | undefined)[] = [];
  const reading = read({ first: 0, last: 1 }, ({ dates }) => {
    seen.push(dates?.to);
    return rows;
  });
  await expect(reading).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
  expect([seen[0], seen.at(-1)]).toEqual(['1970-01-02', '1970-01-01']);
});

// If page 0 is refused, page 1 is asked for, to name the cause.
it.each([
  [new HighwaterError('SOURCE_FORBIDDEN', 'no'), 1],
  [new HighwaterError('SOURCE_NOT_FOUND', 'gone'), 2],
  [new TypeError('a fault'), 1],
])('another failure ends the reading at once: %s', async (failure, asked) => {
  let requests = 0;
  const reading = read({ first: 0, last: 9 }, () => {
    requests++;
    throw failure;
  });
  await expect(reading).rejects.toBe(failure);
  expect(requests).toBe(asked);
});

it('days with rows that keep coming are read one by one, and what may be missing is said', async () => {
  let next = 0;
  const news = (count: number) => Array.from({ length: count }, () => ({ id: `n${next++}`, updated: 1000 }));
  const { ends, windows, warnings } = await read({ first: 0, last: 1 }, ({ dates, pageOffset }) =>
    dates!.from === '1970-01-01' && pageOffset < 2 ? news(pageOffset === 0 ? 10 : 5) : [],
  );
  expect(windows).toEqual(['0-1', '0-0', '1-1']);
  expect(ends).toEqual([
    [1, false],
    [2, true],
  ]);
  expect(warnings).toEqual([expect.stringContaining('over the rows of 1970-01-01 still brought new ones')]);
});

it('the unit of the paging is learned from the whole feed, unless it is known', async () => {
  const all = Array.from({ length: 90 }, (_, i) => ({ id: `r${i}`, updated: 1000 + i }));
  const show = ({ dates, pageOffset, pageSize }: PageRequest) =>
    dates === undefined ? all.slice(pageOffset, pageOffset + pageSize) : [];
  const days = { first: 0, last: 0 };
  const paging = unknownPaging(30);
  const learned = await read(days, show, paging);
  expect(learned.windows).toEqual([undefined, '0-0']);
  expect(learned.pagings.every(({ unit }) => unit === 'record')).toBe(true);
  expect((await read(days, show)).windows).toEqual(['0-0']);
});

it('the paging that a window learned is kept for the next window', async () => {
  const { asked, pagings } = await read({ first: 0, last: 50 }, ({ dates, pageOffset, pageSize }) => {
    if (pageSize > 5) throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'large');
    return holding((day) => (day === 0 ? 3 : 0))({ dates: dates!, pageOffset, pageSize, updatedSince: 0 });
  });
  expect(asked.filter(({ pageSize }) => pageSize > 5).length).toBeGreaterThan(0);
  expect(pagings.at(-1)).toMatchObject({ unit: 'page' });
});
