import { poll } from '../../../src/pipeline/poll';
import { pollRound } from '../../../src/pipeline/round';
import type { PageRequest } from '../../../src/source/source';
import { testFeed } from '../../support/feeds';
import { reconciled } from '../../support/operations';
import { ipo } from '../../support/records';
import { styledPublisher } from '../../support/styled-publisher';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

/** APIs that show contents of a record that readers have had before. */
const NOW_MS = 1_790_000_000_000;
const NOW = NOW_MS / 1000;

interface Row {
  readonly id: string;
  readonly updated: number;
  readonly notes: string;
}

const row = (id: string, notes: string, updated = NOW - 100): Row => ({ id, notes, updated });

let publisher: TestPublisher;
let asked: PageRequest[];
const clock = { ms: NOW_MS };

/** @param shown all rows that the API shows to a request, in its order */
async function start(shown: (request: PageRequest) => readonly Row[], pageSize = 2, isDated = true) {
  const feed = {
    ...testFeed('ipos', { pageSize, deleteShare: 1, pollIntervalMs: 10 }),
    ...(!isDated && {
      updatedField: null,
      parameters: { page: 'page', pageSize: 'limit', updatedSince: null },
    }),
  };
  asked = [];
  clock.ms = NOW_MS;
  publisher = await testPublisher(feed, {
    async fetchPage(_feed, request) {
      asked.push(request);
      const { pageOffset, pageSize: size, updatedSince } = request;
      const rows = shown(request).filter(({ updated }) => !isDated || updated >= updatedSince);
      const page = rows.slice(pageOffset * size, (pageOffset + 1) * size);
      return {
        rows: page.map((each) => ({ ...ipo({ ...each }), ...each })),
        next: null,
        serverDateMs: clock.ms,
        receivedAtMs: clock.ms,
      };
    },
  });
  await publisher.poll();
  return {
    async published(): Promise<string[]> {
      const events = await publisher.topic('ipos');
      return events.map(({ decoded }) => {
        const { op, before, after } = decoded!;
        return `${op} ${(after ?? before).id} ${(after ?? before).notes}`;
      });
    },
    reconcile: () => reconciled(publisher, feed),
  };
}

async function pollsWithoutNews(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    expect((await publisher.poll({ wide: i > 0 })).changes).toBe(0);
  }
}

const warnings = () =>
  publisher.logger.warnings.filter((text) => /more than once|others as it is/.test(text));

describe('two records with one id', () => {
  const rows = [row('a', 'one'), row('a', 'other'), row('b', 'b')];

  it.each([true, false])('are published once each if one answer shows both (times: %s)', async (isDated) => {
    const { published, reconcile } = await start(() => rows, 10, isDated);
    await pollsWithoutNews();
    await publisher.restart();
    await pollsWithoutNews();
    await reconcile();
    expect(await published()).toEqual(['r a one', 'u a other', 'r b b']);
    expect(warnings()).toEqual([expect.stringContaining('Feed ipos: the API shows record a more than once')]);
  });

  it.each([true, false])('end to change places if two pages show them (times: %s)', async (isDated) => {
    const apart = [row('a', 'one'), row('b', 'b'), row('c', 'c'), row('a', 'other')];
    const { published } = await start(() => apart, 2, isDated);
    await publisher.poll({ wide: true });
    await pollsWithoutNews();
    expect((await published()).filter((event) => event.startsWith('u a')).length).toBeLessThan(4);
    expect(warnings()).toHaveLength(1);
  });

  it.each([true, false])(
    'are published in their order if there are more of them (times: %s)',
    async (isDated) => {
      const many = ['one', 'two', 'three', 'two'].map((notes) => row('a', notes));
      const { published } = await start(() => many, 10, isDated);
      await pollsWithoutNews();
      expect(await published()).toEqual(['r a one', 'u a two']);
      many.reverse();
      const before = asked.length;
      await publisher.poll();
      expect(asked.length - before).toBeLessThan(4);
    },
  );

  it('on two pages end to change places, however long it is from poll to poll', async () => {
    const apart = [row('a', 'one'), row('b', 'b'), row('c', 'c'), row('a', 'other')];
    const { published } = await start(() => apart, 2, false);
    await publisher.poll();
    const events = await published();
    for (let i = 0; i < 3; i++) {
      clock.ms += 3_600_000;
      await publisher.poll();
    }
    expect(await published()).toEqual(events);
  });

  it('of one answer are not published again when they come to stand on two pages', async () => {
    const shown = [...rows];
    const { published } = await start(() => shown, 2, false);
    const events = await published();
    await publisher.restart();
    await publisher.poll();
    for (const before of [1, 2]) {
      shown.unshift(row(`b${before}`, 'b'));
      clock.ms += 3_600_000;
      await publisher.poll();
      await publisher.poll();
    }
    expect(await published()).toEqual([...events, 'c b1 b', 'c b2 b']);
  });

  it('may go, and come back in another order', async () => {
    const others = Array.from({ length: 9 }, (_, i) => row(`b${i}`, 'b', NOW - 90 + i));
    const both = [row('a', 'one'), row('a', 'other')];
    const shown = [row('0', '0', NOW - 200), ...both, ...others];
    const { published, reconcile } = await start(() => shown, 100);
    shown.splice(1, 2);
    await publisher.poll({ wide: true });
    await reconcile();
    expect((await published()).slice(-1)).toEqual(['d a other']);
    shown.splice(1, 0, both[1]!, both[0]!);
    await publisher.poll({ wide: true });
    await pollsWithoutNews();
    expect((await published()).slice(-1)).toEqual(['c a other']);
  });

  it('are both seen if the second one comes later', async () => {
    const known = [rows[0]!, rows[2]!];
    const { published } = await start(() => known, 10, false);
    known.push(row('a', 'other'));
    await publisher.poll();
    await pollsWithoutNews();
    expect(await published()).toEqual(['r a one', 'r b b', 'u a other']);
  });
});

describe('earlier versions beside the latest', () => {
  const versions = Array.from({ length: 9 }, (_, i) => row('a', `version ${i}`, NOW - 100 + i));

  it.each([2, 4, 100])('are published once each, oldest first, by pages of %i', async (pageSize) => {
    const { published, reconcile } = await start(() => versions, pageSize);
    await pollsWithoutNews();
    await reconcile();
    await publisher.restart();
    await pollsWithoutNews();
    versions.push(row('a', 'new', NOW - 1));
    await publisher.poll();
    versions.pop();
    expect(await published()).toEqual(['r a version 0', ...names(versions.slice(1)), 'u a new']);
  });

  it('are published again if the API takes the latest back', async () => {
    const taken = [...versions];
    const { published } = await start(() => taken, 4);
    taken.pop();
    await publisher.poll({ wide: true });
    expect((await published()).at(-1)).toBe('u a version 7');
    await pollsWithoutNews();
  });

  const names = (rows: readonly Row[]) => rows.map(({ id, notes }) => `u ${id} ${notes}`);
});

describe('a record that changes twice in one second', () => {
  const states = ['first', 'second', 'third'];

  it('does not go back with a replica that lags', async () => {
    let state = 0;
    let lags = (_request: PageRequest) => false;
    const { published } = await start((request) => [row('a', states[state - (lags(request) ? 1 : 0)]!)]);
    for (state of [1, 2]) await publisher.poll();
    for (const stale of [1, 2]) {
      // The first answers of the poll: the one that shows the record, and the one that is to confirm it.
      const before = asked.length;
      lags = () => asked.length <= before + stale;
      await publisher.poll();
    }
    expect(await published()).toEqual(['r a first', 'u a second', 'u a third']);
  });

  it.each([true, false])('goes back if the API does (times: %s)', async (isDated) => {
    let state = 0;
    const { published } = await start(() => [row('a', states[state]!)], 10, isDated);
    for (state of [1, 0, 1, 0]) await publisher.poll();
    expect(await published()).toEqual(['r a first', 'u a second', 'u a first', 'u a second', 'u a first']);
    expect(warnings()).toEqual([]);
  });
});

it('an older version is not published while the API shows a later one than was published', async () => {
  let version = () => 1;
  const { published } = await start(
    () => [row('a', `version ${version()}`, NOW - 100 + version())],
    10,
    true,
  );
  const before = asked.length;
  // The answers that show the record, and that are to confirm it.
  version = () => (asked.length <= before + 8 ? 0 : 2);
  await publisher.poll({ wide: true });
  await publisher.poll({ wide: true });
  expect(await published()).toEqual(['r a version 1', 'u a version 2']);
});

it('an older version is not published if one of several answers to the same request shows a later one', async () => {
  let version = () => 1;
  const { published } = await start(() => [row('a', `version ${version()}`, NOW - 100 + version())], 10);
  const before = asked.length;
  // Of four servers, the one that does not lag answers only when the page is asked for again. Looks come to others.
  version = () => (asked.length === before + 8 ? 1 : 0);
  await publisher.poll({ wide: true });
  expect(await published()).toEqual(['r a version 1']);
});

it('older versions on later pages are not published once a record of the round has shown a later one', async () => {
  let version = (_: number, __: PageRequest) => 1;
  const { published } = await start((request) =>
    Array.from({ length: 8 }, (_, i) => {
      const of = version(i, request);
      return row(`r${i}`, `version ${of}`, NOW - 100 + 5 * i + of);
    }),
  );
  // A server that lags answers. Only a look, which asks without the filter, is shown that the first record was written since.
  version = (i, { updatedSince }) => (i === 1 ? 1 : i === 0 && updatedSince === 0 ? 2 : 0);
  await publisher.poll({ wide: true });
  version = (i) => (i === 0 ? 2 : 1);
  await publisher.poll({ wide: true });
  expect((await published()).slice(8)).toEqual(['u r0 version 2']);
});

it('a look ends at the page that shows what it looks for', async () => {
  let version = (_: PageRequest) => 1;
  const others = Array.from({ length: 60 }, (_, i) => row(`r${i}`, 'r', NOW - 90 + i));
  const { published } = await start((request) => {
    const shown = version(request);
    return [row('a', `version ${shown}`, NOW - 100 + shown), ...others];
  });
  const before = asked.length;
  version = ({ updatedSince }) => (updatedSince > 0 ? 0 : 1);
  await publisher.poll({ wide: true });
  expect((await published()).slice(61)).toEqual([]);
  const looks = asked.slice(before).filter(({ updatedSince }) => updatedSince === 0);
  expect(looks.filter(({ pageOffset }) => pageOffset > 5)).toEqual([]);
});

it('an older version is not published while other answers do not show the record', async () => {
  const others = Array.from({ length: 3 }, (_, i) => row(`b${i}`, 'b', NOW - 90 + i));
  let shown: () => readonly Row[] = () => [row('a', 'new', NOW - 95)];
  const { published, reconcile } = await start(() => [...shown(), ...others], 10);
  const before = asked.length;
  shown = () => (asked.length <= before + 8 ? [row('a', 'old', NOW - 100)] : []);
  await publisher.poll({ wide: true });
  await reconcile();
  expect((await published()).slice(4)).toEqual(['d a new']);
});

it('a record that was deleted does not come back with one answer of a server that lags, but does if the API shows it again', async () => {
  const others = Array.from({ length: 9 }, (_, i) => row(`b${i}`, 'b', NOW - 90 + i));
  let hasGone = () => true;
  const { published, reconcile } = await start(() => [...(hasGone() ? [row('a', 'a')] : []), ...others], 10);
  hasGone = () => false;
  await reconcile();
  const before = asked.length;
  hasGone = () => asked.length <= before + 8;
  await publisher.poll({ wide: true });
  expect((await published()).slice(-1)).toEqual(['d a a']);
  hasGone = () => true;
  await publisher.poll({ wide: true });
  expect((await published()).slice(-1)).toEqual(['c a a']);
});

it('older records than their images are published if the API shows nothing else, whatever their number', async () => {
  let age = 0;
  const ids = Array.from({ length: 20 }, (_, i) => `r${i}`);
  const { published } = await start(() => ids.map((id, i) => row(id, `${age}`, NOW - 100 + i - 50 * age)));
  age = 1;
  await publisher.poll({ wide: true });
  expect((await published()).filter((event) => event.startsWith('u'))).toHaveLength(20);
  await pollsWithoutNews();
});

it('a stop does not wait for the looks, and leaves the record to a later poll', async () => {
  let name = 'new';
  const { published } = await start(() => [row('a', name, NOW - (name === 'new' ? 50 : 100))], 10);
  name = 'old';
  const { deps } = publisher.owned();
  const stop = new AbortController();
  const stopping = { ...deps, pause: async () => stop.abort() };
  await poll(stopping, pollRound(stopping, true), stop.signal);
  expect(await published()).toEqual(['r a new']);
  await publisher.poll({ wide: true });
  expect(await published()).toEqual(['r a new', 'u a old']);
});

it.each([0, 9])('a poll that reads everything, and shows %i of 20 records, is not complete', async (left) => {
  const all = Array.from({ length: 20 }, (_, i) => row(`r${i}`, 'there'));
  const shown = [...all];
  await start(() => shown, 10, false);
  await publisher.poll();
  const completed = () => publisher.offset().last_complete_scan_ms;
  expect(completed()).toBe(NOW_MS);
  shown.length = left;
  clock.ms += 60_000;
  await publisher.poll();
  expect(completed()).toBe(NOW_MS);
  expect(publisher.logger.warnings).toEqual([
    expect.stringContaining(`the API shows ${left} of 20 records.`),
  ]);
  shown.push(...all.slice(left, 10));
  await publisher.poll();
  expect(completed()).toBe(NOW_MS + 60_000);
});

it('a poll that reads everything is complete although a changed filter has hidden most records', async () => {
  const shown = Array.from({ length: 40 }, (_, i) => row(`r${i}`, 'there'));
  await start(() => shown, 10, false);
  await publisher.poll();
  shown.length = 10;
  await publisher.restart({ scope: 'narrow' });
  for (let i = 0; i < 3; i++) {
    clock.ms += 60_000;
    await publisher.poll();
  }
  expect(publisher.offset().last_complete_scan_ms).toBe(clock.ms);
  expect(publisher.logger.warnings).toEqual([]);
});

it('a record without a time is not gone yet if it is new: a server that lags does not show it', async () => {
  const shown = [row('a', 'a'), row('b', 'b')];
  const { published, reconcile } = await start(() => shown, 10, false);
  clock.ms = Date.now();
  shown.push(row('new', 'n'));
  await publisher.poll();
  shown.splice(1);
  await reconcile();
  expect(await published()).toEqual(['r a a', 'r b b', 'c new n', 'd b b']);
});

it('a record that goes back to earlier contents is published although each cursor can be used only once', async () => {
  const paged = await styledPublisher({ order: 'id', filter: false, lives: 15 }, { pageSize: 2 });
  publisher = paged;
  paged.vendor.beforeAnswer = () => {
    paged.clock.ms += 10;
  };
  for (const id of ['a', 'b', 'c']) paged.vendor.write(id, NOW - 100);
  const before = paged.vendor.rows.get('c')!;
  await paged.poll();
  paged.vendor.write('c', NOW - 50);
  await paged.poll();
  paged.vendor.rows.set('c', before);
  expect(await paged.poll()).toMatchObject({ changes: 1, complete: true });
});

it('a reconcile that is interrupted at any of its requests ends as interrupted', async () => {
  let rows = ['a', 'b', 'c', 'd', 'e'].map((id, i) => row(id, 'A', NOW - 100 + i));
  let last = Number.POSITIVE_INFINITY;
  await start(() => {
    if (asked.length >= last) throw new DOMException('the program ends', 'AbortError');
    return rows;
  });
  // A missing record is looked for in pages with other borders, too.
  rows = rows.filter(({ id }) => id !== 'c');
  const { feed } = publisher.owned().deps;
  const reconcile = () => reconciled(publisher, feed, { dryRun: true });
  const before = asked.length;
  await reconcile();
  const requests = asked.length - before;
  expect(requests).toBeGreaterThan(5);
  for (let n = 1; n <= requests; n++) {
    last = asked.length + n;
    await expect(reconcile()).rejects.toMatchObject({ name: 'AbortError' });
  }
});
