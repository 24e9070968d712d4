import { HighwaterError } from '../../../src/errors';
import type { Feed } from '../../../src/feeds/feed';
import { movePosition } from '../../../src/pipeline/transaction/transact';
import type { Source, SourcePage } from '../../../src/source/source';
import { WHOLE_FEED } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { reconciled } from '../../support/operations';
import { ipo } from '../../support/records';
import {
  plainShape,
  refuseCursor,
  styledFeed,
  styledVendor,
  type VendorShape,
} from '../../support/styled-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

/** An API that is not ready answers a first snapshot with no rows, and shows its records later. */
const answer: { rows: readonly unknown[]; isVague: boolean; ms: number } = {
  rows: [],
  isVague: false,
  ms: 1_790_000_000_000,
};
const row = { ...ipo({ id: 'a' }), updated: 1_789_000_000 };

let publisher: TestPublisher;

beforeEach(async () => {
  Object.assign(answer, { rows: [], isVague: false });
  publisher = await testPublisher(testFeed('ipos'), {
    async fetchPage(_feed, { pageOffset }): Promise<SourcePage> {
      const { rows, isVague, ms } = answer;
      const clocks = { serverDateMs: ms, receivedAtMs: ms };
      return { rows: pageOffset === 0 ? rows : [], next: null, isVague, ...clocks };
    },
  });
  // The state as a process has it that starts for the first time.
  await publisher.restart();
});

const offset = () => publisher.owned().deps.state.offset;
const ops = async () => (await publisher.topic('ipos')).map(({ decoded }) => decoded!.op);

it('rows that come after one empty poll are reads, and no transitions', async () => {
  await publisher.poll();
  expect(offset()).toMatchObject({ snapshot: 'running', empty_since_ms: answer.ms });
  answer.rows = [row];
  await publisher.poll();
  expect([await ops(), await publisher.topic('ipos.deal-status')]).toEqual([['r'], []]);
  expect(offset()).toMatchObject({ snapshot: 'complete', empty_since_ms: null });
});

it('rows that come after two empty polls are created', async () => {
  await publisher.poll();
  await publisher.restart();
  await publisher.poll();
  expect(offset()).toMatchObject({ snapshot: 'complete', empty_since_ms: null });
  answer.rows = [row];
  await publisher.poll();
  expect(await ops()).toEqual(['c']);
});

it('answers without a list of rows agree after five minutes, and not before', async () => {
  answer.isVague = true;
  await publisher.poll();
  answer.ms += 299_000;
  await publisher.poll();
  expect(offset().snapshot).toBe('running');
  answer.ms += 1_000;
  await publisher.poll();
  expect(offset().snapshot).toBe('complete');
});

it.each<Partial<VendorShape>>([{ filter: true }, { filter: false }])(
  'a snapshot of the shape %j that has seen rows is complete without any after five minutes, and not before',
  async (traits) => {
    let isIll = false;
    const { publisher: other, clock } = await unwell({ style: 'offset', ...traits }, (request) => {
      if (request === 7) throw new HighwaterError('SOURCE_UNAVAILABLE', 'GET answered with 503.');
      return isIll;
    });
    await expect(other.poll()).rejects.toThrow('503');
    isIll = true;
    const { deps } = other.owned();
    expect(deps.state.offset.record_count).toBeGreaterThan(0);
    for (const [ms, snapshot] of [
      [0, 'running'],
      [299_000, 'running'],
      [1_000, 'complete'],
    ] as const) {
      clock.ms += ms;
      await other.poll();
      expect([ms, deps.state.offset.snapshot]).toEqual([ms, snapshot]);
    }
  },
);

/** A vendor of 60 records whose answers show no row at some requests. */
async function unwell(
  traits: Partial<VendorShape>,
  isBlank: (request: number) => boolean,
  overrides: Partial<Feed> = {},
) {
  const shape = { ...plainShape, ...traits };
  const clock = { ms: answer.ms };
  const [vendor, blank] = [styledVendor(shape, () => clock.ms), styledVendor(shape, () => clock.ms)];
  for (let i = 0; i < 60; i++) vendor.write(`r${100 + i}`, answer.ms / 1000 - 9_000 + i);
  let requests = 0;
  const source: Source = {
    fetchPage: (feed, request, signal) =>
      (isBlank(++requests) ? blank : vendor).fetchPage(feed, request, signal),
  };
  const feed = styledFeed(shape, { pageSize: 10, pollIntervalMs: 10, ...overrides });
  return { feed, vendor, clock, requests: () => requests, publisher: await testPublisher(feed, source) };
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
    const { publisher, vendor, clock, feed } = await unwell(traits, () => isIll);
    await publisher.poll();
    const { owned, logger } = publisher;
    const { last_complete_scan_ms } = owned().deps.state.offset;
    isIll = true;
    for (const wide of [false, true, false]) {
      clock.ms += 2_000;
      await publisher.poll({ wide });
    }
    expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 0 });
    expect(owned().deps.state.offset.last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(logger.warnings).toStrictEqual([expect.stringContaining('the API shows 0 of 60 records')]);
    isIll = false;
    vendor.write('r103', clock.ms / 1000);
    await publisher.poll();
    expect(owned().deps.state.offset.last_complete_scan_ms).toBeGreaterThan(last_complete_scan_ms!);
    const events = await publisher.topic('ipos');
    expect(events.slice(60).map(({ decoded }) => [decoded!.op, decoded!.after.id])).toEqual([['u', 'r103']]);
  });
});

it.each(['page', 'offset', 'cursor', 'none'] as const)(
  'a poll by %s that is shown two fifths of the records is said to be short of records',
  async (style) => {
    const { publisher: other, vendor } = await unwell({ style, filter: false }, () => false);
    await other.poll();
    const { deps } = other.owned();
    for (const id of [...vendor.rows.keys()].slice(24)) vendor.rows.delete(id);
    const { last_complete_scan_ms } = deps.state.offset;
    await other.poll();
    expect(deps.state.offset.last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(other.logger.warnings).toStrictEqual([expect.stringContaining('the API shows 24 of 60 records')]);
  },
);

it.each<readonly [number, Partial<VendorShape>]>([
  [4, { style: 'cursor' }],
  [4, { style: 'link' }],
  [2, { style: 'link', overlaps: true, sized: false, cap: 7 }],
])('no record is deleted though one answer in %i is empty: %j', async (each, traits) => {
  let isIll = false;
  const pages = await unwell(
    { order: 'newest', filter: false, ...traits },
    (request) => isIll && request % each === 0,
  );
  await pages.publisher.poll();
  isIll = true;
  expect(await reconciled(pages.publisher, pages.feed)).toMatchObject({ deleted: 0, missing: 0 });
});

it('a poll without the filter that was given up is said to be short of records', async () => {
  const { publisher: other, vendor } = await unwell({ style: 'page' }, () => false);
  await other.poll();
  await movePosition(other.owned().deps, { filter_lag: WHOLE_FEED });
  for (const id of [...vendor.rows.keys()].slice(24)) vendor.rows.delete(id);
  await other.poll();
  expect(other.logger.warnings).toStrictEqual([expect.stringContaining('the API shows 24 of 60 records')]);
});

it.each(['updated', 'id'] as const)(
  'a mark that was tested in a list by %s does not keep a wide poll, and the polls behind it, from noticing that no rows are shown',
  async (order) => {
    let isIll = false;
    const { publisher: other, vendor, clock } = await unwell({ style: 'offset', order }, () => isIll);
    await other.poll();
    clock.ms += 5 * 86_400_000;
    vendor.write('late', clock.ms / 1000 - 9);
    await other.poll();
    vendor.rows.delete('late');
    await other.poll();
    const { deps } = other.owned();
    const { last_complete_scan_ms, filter_tested_at, high_water_mark } = deps.state.offset;
    expect(filter_tested_at).toBe(high_water_mark);
    isIll = true;
    for (const wide of [true, false]) {
      clock.ms += 2_000;
      await other.poll({ wide });
      expect(deps.state.offset.last_complete_scan_ms).toBe(last_complete_scan_ms);
    }
  },
);

it('a feed with ranges is well though its first range, and the present, have no rows', async () => {
  const beginAt = answer.ms / 1000 - 20_000;
  const shape = { style: 'offset', range: 3_600 } as const;
  const { publisher: other, clock } = await unwell(shape, () => false, { beginAt });
  await other.poll();
  for (const wide of [true, false]) {
    clock.ms += 10_000_000;
    await other.poll({ wide });
    expect(other.owned().deps.state.offset.last_complete_scan_ms).toBe(clock.ms);
  }
  expect(other.logger.warnings).toStrictEqual([]);
});

it.each(['updated', 'newest'] as const)(
  'a feed with ranges, %s first, is behind while the API shows nothing, and what is written meanwhile comes as soon as it is well',
  async (order) => {
    let isIll = false;
    const beginAt = answer.ms / 1000 - 20_000;
    const shape = { style: 'offset', range: 3_600, order } as const;
    const other = await unwell(shape, () => isIll, { beginAt });
    const { publisher: ranges, vendor, clock } = other;
    await ranges.poll();
    const { deps } = ranges.owned();
    const { last_complete_scan_ms } = deps.state.offset;
    isIll = true;
    for (let hour = 0; hour < 20; hour++) {
      clock.ms += 3_600_000;
      vendor.write(`at ${hour}`, clock.ms / 1000);
      await ranges.poll({ wide: hour % 3 === 0 });
    }
    expect(deps.state.offset.last_complete_scan_ms).toBe(last_complete_scan_ms);
    expect(ranges.logger.warnings).toStrictEqual([
      expect.stringContaining('shows no row where records are known'),
    ]);
    isIll = false;
    await ranges.poll();
    expect(deps.state.offset).toMatchObject({ record_count: 80, last_complete_scan_ms: clock.ms });
    // A list that is empty for good costs no more than a day of ranges.
    isIll = true;
    const asked = async () => {
      const before = other.requests();
      await ranges.poll();
      return other.requests() - before;
    };
    for (let day = 0; day < 40; day++) {
      clock.ms += 86_400_000;
      expect(await asked()).toBeLessThan(200);
    }
  },
);

it('a feed with ranges is well though its latest records are gone, or ahead of the present, which the API refuses', async () => {
  const beginAt = answer.ms / 1000 - 20_000;
  const shape = { style: 'offset', range: 600, refusesAhead: true } as const;
  const other = await unwell(shape, () => false, { beginAt });
  other.vendor.write('ahead', other.clock.ms / 1000 + 1_800);
  await other.publisher.poll();
  for (const id of ['r157', 'r158', 'r159']) other.vendor.rows.delete(id);
  for (let i = 0; i < 10; i++) {
    other.clock.ms += 240_000;
    const before = other.requests();
    await other.publisher.poll({ wide: i % 2 === 0 });
    expect(other.publisher.owned().deps.state.offset.last_complete_scan_ms).toBe(other.clock.ms);
    expect(other.requests() - before).toBeLessThan(60);
  }
  expect(other.publisher.logger.warnings).toStrictEqual([]);
});

it('a poll of everything that commits a new record before its end counts as complete', async () => {
  const shape = { filter: false, order: 'id', endsEmpty: true } as const;
  const { publisher: other, vendor, clock } = await unwell(shape, () => false, { pageSize: 1 });
  await other.poll();
  // Five pages with news are a batch.
  for (const id of ['r156', 'r157', 'r158', 'r159', 'x']) vendor.write(id, clock.ms / 1000);
  await other.poll();
  expect(other.logger.warnings).toStrictEqual([]);
});

it('rows without a time count once, however often a poll of everything reads them', async () => {
  const { publisher: other, vendor } = await unwell({ style: 'page', filter: false }, () => false);
  await other.poll();
  const ids = [...vendor.rows.keys()];
  for (const id of ids.slice(24)) vendor.rows.delete(id);
  for (const id of ids.slice(14, 24))
    vendor.rows.set(id, { ...vendor.rows.get(id)!, updated: null as never });
  await other.poll();
  expect(other.logger.warnings).toStrictEqual([expect.stringContaining('the API shows 24 of 60 records')]);
});

it('a last page that names itself as the next one may be empty once', async () => {
  let requests = 0;
  let blank = 0;
  const traits = { style: 'cursor', filter: false, endsOnItself: true } as const;
  const { publisher: other, feed } = await unwell(traits, (request) => {
    requests = request;
    return request === blank;
  });
  await other.poll();
  const before = requests;
  await other.poll();
  for (let i = requests - before; i > 0; i--) {
    blank = requests + i;
    await other.poll();
  }
  expect(await reconciled(other, feed)).toMatchObject({ deleted: 0, missing: 0 });
});

it('a cursor that is used up by its empty answer is the end', async () => {
  const traits = { style: 'cursor', filter: false, endsEmpty: true } as const;
  const { publisher: other, vendor } = await unwell(traits, () => false);
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
  await other.poll();
  expect(again).toBeGreaterThan(0);
  expect(other.owned().deps.state.offset).toMatchObject({ snapshot: 'complete', record_count: 60 });
});
