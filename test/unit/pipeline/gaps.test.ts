import { HighwaterError } from '../../../src/errors';
import { PageReader } from '../../../src/pipeline/scan/pages/page-reader';
import { unknownPaging } from '../../../src/pipeline/scan/pages/paging';
import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { VendorShape } from '../../support/styled-vendor';

/** An API that cuts pages first, and then leaves out the rows that the token may not see. */
let publisher: StyledPublisher;

const warnings = () => publisher.logger.warnings.join('\n');
const write = (prefix: string, count: number, first: number): void => {
  for (let i = 0; i < count; i++) publisher.vendor.write(`${prefix}${i}`, first + i);
};

async function start(traits: Partial<VendorShape>): Promise<void> {
  publisher = await styledPublisher({ hides: true, cap: 100, ...traits }, { pageSize: 100 });
  write('r', 120, NOW - 9_000);
}

describe.each<Partial<VendorShape>>([
  { style: 'page' },
  { style: 'page', filter: false },
  { style: 'page', first: 'one, zero is the same' },
  { style: 'offset' },
  { style: 'offset', order: 'newest', filter: false },
])('an API that pages by %j and leaves out more rows side by side than a page has', (traits) => {
  it('does not count as read, if the rows behind them are there from the beginning', async () => {
    await start(traits);
    write('hidden', 280, NOW - 5_000);
    write('s', 20, NOW - 1_000);
    await publisher.poll();
    expect(publisher.offset().snapshot).not.toBe('complete');
    expect(warnings()).toMatch(/page \d \(counted from 0\) has no rows, and a later one has some/);
    for (const id of [...publisher.vendor.rows.keys()])
      if (id.startsWith('hidden')) publisher.vendor.rows.delete(id);
    await publisher.poll();
    expect(publisher.offset().snapshot).toBe('complete');
    expect(publisher.unknown()).toEqual([]);
  });

  it('has no live record deleted that has moved behind them', async () => {
    await start(traits);
    await publisher.poll();
    write('hidden', 280, NOW - 5_000);
    publisher.vendor.write('r5', NOW - 1_000);
    write('s', 20, NOW - 900);
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: 'scan-not-complete' });
  });

  it('is read if it leaves out none', async () => {
    await start(traits);
    await publisher.poll();
    publisher.vendor.rows.delete('r5');
    expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
    expect(warnings()).toBe('');
  });
});

it.each([
  ...(['SOURCE_UNAVAILABLE', 'SOURCE_TIMEOUT', 'SOURCE_REQUEST_REFUSED', 'SOURCE_FORBIDDEN'] as const),
  ...(['SOURCE_REPORTED_ERROR', 'SOURCE_WRONG_SHAPE', 'SOURCE_RATE_LIMITED'] as const),
])('an API that fails far behind its end is read (%s)', async (code) => {
  await start({ style: 'page', filter: false });
  publisher.vendor.shows = (page, { pageOffset }) => {
    if (pageOffset > 4) throw new HighwaterError(code, 'GET answered badly.');
    return page;
  };
  await publisher.poll();
  expect(publisher.offset().snapshot).toBe('complete');
  publisher.vendor.rows.delete('r5');
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1, why: null });
});

/** An API of several servers that answer in turn. One of them has no rows. */
describe.each<Partial<VendorShape>>([
  { style: 'offset', order: 'newest', pastEnd: 'last page' },
  { style: 'offset', order: 'id', filter: false },
  { style: 'page', order: 'newest' },
  { style: 'page', filter: false },
  { style: 'page', order: 'id', range: 3_600 },
])('an API that pages by %j, of servers that answer in turn', (traits) => {
  const most = [20, 7].flatMap((cap) => [2, 3, 4, 5, 6, 7].map((servers) => [servers, cap]));

  it.each(most)(
    'has no live record deleted if one of %i servers has no rows (at most %i a page)',
    async (servers, cap) => {
      const beginAt = Number.isFinite(traits.range) ? NOW - 10_000 : undefined;
      publisher = await styledPublisher({ cap: 20, ...traits }, { pageSize: 20, beginAt, deleteShare: 1 });
      write('r', 100, NOW - 9_000);
      await publisher.poll();
      expect(publisher.unknown()).toEqual([]);
      let answers = 0;
      publisher.vendor.shows = (page) => (++answers % servers === 0 ? { ...page, rows: [] } : page);
      publisher.shape.cap = cap;
      expect(await publisher.reconcile()).toMatchObject({ deleted: 0 });
    },
  );
});

it('pages begin again if an empty answer comes before a body that is too large', async () => {
  publisher = await styledPublisher({ style: 'offset', order: 'newest', cap: 20 }, { pageSize: 20 });
  write('r', 100, NOW - 9_000);
  let answers = 0;
  publisher.vendor.shows = (page, { pageOffset }) => {
    if (pageOffset < 40) return page;
    if (++answers === 1) return { ...page, rows: [] };
    throw new HighwaterError('SOURCE_BODY_TOO_LARGE', 'The body is too large.');
  };
  const { feed, vendor } = publisher;
  const reader = new PageReader(feed, vendor, unknownPaging(20), new AbortController().signal);
  reader.endTest.begin({ snapshot: false, wide: true });
  for (const n of [0, 1]) await reader.read(0, n, 20 * n);
  expect(await reader.read(0, 2, 40)).toBe('page-size-changed');
});

it.each([{}, { range: 3_600 }] as const)(
  'a reconcile finds rows of the very second at which a feed begins, if the filter leaves out the second that it is asked for: %j',
  async (traits) => {
    publisher = await styledPublisher(
      { since: 'after', cap: 20, ...traits },
      { pageSize: 20, beginAt: NOW - 10_000 },
    );
    for (let i = 0; i < 60; i++) publisher.vendor.write(`r${i}`, NOW - 10_000 + (i < 3 ? 0 : i * 100));
    await publisher.poll();
    await publisher.poll();
    await publisher.reconcile();
    expect(await publisher.topic('ipos')).toHaveLength(60);
  },
);
