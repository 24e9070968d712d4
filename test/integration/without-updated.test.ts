import { avroRecord } from '../support/avro';
import { commandsHere, jsonLines } from '../support/cli';
import { type HttpServer, sendJson, startHttpServer } from '../support/http-server';
import { declareFeed } from '../support/own-feed';

/** A feed whose rows do not say when they were updated. */

const { folder, done } = commandsHere();

interface Price {
  readonly symbol: string;
  readonly date: string;
  readonly close?: number | string;
}

let rows: readonly Price[];
let requests: number;
let server: HttpServer;
beforeEach(async () => {
  requests = 0;
  server = await startHttpServer((request, response) => {
    requests++;
    const { searchParams } = new URL(request.url!, 'http://host');
    const from = Number(searchParams.get('offset'));
    sendJson(response, { prices: rows.slice(from, from + Number(searchParams.get('limit'))) });
  });
  const fields = { symbol: 'string', date: 'string', close: ['null', 'double'] };
  const schema = avroRecord('Price', { ...fields, id: undefined, updated: undefined });
  declareFeed(folder(), 'prices', schema, {
    apiUrl: server.url,
    idField: ['symbol', 'date'],
    updatedField: null,
    parameters: { page: 'offset', pageSize: 'limit', updatedSince: null },
    paging: { style: 'offset' },
    pageSize: 10,
    deleteShare: 1,
  });
});
afterEach(() => server.stop());

const env = { HIGHWATER_REQUESTS_PER_SECOND: '1000', HIGHWATER_POLL_INTERVAL: '100ms' };
const highwater = (...args: string[]) => done(args, env);

const events = async () =>
  // biome-ignore lint/suspicious/noExplicitAny: decoded records, as loose as a consumer's JSON
  jsonLines<any>((await highwater('tail', 'prices', '--from-beginning', '--no-follow', '--json')).out);

const price = (n: number, close: Price['close'] = n): Price => ({
  symbol: `S${n}`,
  date: '2026-01-31',
  close,
});
const many = (count: number) => Array.from({ length: count }, (_, n) => price(n));

it('each poll publishes what has changed, with the time of observation, and a reconcile what is gone', async () => {
  const began = Math.floor(Date.now() / 1_000);
  rows = many(35);
  expect((await highwater('run', '--once')).code).toBe(0);
  expect((await highwater('run', '--once')).code).toBe(0);
  // In another order, and one place on for those behind the new row.
  rows = [price(99), ...[...many(35)].reverse().filter(({ symbol }) => symbol !== 'S7')].map((row) =>
    row.symbol === 'S3' ? { ...row, close: 3.5 } : row,
  );
  expect((await highwater('run', '--once')).code).toBe(0);
  rows = rows.map((row) => (row.symbol === 'S5' ? { ...row, close: 5.5 } : row));
  // A poll would have found it, so it is not silent.
  const early = await highwater('reconcile', 'prices');
  expect(early.out).toContain(' 0 silent changes updated,');
  // A server that lags does not show a record either that is new.
  expect(early.out + early.err).toContain('S7|2026-01-31');
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 1_000_000);
  expect((await highwater('reconcile', 'prices')).code).toBe(0);
  jest.restoreAllMocks();

  const all = await events();
  expect(all.slice(0, 35).map(({ value }) => value.op)).toEqual(Array(35).fill('r'));
  const later = all.slice(35).map(({ key, value: { op, before, after, source } }) => {
    expect(source.updated).toBeGreaterThanOrEqual(began);
    return [key, op, before?.close ?? null, after?.close ?? null];
  });
  expect(later.slice(0, 2).sort()).toEqual([
    ['S3|2026-01-31', 'u', 3, 3.5],
    ['S99|2026-01-31', 'c', null, 99],
  ]);
  expect(later.slice(2)).toEqual([
    ['S5|2026-01-31', 'u', 5, 5.5],
    ['S7|2026-01-31', 'd', 7, null],
  ]);

  const { out } = await highwater('status');
  expect(out).toContain(
    'prices has no filter by time: each poll reads all 35 records, in at least 8 requests.',
  );
  const [status] = (await highwater('status', '--json')).out.trim().split('\n');
  expect(JSON.parse(status!)).toMatchObject({ high_water_mark: 0, requests_per_poll: 8, records: 35 });
});

it('a row that cannot be read becomes a dead letter, and the others are published', async () => {
  rows = [price(1), { symbol: 'S2' } as Price, price(3)];
  expect((await highwater('run', '--once')).code).toBe(0);
  expect(await events()).toHaveLength(2);
  const letters = await highwater('dead-letters', 'list', 'prices', '--json');
  expect(JSON.parse(letters.out).reason).toBe('the record has no usable date (missing)');
});

it('doctor names the cost, and a backfill is refused', async () => {
  rows = many(5);
  await highwater('run', '--once');
  expect((await highwater('doctor')).out).toContain('every poll reads the whole feed');
  const asked = requests;
  const { code, err } = await highwater('backfill', 'prices', '--from', '2026-01-01', '--to', '2026-02-01');
  expect([code, err]).toEqual([
    1,
    expect.stringContaining('has no updatedField: each poll reads everything'),
  ]);
  expect(requests).toBe(asked);
});
