import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { VendorShape } from '../../support/styled-vendor';

/** Settings that say what page numbers count, and which is the first, in front of APIs for which that is wrong or right. */
let publisher: StyledPublisher;

async function start(traits: Partial<VendorShape>, paging: Feed['paging'], rows: number): Promise<void> {
  publisher = await styledPublisher({ cap: 100, ...traits }, { paging });
  for (let i = 0; i < rows; i++) publisher.vendor.write(`r${i}`, NOW - 9_000 + i);
}

describe.each([
  { order: 'updated', filter: true },
  { order: 'newest', filter: true },
  { order: 'id', filter: false },
] as const)('a list %j', (list) => {
  it.each<[Partial<VendorShape>, Feed['paging'], number, RegExp]>([
    [{ style: 'page' }, { style: 'offset' }, 430, /counts pages, and not records/],
    [{ style: 'page', sized: false }, { style: 'offset', first: 0 }, 130, /counts pages, and not records/],
    [{ style: 'page' }, { style: 'page', first: 1 }, 430, /number 0 has rows that number 1 has not/],
    [{ style: 'page' }, { style: 'page', first: 1 }, 30, /number 0 has rows that number 1 has not/],
    [{ style: 'offset' }, { style: 'offset', first: 1 }, 430, /number 0 has rows that number 1 has not/],
    [{ style: 'offset' }, { style: 'offset', first: 1 }, 1, /number 0 has rows that number 1 has not/],
  ])('of an API %j that is declared as %j is not read (%i rows)', async (traits, paging, rows, message) => {
    await start({ ...list, ...traits }, paging, rows);
    await expect(publisher.poll()).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
    await expect(publisher.poll()).rejects.toThrow(message);
    await expect(publisher.reconcile()).rejects.toThrow(message);
  });

  it.each<[Partial<VendorShape>, Feed['paging'], number]>([
    [{ style: 'offset' }, { style: 'offset' }, 430],
    [{ style: 'offset' }, { style: 'offset', first: 0 }, 1],
    [{ style: 'page', first: 'one, zero is refused' }, { style: 'page', first: 1 }, 430],
    [{ style: 'page', first: 'one, zero is empty' }, { style: 'page', first: 1 }, 30],
    [{ style: 'page', first: 'one, zero is the same' }, { style: 'page', first: 1 }, 430],
    [{ style: 'page', first: 'one, zero is the same' }, { style: 'page', first: 1 }, 1],
  ])('of an API %j that is declared as %j is read (%i rows)', async (traits, paging, rows) => {
    await start({ ...list, ...traits }, paging, rows);
    await publisher.poll();
    expect(publisher.unknown()).toEqual([]);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: null });
    expect(publisher.logger.warnings).toEqual([]);
  });
});

it('a page 0 with all rows is no page in front of page 1', async () => {
  await start(
    { style: 'page', first: 'one, zero is the same', order: 'id' },
    { style: 'page', first: 1 },
    430,
  );
  const all = () => [...publisher.vendor.rows.values()];
  publisher.vendor.shows = (page, { pageOffset }) => (pageOffset === 0 ? { ...page, rows: all() } : page);
  await publisher.poll();
  expect(publisher.unknown()).toEqual([]);
});

it('a page 0 at which an API fails is no page', async () => {
  await start(
    { style: 'page', first: 'one, zero is the same', order: 'id' },
    { style: 'page', first: 1 },
    430,
  );
  publisher.vendor.shows = (page, { pageOffset }) => {
    if (pageOffset === 0) throw new HighwaterError('SOURCE_UNAVAILABLE', 'GET … answered 500.');
    return page;
  };
  await publisher.poll();
  expect(publisher.unknown()).toEqual([]);
});

it('rows that come between two requests do not make a paging look wrong that is declared rightly', async () => {
  await start({ style: 'offset', order: 'newest' }, { style: 'offset' }, 430);
  publisher.vendor.beforeAnswer = (request) => {
    if (request < 5) for (let i = 0; i < 100; i++) publisher.vendor.write(`n${request}-${i}`, NOW);
  };
  await publisher.poll();
  expect(publisher.unknown()).toEqual([]);
});
