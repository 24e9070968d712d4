import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import { movePosition } from '../../../src/pipeline/transaction/transact';
import { WHOLE_FEED } from '../../../src/types';
import { NOW, type StyledPublisher, styledPublisher } from '../../support/styled-publisher';
import { refuseCursor, styledVendor, type VendorShape } from '../../support/styled-vendor';

let publisher: StyledPublisher;

const ops = async () => (await publisher.topic('ipos')).map(({ decoded }) => decoded!.op);

describe('an API that is not ready, and answers a first snapshot with no rows', () => {
  beforeEach(async () => {
    publisher = await styledPublisher({ style: 'page' });
    // The state as a process has it that starts for the first time.
    await publisher.restart();
    await publisher.poll();
  });

  it('shows its first rows after one such poll as reads, and no transitions', async () => {
    const { clock, vendor } = publisher;
    expect(publisher.offset()).toMatchObject({ snapshot: 'running', empty_since_ms: clock.ms });
    vendor.write('a', NOW - 9_000);
    await publisher.poll();
    expect([await ops(), await publisher.topic('ipos.deal-status')]).toEqual([['r'], []]);
    expect(publisher.offset()).toMatchObject({ snapshot: 'complete', empty_since_ms: null });
  });

  it('shows rows after two such polls as created', async () => {
    await publisher.restart();
    await publisher.poll();
    expect(publisher.offset()).toMatchObject({ snapshot: 'complete', empty_since_ms: null });
    publisher.vendor.write('a', NOW - 9_000);
    await publisher.poll();
    expect(await ops()).toEqual(['c']);
  });
});

it('answers without a list of rows agree after five minutes, and not before', async () => {
  publisher = await styledPublisher({ style: 'page' });
  publisher.vendor.shows = (page) => ({ ...page, isVague: true });
  await publisher.restart();
  await publisher.poll();
  publisher.clock.ms += 299_000;
  await publisher.poll();
  expect(publisher.offset().snapshot).toBe('running');
  publisher.clock.ms += 1_000;
  await publisher.poll();
  expect(publisher.offset().snapshot).toBe('complete');
});

it.each<Partial<VendorShape>>([{ filter: true }, { filter: false }])(
  'a snapshot of the shape %j that has seen rows is complete without any after five minutes, and not before',
  async (traits) => {
    let isIll = false;
    const { clock } = await unwell({ style: 'offset', ...traits }, (request) => {
      if (request === 10) throw new HighwaterError('SOURCE_UNAVAILABLE', 'GET answered with 503.');
      return isIll;
    });
    await expect(publisher.poll()).rejects.toThrow('503');
    isIll = true;
    expect(publisher.offset().record_count).toBeGreaterThan(0);
    for (const [ms, snapshot] of [
      [0, 'running'],
      [299_000, 'running'],
      [1_000, 'complete'],
    ] as const) {
      clock.ms += ms;
      await publisher.poll();
      expect([ms, publisher.offset().snapshot]).toEqual([ms, snapshot]);
    }
  },
);

/** A vendor of 60 records whose answers show no row at some requests. */
async function unwell(
  traits: Partial<VendorShape>,
  isBlank: (request: number) => boolean,
  overrides: Partial<Feed> = {},
) {
  publisher = await styledPublisher(traits, { pageSize: 10, ...overrides });
  const { vendor, clock, shape } = publisher;
  for (let i = 0; i < 60; i++) vendor.write(`r${100 + i}`, NOW - 9_000 + i);
  const { fetchPage } = vendor;
  const blank = styledVendor(shape, () => clock.ms);
  let requests = 0;
  vendor.fetchPage = (...asked) => (isBlank(++requests) ? blank.fetchPage(...asked) : fetchPage(...asked));
  return { vendor, clock, requests: () => requests };
}

describe.each<Partial<VendorShape>>([
  { style: 'offset' },
  { style: 'cursor' },
  { style: 'link', order: 'newest' },
  { style: 'none' },
  { style: 'cursor', filter: false },
  { style: 'page', order: 'id' },
])('an API of the shape %j that comes to show no rows', (traits) => {
  it('does not count as read, is said once, and is read again when it is well', async () => {
    let isIll = false;
    const { vendor, clock } = await unwell(traits, () => isIll);
    await publisher.poll();
    const { logger } = publisher;
    const { last_complete_scan_ms } = publisher.offset();
    isIll = true;
    for (const wide of [false, true, false]) {
      clock.ms += 2_000;
      expect(await publisher.poll({ wide })).toMatchObject({ complete: false });
    }
    expect(await publisher.reconcile()).toMatchObject({ deleted: 0 });
    expect(publisher.offset()).toMatchObject({
      last_complete_scan_ms,
      last_error: expect.stringMatching(/^POLL_NOT_COUNTED: the API shows 0 of 60 records\./),
    });
    expect(logger.warnings).toStrictEqual([expect.stringContaining('the API shows 0 of 60 records')]);
    isIll = false;
    vendor.write('r103', clock.ms / 1000);
    expect(await publisher.poll()).toMatchObject({ complete: true });
    expect(publisher.offset().last_complete_scan_ms).toBeGreaterThan(last_complete_scan_ms!);
    expect(publisher.offset().last_error).toBeNull();
    const events = await publisher.topic('ipos');
    expect(events.slice(60).map(({ decoded }) => [decoded!.op, decoded!.after.id])).toEqual([['u', 'r103']]);
  });
});

it('a feed without paging does not count as read if the API comes to answer each request with its oldest rows', async () => {
  const { clock, vendor } = await unwell({ style: 'none', isCut: true }, () => false, { pageSize: 1_000 });
  const { shape } = publisher;
  for (const [id, { updated }] of vendor.rows) vendor.write(id, updated - 864_000);
  vendor.write('latest', NOW - 60);
  await publisher.poll();
  shape.ignoresQuery = 20;
  clock.ms += 60_000;
  expect(await publisher.poll()).toMatchObject({ complete: false });
  expect(publisher.offset().last_error).toContain('the API shows ');
  shape.ignoresQuery = 0;
  expect(await publisher.poll()).toMatchObject({ complete: true });
});

it.each(['page', 'cursor', 'none'] as const)(
  'an API by %s that shows some old rows with each answer is read, and counts as read',
  async (style) => {
    const { clock, vendor } = await unwell({ style }, () => false, { pageSize: 1_000 });
    for (const [id, { updated }] of vendor.rows) vendor.write(id, updated - 864_000);
    vendor.write('latest', NOW - 60);
    const { fetchPage } = vendor;
    vendor.fetchPage = async (...asked) => {
      const page = await fetchPage(...asked);
      const open = ['r100', 'r101'].map((id) => vendor.rows.get(id)!);
      const isFirst = asked[1].pageOffset === 0 && asked[1].continuation === undefined;
      return { ...page, rows: [...new Set([...(isFirst ? open : []), ...page.rows])] };
    };
    await publisher.poll();
    for (const wide of [false, true, false]) {
      clock.ms += 60_000;
      vendor.write('latest', clock.ms / 1000);
      expect(await publisher.poll({ wide })).toMatchObject({ complete: true });
    }
    expect([publisher.offset().last_error, publisher.logger.warnings]).toEqual([null, []]);
  },
);

it.each(['page', 'offset', 'cursor', 'none'] as const)(
  'a poll by %s that is shown two fifths of the records is said to be short of records',
  async (style) => {
    const { vendor } = await unwell({ style, filter: false }, () => false);
    await publisher.poll();
    for (const id of [...vendor.rows.keys()].slice(24)) vendor.rows.delete(id);
    const { last_complete_scan_ms } = publisher.offset();
    await publisher.poll();
    expect(publisher.offset().last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(publisher.logger.warnings).toStrictEqual([
      expect.stringContaining('the API shows 24 of 60 records'),
    ]);
  },
);

it.each<readonly [number, Partial<VendorShape>]>([
  [4, { style: 'cursor' }],
  [4, { style: 'link' }],
  [2, { style: 'link', overlaps: true, sized: false, cap: 7 }],
])('no record is deleted though one answer in %i is empty: %j', async (each, traits) => {
  let isIll = false;
  await unwell({ order: 'newest', filter: false, ...traits }, (request) => isIll && request % each === 0);
  await publisher.poll();
  isIll = true;
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0 });
});

it('a poll without the filter that was given up is said to be short of records', async () => {
  const { vendor } = await unwell({ style: 'page' }, () => false);
  await publisher.poll();
  await movePosition(publisher.owned().deps, { filter_lag: WHOLE_FEED });
  for (const id of [...vendor.rows.keys()].slice(24)) vendor.rows.delete(id);
  await publisher.poll();
  expect(publisher.logger.warnings).toStrictEqual([
    expect.stringContaining('the API shows 24 of 60 records'),
  ]);
});

it.each(['updated', 'id'] as const)(
  'a mark that was tested in a list by %s does not keep a wide poll, and the polls behind it, from noticing that no rows are shown',
  async (order) => {
    let isIll = false;
    const { vendor, clock } = await unwell({ style: 'offset', order }, () => isIll);
    await publisher.poll();
    clock.ms += 5 * 86_400_000;
    vendor.write('late', clock.ms / 1000 - 9);
    await publisher.poll();
    vendor.rows.delete('late');
    await publisher.poll();
    const { last_complete_scan_ms, filter_tested_at, high_water_mark } = publisher.offset();
    expect(filter_tested_at).toBe(high_water_mark);
    isIll = true;
    for (const wide of [true, false]) {
      clock.ms += 2_000;
      await publisher.poll({ wide });
      expect(publisher.offset().last_complete_scan_ms).toBe(last_complete_scan_ms);
    }
  },
);

it('a feed with ranges is well though its first range, and the present, have no rows', async () => {
  const beginAt = NOW - 20_000;
  const shape = { style: 'offset', range: 3_600 } as const;
  const { clock } = await unwell(shape, () => false, { beginAt });
  await publisher.poll();
  for (const wide of [true, false]) {
    clock.ms += 10_000_000;
    await publisher.poll({ wide });
    expect(publisher.offset().last_complete_scan_ms).toBe(clock.ms);
  }
  expect(publisher.logger.warnings).toStrictEqual([]);
});

it.each(['updated', 'newest'] as const)(
  'a feed with ranges, %s first, is behind while the API shows nothing, and what is written meanwhile comes as soon as it is well',
  async (order) => {
    let isIll = false;
    const beginAt = NOW - 20_000;
    const shape = { style: 'offset', range: 3_600, order } as const;
    const { vendor, clock, requests } = await unwell(shape, () => isIll, { beginAt });
    await publisher.poll();
    const { last_complete_scan_ms } = publisher.offset();
    isIll = true;
    for (let hour = 0; hour < 20; hour++) {
      clock.ms += 3_600_000;
      vendor.write(`at ${hour}`, clock.ms / 1000);
      await publisher.poll({ wide: hour % 3 === 0 });
    }
    expect(publisher.offset().last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(publisher.logger.warnings).toStrictEqual([
      expect.stringContaining('shows no row where records are known'),
    ]);
    isIll = false;
    await publisher.poll();
    expect(publisher.offset()).toMatchObject({ record_count: 80, last_complete_scan_ms: clock.ms });
    // A list that is empty for good costs no more than a day of ranges.
    isIll = true;
    const asked = async () => {
      const before = requests();
      await publisher.poll();
      return requests() - before;
    };
    for (let day = 0; day < 40; day++) {
      clock.ms += 86_400_000;
      expect(await asked()).toBeLessThan(200);
    }
  },
);

it('a feed with ranges is well though its latest records are gone, or ahead of the present, which the API refuses', async () => {
  const beginAt = NOW - 20_000;
  const shape = { style: 'offset', range: 600, refusesAhead: true } as const;
  const { vendor, clock, requests } = await unwell(shape, () => false, { beginAt });
  vendor.write('ahead', NOW + 1_800);
  await publisher.poll();
  for (const id of ['r157', 'r158', 'r159']) vendor.rows.delete(id);
  for (let i = 0; i < 10; i++) {
    clock.ms += 240_000;
    const before = requests();
    await publisher.poll({ wide: i % 2 === 0 });
    expect(publisher.offset().last_complete_scan_ms).toBe(clock.ms);
    expect(requests() - before).toBeLessThan(60);
  }
  expect(publisher.logger.warnings).toStrictEqual([]);
});

it('a poll of everything that commits a new record before its end counts as complete', async () => {
  const shape = { filter: false, order: 'id', endsEmpty: true } as const;
  const { vendor, clock } = await unwell(shape, () => false, { pageSize: 1 });
  await publisher.poll();
  // Five pages with news are a batch.
  for (const id of ['r156', 'r157', 'r158', 'r159', 'x']) vendor.write(id, clock.ms / 1000);
  await publisher.poll();
  expect(publisher.logger.warnings).toStrictEqual([]);
});

it('rows without a time count once, however often a poll of everything reads them', async () => {
  const { vendor } = await unwell({ style: 'page', filter: false }, () => false);
  await publisher.poll();
  const ids = [...vendor.rows.keys()];
  for (const id of ids.slice(24)) vendor.rows.delete(id);
  for (const id of ids.slice(14, 24))
    vendor.rows.set(id, { ...vendor.rows.get(id)!, updated: null as never });
  await publisher.poll();
  expect(publisher.logger.warnings).toStrictEqual([
    expect.stringContaining('the API shows 24 of 60 records'),
  ]);
});

it('a last page that names itself as the next one may be empty once', async () => {
  let requests = 0;
  let blank = 0;
  const traits = { style: 'cursor', filter: false, endsOnItself: true } as const;
  await unwell(traits, (request) => {
    requests = request;
    return request === blank;
  });
  await publisher.poll();
  const before = requests;
  await publisher.poll();
  for (let i = requests - before; i > 0; i--) {
    blank = requests + i;
    await publisher.poll();
  }
  expect(await publisher.reconcile()).toMatchObject({ deleted: 0, missing: 0 });
});

it('a cursor that is used up by its empty answer is the end', async () => {
  const traits = { style: 'cursor', filter: false, endsEmpty: true } as const;
  const { vendor } = await unwell(traits, () => false);
  const used = new Set<string>();
  let again = 0;
  vendor.beforeAnswer = () => {
    const { continuation } = vendor.asked.at(-1)!;
    if (continuation === undefined) used.clear();
    if (!continuation?.includes('r159')) return;
    if (used.has(continuation)) again++;
    if (used.has(continuation)) refuseCursor();
    used.add(continuation);
  };
  await publisher.poll();
  expect(again).toBeGreaterThan(0);
  expect(publisher.offset()).toMatchObject({ snapshot: 'complete', record_count: 60 });
});
