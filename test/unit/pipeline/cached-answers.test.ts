import { retryDeadLetters } from '../../../src/pipeline/rounds/retry-dead-letters';
import type { Source } from '../../../src/source/source';
import { leaveDeadLetters } from '../../support/dead-letters';
import { testFeed } from '../../support/feeds';
import { reconciled } from '../../support/operations';
import { ipo } from '../../support/records';
import { scriptedVendor } from '../../support/scripted-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

/** A cache between the API and the publisher: answers say that they have been kept for an hour. */
const HOUR = 3_600_000;
const feed = testFeed('ipos', { pageSize: 100, wideOverlapSeconds: 100_000 });
const vendor = scriptedVendor();
/** Whether the answer to a request, from 0, comes from the cache. */
let isCached: (request: number) => boolean;
const cached: Source = {
  async fetchPage(of, request, signal) {
    const page = await vendor.fetchPage(of, request, signal);
    return isCached(vendor.requests.length - 1) ? { ...page, agedMs: HOUR } : page;
  },
};
let publisher: TestPublisher;
const rows = Array.from({ length: 40 }, (_, i) => ipo({ id: `${i}`, updated: 10 + i, name: `${i}` }));

beforeEach(async () => {
  isCached = () => false;
  vendor.rows = rows;
  publisher = await testPublisher({ ...feed }, cached);
  await publisher.poll();
});

const ops = async () => (await publisher.topic('ipos')).map(({ decoded }) => decoded!.op).join('');

it('a cached answer does not confirm that a record went back', async () => {
  const before = await ops();
  vendor.rows = [...rows.slice(0, 39), ipo({ id: '39', updated: 20, name: 'earlier' })];
  isCached = () => true;
  await publisher.poll({ wide: true });
  expect(await ops()).toBe(before);
  isCached = () => false;
  await publisher.poll({ wide: true });
  expect(await ops()).toBe(`${before}u`);
});

it('a feed whose answers come from a cache is as old as they are, and that is said once', async () => {
  isCached = (request) => request % 2 === 0;
  await publisher.poll();
  await publisher.poll({ wide: true });
  const { last_complete_scan_ms, last_error } = publisher.offset();
  expect(last_error).toMatch(/^POLL_NOT_COUNTED: .* come from a cache, and are up to 3600 s old/);
  expect(Date.now() - last_complete_scan_ms!).toBeGreaterThanOrEqual(HOUR);
  expect(publisher.logger.warnings).toEqual([
    expect.stringMatching(/come from a cache, and are up to 3600 s old/),
  ]);
  isCached = () => false;
  await publisher.poll();
  expect(publisher.offset().last_complete_scan_ms).toBeGreaterThan(last_complete_scan_ms!);
  expect(publisher.offset().last_error).toBeNull();
});

it('answers that a cache has kept since the first scan of a reconcile delete nothing', async () => {
  vendor.rows = rows.filter(({ id }) => id !== '20');
  isCached = () => true;
  expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 0, missing: 1, why: 'old-answers' });
  expect(publisher.offset().withheld_deletes).toBe(1);
  isCached = () => false;
  expect(await reconciled(publisher, feed)).toMatchObject({ deleted: 1, missing: 0, why: null });
});

it('answers of a cache prove no absence when the record is asked for once more', async () => {
  vendor.rows = rows.filter(({ id }) => id !== '20');
  // Both scans are fresh: only the last answers, of the probe, are not.
  const first = vendor.requests.length;
  await reconciled(publisher, feed, { dryRun: true });
  const count = vendor.requests.length - first;
  const begin = vendor.requests.length;
  isCached = (request) => request >= begin + count - 1;
  expect(await reconciled(publisher, feed, { dryRun: true })).toMatchObject({
    deleted: 0,
    missing: 1,
    why: 'not-proved',
  });
});

it('a dead letter is not published on the word of a cache', async () => {
  const row = ipo({ id: 'letter', updated: 30 });
  await leaveDeadLetters(feed, publisher.owned(), { raw: JSON.stringify(row) });
  vendor.rows = [...rows, row].sort((a, b) => Number(a.updated) - Number(b.updated));
  isCached = () => true;
  expect(await retryDeadLetters(publisher.owned().deps)).toMatchObject({ published: 0, superseded: 1 });
  isCached = () => false;
  expect(await retryDeadLetters(publisher.owned().deps)).toMatchObject({ published: 1, superseded: 0 });
});

it('pages of a wide second that a cache has kept do not look cut beside a fresh answer with a later row', async () => {
  const wide = Array.from({ length: 250 }, (_, i) => ipo({ id: `w${i}`, updated: 100 }));
  const later = ipo({ id: 'later', updated: 200 });
  vendor.rows = [...rows, ...wide];
  await publisher.poll();
  const { deps } = publisher.owned();
  const kept: Source = {
    async fetchPage(of, request, signal) {
      const isKept = request.updatedSince <= 100;
      vendor.rows = isKept ? [...rows, ...wide] : [later];
      const page = await vendor.fetchPage(of, request, signal);
      return isKept ? { ...page, agedMs: HOUR } : page;
    },
  };
  Object.assign(deps, { source: kept });
  await publisher.poll();
  expect(publisher.offset().high_water_mark).toBe(100);
  Object.assign(deps, { source: cached });
  vendor.rows = [...rows, ...wide, later];
  await publisher.poll();
  expect(deps.state.image('later')).toBeDefined();
});
