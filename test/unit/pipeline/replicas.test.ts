import { reconciled } from '../../support/operations';
import { ipo } from '../../support/records';
import { styledPublisher } from '../../support/styled-publisher';
import {
  plainShape,
  styledFeed,
  styledVendor,
  type VendorRow,
  type VendorShape,
} from '../../support/styled-vendor';
import { testPublisher } from '../../support/test-publisher';

/** Two servers behind one address: one of them shows what the other has shown some seconds before. */
const NOW_MS = 1_790_000_000_000;

/** Which of the two answers a request: by chance, in turn, or for some seconds each. */
const choices = {
  'by chance': (request: number) => ((Math.imul(request, 0x9e3779b1) >>> 7) & 1) === 1,
  'in turn': (request: number) => request % 2 === 1,
  'for seconds': (_request: number, ms: number) => Math.floor(ms / 3_000) % 2 === 1,
};

type Choice = keyof typeof choices;

async function start(shape: Partial<VendorShape>, choice: Choice, lagMs: number) {
  const clock = { ms: NOW_MS };
  const whole = { ...plainShape, ...shape };
  const [fresh, stale] = [styledVendor(whole, () => clock.ms), styledVendor(whole, () => clock.ms)];
  const late: { readonly atMs: number; readonly id: string; readonly row: never }[] = [];
  const replicas = { areTwo: true, requests: 0 };
  const write = (id: string, notes: string): void => {
    const updated = Math.floor(clock.ms / 1000);
    const row = { ...ipo({ id, notes }), id, updated };
    fresh.rows.set(id, row);
    late.push({ atMs: clock.ms + lagMs, id, row: row as never });
  };
  const feed = styledFeed(whole, { pageSize: 10, pollIntervalMs: 10 });
  const publisher = await testPublisher(
    feed,
    {
      fetchPage(of, request, signal) {
        clock.ms += 30;
        replicas.requests++;
        while (late[0] !== undefined && late[0].atMs <= clock.ms) {
          const { id, row } = late.shift()!;
          stale.rows.set(id, row);
        }
        const isStale = replicas.areTwo && choices[choice](replicas.requests, clock.ms);
        return (isStale ? stale : fresh).fetchPage(of, request, signal);
      },
    },
    async (ms) => {
      clock.ms += ms;
    },
  );
  const published = async () =>
    (await publisher.topic('ipos')).map(
      ({ decoded }) => `${decoded!.op} ${decoded!.after?.notes ?? decoded!.before.id}`,
    );
  return { clock, write, publisher, feed, replicas, published };
}

describe.each(Object.keys(choices) as Choice[])('two servers that answer %s', (choice) => {
  it.each([3_000, 10_000, 20_000])('do not make a filter useless, the one %i ms behind', async (lagMs) => {
    const { clock, write, publisher, feed, replicas, published } = await start(
      { style: 'offset' },
      choice,
      lagMs,
    );
    const last = new Map<string, number>();
    const change = (i: number): void => {
      const id = `r${i % 12}`;
      last.set(id, i);
      write(id, `${id} ${i}`);
    };
    for (let i = 0; i < 40; i++) {
      change(i);
      clock.ms += 600_000;
    }
    await publisher.poll();
    for (let i = 40; i < 120; i++) {
      clock.ms += 1_000 + ((i * 7_919) % 9_000);
      if (i % 2 === 0) change(i);
      await publisher.poll({ wide: i % 15 === 0 });
    }
    replicas.areTwo = false;
    clock.ms += 60_000;
    await publisher.poll({ wide: true });
    await reconciled(publisher, feed);
    const { filter_lag, ordered, seq } = publisher.offset();
    const others = publisher.logger.warnings.filter((text) => !text.includes('others as it is'));
    expect([filter_lag, ordered, others]).toStrictEqual([0, true, []]);
    const events = await published();
    for (const [id, i] of last)
      expect(events.filter((event) => event.includes(` ${id} `)).at(-1)).toMatch(` ${i}`);
    // No contents come twice, and none go back.
    expect(events.length).toBe(new Set(events).size);
    await publisher.poll({ wide: true });
    expect(publisher.offset().seq).toBe(seq);
  });
});

it.each(['cursor', 'link', 'page', 'offset'] as const)(
  'a server that lags, and answers only for pages behind the first, does not make a second look cut (pages by %s)',
  async (style) => {
    const { vendor, clock, poll, unknown } = await styledPublisher({ style }, { pageSize: 25 });
    for (let i = 0; i < 65; i++) vendor.write(`w${i}`, NOW_MS / 1000 - 100);
    await poll();
    clock.ms += 120_000;
    vendor.write('later', NOW_MS / 1000 + 118);
    vendor.shows = (page, { continuation, pageOffset }) => {
      const isFirst = continuation === undefined && pageOffset === 0;
      return isFirst ? page : { ...page, rows: page.rows.filter((row) => (row as VendorRow).id !== 'later') };
    };
    await poll();
    vendor.shows = (page) => page;
    await poll();
    expect(unknown()).toEqual([]);
  },
);

it('a record that only an answer of another length shows is not deleted', async () => {
  const { vendor, reconcile, poll, unknown } = await styledPublisher(
    { style: 'link', filter: false, order: 'id' },
    { pageSize: 25 },
  );
  for (let i = 0; i < 8; i++) vendor.write(`w${i}`, NOW_MS / 1000 - 100 + i);
  await poll();
  // A cache has kept the answer to the usual request, without one row.
  vendor.shows = (page, { pageSize }) =>
    pageSize === 25 ? { ...page, rows: page.rows.filter((row) => (row as VendorRow).id !== 'w2') } : page;
  expect(await reconcile()).toMatchObject({ deleted: 0 });
  expect(unknown()).toEqual([]);
});
