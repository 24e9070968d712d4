import type { Feed } from '../../src/feeds/feed';
import { poll } from '../../src/pipeline/poll';
import { pollRound } from '../../src/pipeline/round';
import type { SimulatorOptions } from '../../src/simulator/simulator';
import type { Source } from '../../src/source/source';
import { testFeed } from '../support/feeds';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

/** Cases that once lost records, ended too early or never: polls of one feed against an API that is odd in one way. */

const T0 = 1_790_000_000;
async function oddWorld(simulator: SimulatorOptions, overrides: Partial<Feed>, bodyLimitBytes?: number) {
  const clock = { ms: T0 * 1000 };
  const hook = { before: null as ((n: number) => void) | null, n: 0 };
  const between = (client: Source): Source => ({
    async fetchPage(feed, request, signal) {
      hook.n++;
      if (hook.n > 400) throw new Error('too many requests');
      hook.before?.(hook.n);
      return client.fetchPage(feed, request, signal);
    },
  });
  const feed = testFeed('ipos', { pollIntervalMs: 2000, ...overrides });
  const vendor = { records: { ipos: 0 }, clock: () => clock.ms, ...simulator };
  const { api, publisher } = await world({ feed, vendor, between, bodyLimitBytes });
  return { api, pub: publisher, clock, hook };
}
const row = (id: string, updated: number, more: object = {}) =>
  ({ id, name: id, deal_status: 'Priced', notes: '', updated, ...more }) as never;
const ids = async (pub: TestPublisher) => new Set((await pub.topic('ipos')).map((e) => e.key));

it('rows without updated filling whole pages: the poll ends', async () => {
  const { api, pub } = await oddWorld({}, { pageSize: 10 });
  for (let i = 0; i < 5; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 5000 + i));
  api.behave({ drift: { withoutUpdated: 1 } });
  for (let i = 0; i < 30; i++) api.stores.ipos.upsert(row(`b${i}`, T0 - 4000 + i * 60));
  api.behave({ drift: { withoutUpdated: 0 } });
  for (let i = 0; i < 5; i++) api.stores.ipos.upsert(row(`c${i}`, T0 - 500 + i));
  await pub.poll({ wide: true });
  expect((await ids(pub)).size).toBe(10);
});

it.each([
  ['id', { withoutId: 1 }],
  ['updated', { withoutUpdated: 1 }],
])('if the API renames %s, polls fail, and once it is back, they find all changes', async (_, drift) => {
  const { api, pub, clock } = await oddWorld({}, { pageSize: 10 });
  for (let i = 0; i < 15; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 5000 + i));
  await pub.poll({ wide: true });
  api.behave({ drift });
  for (let i = 0; i < 3; i++) {
    clock.ms += 600_000;
    const now = Math.floor(clock.ms / 1000);
    // The change is a row without a name; rows that were sent before lose it as well.
    for (let j = 0; j < 4; j++) api.stores.ipos.upsert(row(`a${j}`, now - 100 + j, { notes: `${i}` }));
    for (let j = 5; j < 15; j++) api.stores.ipos.touch(`a${j}`);
    await expect(pub.poll()).rejects.toMatchObject({ code: 'POLL_UNREADABLE' });
  }
  expect((await pub.sourceOffset()).high_water_mark).toBe(T0 - 4986);
  api.behave({ drift: { withoutId: 0, withoutUpdated: 0 } });
  for (let j = 0; j < 4; j++) api.stores.ipos.upsert(row(`a${j}`, T0 + 1000, { notes: '2' }));
  await pub.poll();
  const events = (await pub.topic('ipos')).filter(({ decoded }) => decoded!.op === 'u');
  expect(events.map(({ key }) => key).sort()).toEqual(['a0', 'a1', 'a2', 'a3']);
});

it('the latest rows that cannot be read are published by the first poll that can', async () => {
  const { api, pub, clock } = await oddWorld({}, { pageSize: 10 });
  for (let i = 0; i < 15; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 5000 + i));
  api.behave({ drift: { withoutId: 1 } });
  for (let i = 0; i < 5; i++) api.stores.ipos.upsert(row(`b${i}`, T0 - 2000 + 100 * i));
  api.behave({ drift: { withoutId: 0 } });
  await pub.poll({ wide: true });
  const found = await ids(pub);
  expect(found.size).toBe(15);
  clock.ms += 7_200_000;
  for (let i = 0; i < 5; i++) {
    api.stores.ipos.remove(`b${i}`);
    api.stores.ipos.upsert(row(`b${i}`, T0 - 2000 + 100 * i));
  }
  await pub.poll();
  expect((await ids(pub)).size).toBe(20);
});

it('a row that becomes visible 3 s late while a long poll runs comes with the next poll', async () => {
  const { api, pub, clock, hook } = await oddWorld({}, { pageSize: 10 });
  for (let i = 0; i < 30; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 50 + i));
  await pub.poll({ wide: true });
  await pub.poll();
  // 12 changes on T0-2..T0; then one row of second T0-3 becomes visible late, while new ones arrive.
  for (let i = 0; i < 12; i++) api.stores.ipos.upsert(row(`b${i}`, T0 - 2 + Math.floor(i / 6)));
  hook.n = 0;
  hook.before = (n) => {
    if (n !== 2) return;
    clock.ms += 12_000; // rate limited, or one commit that waits
    api.stores.ipos.upsert(row('late', T0 - 3)); // written at T0-2, visible at most 5 s later, that is before now
    for (let i = 0; i < 12; i++) api.stores.ipos.upsert(row(`c${i}`, T0 + 9 + (i % 2)));
  };
  await pub.poll();
  hook.before = null;
  for (let i = 0; i < 3; i++) {
    clock.ms += 2000;
    await pub.poll();
  }
  expect((await ids(pub)).has('late')).toBe(true);
});

it('unordered: one empty answer in the first snapshot loses nothing for ever', async () => {
  const { api, pub, clock } = await oddWorld({ behaviour: { order: 'desc' } }, { pageSize: 25 });
  for (let i = 0; i < 100; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 90000 + i * 600));
  api.fault({ fault: { kind: 'short', rows: 0 }, skip: 4, times: 1 } as never); // 3 probes, page 0, successor
  await pub.poll({ wide: true });
  for (let i = 0; i < 3; i++) {
    clock.ms += 2000;
    await pub.poll({ wide: true });
  }
  expect((await ids(pub)).size).toBe(100);
});

it('disorder that a walk has shown is not forgotten', async () => {
  const { api, pub, clock } = await oddWorld({ behaviour: { order: 'insertion' } }, { pageSize: 25 });
  const put = (i: number, s: number, v: string) => api.stores.ipos.upsert(row(`a${i}`, s, { notes: v }));
  for (let i = 0; i < 60; i++) put(i, T0 - 90000 + i * 60, '');
  put(30, T0 - 80000, 'x'); // an inversion on page 1
  await pub.poll({ wide: true });
  expect((await ids(pub)).size).toBe(60);
  clock.ms += 3600_000 * 24;
  const now = clock.ms / 1000;
  // catching up after an outage: rows 30..59 changed first, 0..24 later, one after the other
  for (let i = 30; i < 60; i++) put(i, now - 50000 + i, 'y');
  for (let i = 0; i < 25; i++) put(i, now - 40000 + i, 'y');
  await pub.poll({ wide: true });
  for (let i = 0; i < 3; i++) {
    clock.ms += 2000;
    await pub.poll({ wide: true });
  }
  const last = new Map((await pub.topic('ipos')).map((e) => [e.key, e.decoded!.after.notes]));
  expect([...last].filter(([, notes]) => notes === 'y').length).toBe(55);
});

it.each([4, 5, 6, 7, 8, 9])(
  'an error at request %d, between pages in order and walking them all, loses nothing',
  async (request) => {
    const { api, pub, clock, hook } = await oddWorld({ behaviour: { order: 'insertion' } }, { pageSize: 25 });
    const put = (i: number, s: number, v: string) => api.stores.ipos.upsert(row(`a${i}`, s, { notes: v }));
    for (let i = 0; i < 80; i++) put(i, T0 - 90000 + i * 600, '');
    put(77, T0 - 90000 + 79 * 600 + 300, 'x');
    // Inserted late, dated early: behind all the others, where the pages look in order until the last.
    for (let i = 80; i < 100; i++) put(i, T0 - 86000 + i, 'old');
    hook.before = (n) => {
      if (n === request) throw new Error('down');
    };
    await pub.poll({ wide: true }).catch(() => {});
    hook.before = null;
    for (let i = 0; i < 3; i++) {
      clock.ms += 2000;
      await pub.poll({ wide: true });
    }
    expect((await ids(pub)).size).toBe(100);
  },
);

it('the vendor mends its paging from 1-based to 0-based', async () => {
  const { api, pub, clock } = await oddWorld({ behaviour: { firstPage: 1 } }, { pageSize: 25 });
  for (let i = 0; i < 100; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 9000 + i));
  await pub.poll({ wide: true });
  api.behave({ firstPage: 0 });
  for (let i = 0; i < 10; i++) {
    clock.ms += 2000;
    api.stores.ipos.upsert(row(`n${i}`, clock.ms / 1000));
    await pub.poll({ wide: i % 5 === 0 });
  }
  expect((await ids(pub)).size).toBe(110);
});

it('a server changes from record offsets to page numbers within a second wider than a page', async () => {
  const { api, pub, clock } = await oddWorld({ behaviour: { paging: 'offset' } }, { pageSize: 25 });
  for (let i = 0; i < 100; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 9000 + i));
  await pub.poll({ wide: true });
  api.behave({ paging: 'index' });
  for (let i = 0; i < 60; i++) api.stores.ipos.upsert(row(`n${i}`, T0));
  for (let i = 0; i < 5; i++) {
    clock.ms += 2000;
    api.stores.ipos.upsert(row(`m${i}`, clock.ms / 1000));
    await pub.poll({ wide: i === 3 });
  }
  expect((await ids(pub)).size).toBe(165);
});

it('a body too large within a narrow poll is no end', async () => {
  const { api, pub, clock } = await oddWorld({}, { pageSize: 100 }, 2 ** 20);
  for (let i = 0; i < 100; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 9000 + i));
  await pub.poll({ wide: true });
  clock.ms += 1000_000;
  for (let i = 0; i < 90; i++) api.stores.ipos.upsert(row(`n${i}`, T0 + 500 + i));
  api.fault({ fault: { kind: 'large', megabytes: 2 }, pageSizeAbove: 50, times: 1 } as never);
  await pub.poll();
  expect((await ids(pub)).size).toBe(190);
});

it('signal at every await of a first poll', async () => {
  for (let k = 1; k < 12; k++) {
    const { api, pub, hook } = await oddWorld({}, { pageSize: 10 });
    for (let i = 0; i < 60; i++) api.stores.ipos.upsert(row(`a${i}`, T0 - 900 + (i % 6)));
    const c = new AbortController();
    hook.n = 0;
    hook.before = (n) => n === k && c.abort();
    const { deps } = pub.owned();
    await poll(deps, pollRound(deps, true), c.signal).catch(() => {});
    hook.before = null;
    await pub.restart();
    await pub.poll({ wide: true });
    const events = await pub.topic('ipos');
    expect(events.length).toBe(60);
    expect(events.every((e) => e.decoded!.op === 'r')).toBe(true);
  }
});
