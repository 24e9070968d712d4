import { reconcile } from '../../../src/pipeline/rounds/reconcile';
import { reconciled } from '../../support/operations';
import { NOW_MS, styledPublisher } from '../../support/styled-publisher';
import type { VendorShape } from '../../support/styled-vendor';

/** An API whose rows are written as fast as they are read. */
async function start(traits: Partial<VendorShape>, pageSize: number) {
  const publisher = await styledPublisher(traits, { pageSize, deleteShare: 1 });
  const { vendor, clock } = publisher;
  const second = () => Math.floor(clock.ms / 1000);
  for (let i = 0; i < 60; i++) vendor.write(`r${i}`, second() - 900 + 10 * i);
  const counts = { requests: 0, isRestless: false };
  vendor.beforeAnswer = () => {
    clock.ms += 10;
    if (++counts.requests > 5_000) throw new Error('the poll does not end');
    if (counts.isRestless) vendor.write(`z${10_000 + counts.requests}`, second());
  };
  return { publisher, vendor, counts, second };
}

it('a poll ends though each page brings a new row', async () => {
  const { publisher, vendor, counts } = await start({ style: 'cursor', filter: false }, 1);
  await publisher.poll();
  counts.isRestless = true;
  counts.requests = 0;
  await publisher.poll({ wide: true });
  expect(publisher.logger.warnings.join()).toContain('kept changing while they were read');
  counts.isRestless = false;
  counts.requests = 0;
  await publisher.poll({ wide: true });
  expect(publisher.owned().deps.state.recordCount).toBe(vendor.rows.size);
});

it.each(['page', 'cursor'] as const)(
  'a poll of an API by %s that refuses times ahead of the present ends behind the rows that are written meanwhile',
  async (style) => {
    const { publisher, vendor, counts } = await start({ style, refusesAhead: true }, 2);
    await publisher.poll();
    counts.isRestless = true;
    await publisher.poll();
    counts.isRestless = false;
    await publisher.poll();
    expect(publisher.owned().deps.state.recordCount).toBe(vendor.rows.size);
  },
);

it.each(['offset', 'page'] as const)('a poll by %s of the latest rows is one request', async (style) => {
  const { publisher, vendor, counts, second } = await start({ style }, 50);
  await publisher.poll();
  for (let i = 0; i < 30; i++) vendor.write(`m${i}`, second());
  Object.assign(counts, { isRestless: true, requests: 0 });
  await publisher.poll();
  expect(counts.requests).toBe(1);
});

it('a poll does not follow rows of this day that are written as fast as they are read', async () => {
  const { publisher, vendor, counts } = await start({ style: 'offset', rounds: 86_400 }, 70);
  await publisher.poll();
  await publisher.poll({ wide: true });
  for (let i = 40; i < 60; i++) vendor.rows.delete(`r${i}`);
  Object.assign(counts, { isRestless: true, requests: 0 });
  await publisher.poll();
  expect(counts.requests).toBeLessThan(4);
});

it('a poll of more rows asks once whether that is all', async () => {
  const { publisher, vendor, counts, second } = await start({ style: 'page', pastEnd: 'not found' }, 50);
  await publisher.poll();
  for (let i = 0; i < 30; i++) vendor.write(`m${i}`, second() - 40 + i);
  counts.requests = 0;
  await publisher.poll();
  expect(counts.requests).toBe(2);
});

it('a reconcile ends though each page brings a new row', async () => {
  const { publisher, counts } = await start({ style: 'offset' }, 10);
  await publisher.poll();
  Object.assign(counts, { isRestless: true, requests: 0 });
  const result = await reconciled(publisher, publisher.owned().deps.feed, { allowDeletes: null });
  expect(result.missing).toBe(0);
  expect(counts.requests).toBeLessThan(500);
});

it('a poll says that it has left out the latest seconds, since rows move as fast as they are read', async () => {
  const { publisher, counts } = await start({ style: 'page' }, 1);
  await publisher.poll();
  let last: boolean | undefined;
  publisher.owned().deps.witnesses.add((_, end) => {
    last = end?.leavesOut;
  });
  const said: unknown[] = [];
  for (const isRestless of [true, false]) {
    Object.assign(counts, { isRestless, requests: 0 });
    await publisher.poll();
    said.push(last);
  }
  expect(said).toEqual([true, false]);
});

it.each([
  [2, { deleted: 1, why: null }],
  [9, { deleted: 0, why: 'not-proved' }],
])('a reconcile whose last polls leave out the latest seconds %i times', async (times, result) => {
  const { publisher, vendor } = await start({ style: 'page' }, 10);
  await publisher.poll();
  vendor.rows.delete('r5');
  const { deps } = publisher.owned();
  const none = async () => {};
  let polls = 0;
  const poll = async () => {
    await publisher.poll();
    polls++;
    for (const witness of deps.witnesses) witness([], { leavesOut: polls <= times });
  };
  const options = { dryRun: false, allowDeletes: null, between: none, rest: none, poll };
  expect(await reconcile(deps, options, new AbortController().signal)).toMatchObject(result);
});

it('a record dated ahead of the present does not hold up an API that refuses such times', async () => {
  const { publisher, vendor, second } = await start({ style: 'cursor', refusesAhead: true }, 2);
  await publisher.poll();
  vendor.write('ahead', second() + 86_400);
  for (const wide of [false, true]) await publisher.poll({ wide });
  expect(publisher.owned().deps.state.recordCount).toBe(vendor.rows.size);
  vendor.write('after it', second());
  await publisher.poll();
  expect(publisher.owned().deps.state.recordCount).toBe(vendor.rows.size);
});

it('a change that is shown late is read though its time was rounded down to the minute before', async () => {
  const { publisher, vendor, second } = await start({ style: 'cursor', rounds: 60 }, 100);
  await publisher.poll();
  vendor.write('of this minute', second());
  await publisher.poll();
  vendor.write('of the minute before', second() - 60);
  await publisher.poll();
  expect(publisher.owned().deps.state.recordCount).toBe(vendor.rows.size);
});

it('a batch of one midnight does not make polls read the day before it', async () => {
  const { publisher, vendor, counts } = await start({ style: 'cursor' }, 100);
  const midnight = Math.floor(NOW_MS / 86_400_000) * 86_400;
  for (let i = 0; i < 500; i++) vendor.write(`day ${i}`, midnight - 80_000 + 100 * i + 1);
  for (let i = 0; i < 30; i++) vendor.write(`batch ${i}`, midnight);
  for (let i = 0; i < 60; i++) vendor.rows.delete(`r${i}`);
  await publisher.poll();
  const before = counts.requests;
  await publisher.poll();
  expect(counts.requests - before).toBeLessThan(5);
});
