import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import type { StyledVendor, VendorRow, VendorShape } from '../../support/styled-vendor';

/** A filter by the time of creation. Most rows are updated some hours later, which looks like a filter of another time zone. */
const HOUR = 3_600;

let vendor: StyledVendor;
let publisher: StyledPublisher;

const write = (id: string, updated: number) => vendor.write(id, updated);

/** The present, which a test moves on. */
const second = () => publisher.clock.ms / 1000;
const pass = (seconds: number) => {
  publisher.clock.ms += seconds * 1000;
};

/** @param delays hours from a row's creation to its update, in turn */
async function start(
  rows: number,
  delays: readonly number[],
  between = 120,
  since: VendorShape['since'] = 'created',
): Promise<void> {
  const overrides = { pageSize: 10, deleteShare: 1, wideOverlapSeconds: HOUR };
  publisher = await styledPublisher({ style: 'page', since }, overrides);
  vendor = publisher.vendor;
  for (let i = 0; i < rows; i++) {
    const created = NOW - 6 * HOUR - (rows - i) * between;
    const id = `r${String(i).padStart(3, '0')}`;
    vendor.created.set(id, created);
    write(id, created + Math.round(delays[i % delays.length]! * HOUR));
  }
}

const published = (id: string): unknown => {
  const { images, state } = publisher.owned().deps;
  const image = state.image(id);
  return image === undefined ? null : images.decode(image).updated;
};
const expectAll = () => {
  const missing = [...vendor.rows.values()].filter(({ id, updated }) => published(id) !== updated);
  expect(missing.map(({ id }) => id)).toStrictEqual([]);
};
const warnings = () => publisher.logger.warnings;

it.each([
  ['some hours', [1.2, 2.7, 2.1, 1.6, 2.9]],
  ['minutes or hours', [0.1, 2.7, 0.3, 4.2]],
  ['days', [1, 30, 13, 41]],
])('is not used any more if rows are updated after %s', async (_, delays) => {
  await start(60, delays);
  await publisher.poll();
  pass(60);
  for (const id of ['r003', 'r017', 'r040']) write(id, second() - 20);
  await publisher.poll();
  await publisher.poll();
  expectAll();
  expect(warnings().join()).toContain('It is not used any more');
});

it('is not used any more once a reconcile finds a row that polls have missed', async () => {
  await start(30, [0], 600);
  vendor.rows.delete('r029');
  await publisher.poll();
  expectAll();
  pass(60);
  write('r003', second() - 20);
  write('new', second() - 10);
  await publisher.poll();
  expect(published('r003')).not.toBe(second() - 20);
  expect(await publisher.reconcile()).toMatchObject({ updated: 1 });
  expectAll();
  expect(warnings()).toEqual([expect.stringContaining('It is not used any more')]);
  pass(60);
  write('r004', second() - 20);
  await publisher.poll();
  expectAll();
});

it('is not used any more once a reconcile finds a row that is later than all that polls have seen', async () => {
  await start(30, [0], 600);
  await publisher.poll();
  pass(600);
  await publisher.poll();
  write('r003', second() - 60);
  pass(600);
  await publisher.poll();
  expect(published('r003')).not.toBe(second() - 660);
  await publisher.reconcile();
  pass(60);
  write('r004', second() - 20);
  await publisher.poll();
  expectAll();
  expect(warnings()).toEqual([expect.stringContaining('It is not used any more')]);
});

it('of creation is not used any more once a reconcile finds updates of a feed that is ordered by it', async () => {
  await start(30, [0], 600, 'from');
  const { fetchPage } = vendor;
  const created = (row: unknown) => vendor.created.get((row as VendorRow).id) ?? second();
  vendor.fetchPage = async (feed, request, ...rest) => {
    const all = { ...request, updatedSince: 0, pageOffset: 0, pageSize: 1_000 };
    const page = await fetchPage(feed, all, ...rest);
    const rows = page.rows
      .filter((row) => created(row) >= request.updatedSince)
      .sort((a, b) => created(a) - created(b));
    const begin = request.pageOffset * request.pageSize;
    return { ...page, rows: rows.slice(begin, begin + request.pageSize) };
  };
  write('r002', NOW - 9 * HOUR);
  await publisher.poll();
  const change = async (old: string, fresh: string) => {
    pass(60);
    write(old, second() - 20);
    vendor.created.set(fresh, second() - 10);
    write(fresh, second() - 10);
    await publisher.poll();
  };
  await change('r003', 'new0');
  await change('r004', 'new1');
  expect(published('r003')).not.toBe(second() - 80);
  await publisher.reconcile();
  expectAll();
  expect(warnings()).toEqual([expect.stringContaining('It is not used any more')]);
  await change('r005', 'new2');
  expectAll();
});

it('is not used any more if an API comes to filter so after the snapshot', async () => {
  await start(60, [1.2, 2.7, 2.1, 1.6, 2.9], 120, 'from');
  await publisher.restart({ feed: { ...publisher.feed, pageSize: 100 } });
  await publisher.poll();
  publisher.shape.since = 'created';
  await publisher.poll({ wide: true });
  pass(60);
  for (const id of ['r003', 'r017', 'r040']) write(id, second() - 20);
  await publisher.poll();
  expectAll();
  expect(warnings().join()).toContain('It is not used any more');
});

it('by the clock of another zone is asked one hour earlier once summer time ends there', async () => {
  await start(9, [0], 600, 'from');
  let hours = 4;
  const { fetchPage } = vendor;
  const late = (since: number) => (since > 0 ? since + hours * HOUR : 0);
  vendor.fetchPage = (feed, request, ...rest) =>
    fetchPage(feed, { ...request, updatedSince: late(request.updatedSince) }, ...rest);
  await publisher.poll();
  pass(60);
  write('r003', second() - 20);
  await publisher.poll();
  expect(publisher.offset().filter_lag).toBe(4 * HOUR);
  hours = 5;
  pass(60);
  write('r004', second() - 20);
  await publisher.poll();
  expectAll();
  expect(publisher.offset().filter_lag).toBe(5 * HOUR);
});

it('is used on if a row that a reconcile has found late is gone before it is asked for', async () => {
  await start(30, [0], 600, 'from');
  await publisher.poll();
  const late = NOW - 7 * HOUR - 50;
  write('late', late);
  vendor.beforeAnswer = () => {
    if (vendor.asked.at(-1)!.updatedSince === late - publisher.feed.overlapSeconds)
      vendor.rows.delete('late');
  };
  await publisher.reconcile();
  expect(vendor.rows.has('late')).toBe(false);
  expect(warnings()).toStrictEqual([]);
  expect(publisher.offset().filter_lag).toBe(0);
});

it('is used on if a server that lags shows a record that is gone whenever it is asked for everything', async () => {
  await start(40, [0], 120, 'from');
  write('other', NOW - 10);
  write('gone', NOW - 5);
  await publisher.poll();
  const gone = vendor.rows.get('gone')!;
  vendor.rows.delete('gone');
  write('later', NOW - 4);
  await publisher.poll();
  expect(await publisher.reconcile()).toMatchObject({ deleted: 1 });
  vendor.rows.delete('later');
  vendor.beforeAnswer = () => {
    if (vendor.asked.at(-1)!.updatedSince === 0) vendor.rows.set('gone', gone);
    else vendor.rows.delete('gone');
  };
  for (let i = 0; i < 3; i++) await publisher.poll({ wide: i === 1 });
  expect(warnings()).toStrictEqual([]);
  expect(publisher.offset().filter_lag).toBe(0);
});

it('is used on if a reconcile finds a row that became visible late', async () => {
  await start(30, [0], 600);
  await publisher.poll();
  write('late', NOW - 7 * HOUR);
  expect(await publisher.reconcile()).toMatchObject({ created: 1 });
  expect(warnings()).toStrictEqual([]);
});

it('what was learned of a filter is forgotten when the feed gets another one, and paging with it', async () => {
  await start(60, [1, 30, 13, 41]);
  await publisher.poll();
  expect(publisher.offset().filter_lag).toBeGreaterThan(0);
  await publisher.restart();
  expect(publisher.offset().filter_lag).toBeGreaterThan(0);
  const { feed } = publisher;
  await publisher.restart({
    feed: { ...feed, parameters: { ...feed.parameters, updatedSince: 'updated_since' } },
  });
  expect(publisher.offset()).toMatchObject({ filter_lag: 0, page_size: null, snapshot: 'complete' });
});

describe('a filter of a feed that is too large to be read for one row', () => {
  const MANY = 400;
  const startLarge = async (shape: Partial<VendorShape>) => {
    publisher = await styledPublisher({ style: 'page', ...shape }, { pageSize: 3, deleteShare: 1 });
    vendor = publisher.vendor;
    for (let i = 0; i < MANY; i++) write(`r${i}`, NOW - (MANY - i) * 6 * HOUR);
    await publisher.poll();
    await publisher.poll();
    expectAll();
    pass(60);
    if (shape.since !== 'edited') write('r7', second() - 20);
  };
  const readAt = () => publisher.offset().last_complete_scan_ms;

  it('that shows nothing for a while is not believed, and shows all changes later', async () => {
    await startLarge({});
    vendor.shows = (page, { updatedSince }) => (updatedSince > 0 ? { ...page, rows: [] } : page);
    const before = readAt();
    for (const wide of [false, true, false]) await publisher.poll({ wide });
    expect(readAt()).toBe(before);
    expect(warnings()).toEqual([expect.stringContaining('the filter since shows no row')]);
    vendor.shows = (page) => page;
    await publisher.poll();
    expectAll();
    expect(readAt()).not.toBe(before);
    expect(publisher.offset().filter_lag).toBe(0);
  });

  it.each(['updated', 'rank'] as const)(
    'that comes to be hours late is asked earlier (order: %s)',
    async (order) => {
      await startLarge({ order });
      publisher.shape.since = 'hours';
      await publisher.poll();
      await publisher.poll();
      expectAll();
      expect(warnings().join()).toMatch(/if it is asked for \d+ s earlier/);
    },
  );

  it('by the time of edits is not used any more', async () => {
    await startLarge({ order: 'newest', since: 'edited' });
    write('created', second() - 10);
    await publisher.poll();
    pass(60);
    write('r9', second() - 20);
    await publisher.poll();
    await publisher.poll();
    expectAll();
    expect(warnings().join()).toContain('It is not used any more');
  });

  it.each<Partial<VendorShape>>([
    {},
    { order: 'newest' },
    { order: 'newest', since: 'after' },
    { style: 'cursor', order: 'newest', since: 'after' },
  ])('is believed if the latest row is gone: %j', async (shape) => {
    await startLarge(shape);
    await publisher.poll();
    pass(60);
    vendor.rows.delete('r7');
    vendor.rows.delete(`r${MANY - 1}`);
    const before = readAt();
    await publisher.poll();
    expect(readAt()).not.toBe(before);
    expect(warnings()).toStrictEqual([]);
  });
});

/** The filter does not show this row, whose time is another one. */
function hide(hidden: string, updated: number | null): void {
  const { fetchPage } = vendor;
  vendor.fetchPage = async (feed, request, ...rest) => {
    const isFiltered = feed.parameters.updatedSince !== null;
    const page = await fetchPage(feed, request, ...rest);
    const rows = (page.rows as VendorRow[])
      .filter(({ id }) => id !== hidden || !isFiltered)
      .map((row) => (row.id === hidden ? { ...row, updated } : row));
    return { ...page, rows };
  };
}

it.each([null, 0])('hides a row whose time is %j: a reconcile says so', async (updated) => {
  await start(30, [0], 600, 'from');
  hide('r007', updated);
  for (const round of ['poll', 'reconcile', 'reconcile'] as const) await publisher[round]();
  const letters = await publisher.topic('ipos.dead-letters');
  const ids = letters.map(({ decoded }) => JSON.parse(decoded!.raw).id as string);
  expect(ids).toEqual(updated === null ? ['r007'] : []);
  const said = /hides records dated 1970 or before, such as r007, .* Set beginAt/;
  if (updated !== null) expect(warnings()).toEqual([expect.stringMatching(said), expect.anything()]);
});

it('hides a known record that has lost its time: a reconcile is shown it, and deletes nothing', async () => {
  await start(30, [0], 600, 'from');
  await publisher.poll();
  hide('r007', null);
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, why: null });
});
