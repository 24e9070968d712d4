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
    [{ style: 'page', pastEnd: 'not found' }, { style: 'offset' }, 130, /counts pages, and not records/],
    [{ style: 'page', cap: 10 }, { style: 'offset' }, 130, /counts pages, and not records/],
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

describe('pages without a filter that come to begin at 0', () => {
  const shape = { style: 'page', first: 'one, zero is refused', filter: false, order: 'newest' } as const;
  const moved = async (paging: Feed['paging']) => {
    await start(shape, paging, 430);
    await publisher.poll();
    publisher.shape.first = 'zero';
    publisher.vendor.write('new', NOW);
    return publisher.poll({ wide: true });
  };

  it('are read from there by the next wide poll', async () => {
    await moved({ style: 'page' });
    expect(publisher.unknown()).toEqual([]);
  });

  it('end the next wide poll if the settings say that they begin at 1', async () => {
    await expect(moved({ style: 'page', first: 1 })).rejects.toMatchObject({ code: 'SCAN_PAGING_IGNORED' });
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

it.each([130, 430])(
  'a page 0 that is the last page is no page in front of page 1 (%i rows)',
  async (rows) => {
    const shape = {
      style: 'page',
      first: 'one, zero is the same',
      pastEnd: 'last page',
      order: 'id',
    } as const;
    await start(shape, { style: 'page', first: 1 }, rows);
    const { fetchPage } = publisher.vendor;
    publisher.vendor.fetchPage = (feed, request, signal) =>
      fetchPage(feed, { ...request, pageOffset: request.pageOffset || 1e6 }, signal);
    await publisher.poll();
    expect(publisher.unknown()).toEqual([]);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: null });
  },
);

it.each([{ style: 'page', first: 1 }, { style: 'offset' }] as const)(
  'ties that change places at each request do not make %j look wrong',
  async (paging) => {
    await start({ style: paging.style, first: 'one, zero is the same', order: 'id' }, paging, 0);
    for (let i = 0; i < 300; i++) publisher.vendor.write(`r${i}`, NOW - 9_000);
    const { fetchPage } = publisher.vendor;
    let turn = 0;
    publisher.vendor.fetchPage = async (feed, request, signal) => {
      const all = [...publisher.vendor.rows.values()];
      const place = (i: number) => ((i + 1) * 7 ** (turn % 6)) % 307;
      turn++;
      const rows = all.map((row, i) => ({ row, at: place(i) })).sort((a, b) => a.at - b.at);
      const from = 'first' in paging ? 20 * Math.max(0, request.pageOffset - 1) : request.pageOffset;
      const page = await fetchPage(feed, request, signal);
      return { ...page, rows: rows.slice(from, from + 20).map(({ row }) => row) };
    };
    await publisher.poll().catch((error) => expect(error.code).not.toBe('SCAN_PAGING_IGNORED'));
  },
);

describe('page 0 comes to be refused', () => {
  const failed = () =>
    publisher.poll().then(
      () => null,
      (error: HighwaterError) => error,
    );

  beforeEach(async () => {
    await start({ style: 'page' }, { style: 'page' }, 230);
    await publisher.poll();
    publisher.clock.ms += 2_000;
    publisher.vendor.write('new', NOW);
  });

  it('and page 1 has rows: the error names the setting, and nothing is learned anew unasked', async () => {
    publisher.shape.first = 'one, zero is refused';
    const { code, message, remedy, cause } = (await failed())!;
    expect(message).toMatch(
      /^Feed ipos: page 0 is refused, and page 1 has rows: .* \(paging\.first: 1\), or only page 0 fails\. GET .*"invalid page"/,
    );
    expect(remedy).toMatch(/set paging\.first: 1 .* If only page 0 fails, do not/);
    expect(cause).toMatchObject({ code });
    expect(publisher.unknown()).toEqual(['new']);

    await publisher.restart({ feed: { ...publisher.feed, paging: { style: 'page', first: 1 } } });
    await publisher.poll();
    expect(publisher.unknown()).toEqual([]);
  });

  it('and so does page 1: the error is that of the API', async () => {
    publisher.vendor.shows = (page, { pageOffset }) => {
      if (pageOffset > 1) return page;
      throw new HighwaterError('SOURCE_REQUEST_REFUSED', 'GET … answered 400.');
    };
    expect(await failed()).toMatchObject({ message: 'GET … answered 400.' });
  });
});
