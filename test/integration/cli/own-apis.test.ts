import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { avroRecord } from '../../support/avro';
import { commandsHere, jsonLines } from '../../support/cli';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server';
import { everySpelling, filesUnder, findSecrets, markedSecret } from '../../support/marked-secrets';

const { folder, file, done } = commandsHere();

const shopToken = markedSecret('SHOP_TOKEN', '._~+/-');
const stockToken = markedSecret('STOCK_TOKEN', '._~+/-');
const now = Math.floor(Date.now() / 1000);
const rows = Array.from({ length: 30 }, (_, n) => ({ id: `o${n}`, updated: now - 1_000 + n, total: n }));

/** Two APIs: one by pages with a bearer token, one by basic authentication. Each API repeats the refused request in its answer. */
let shop: HttpServer;
let stock: HttpServer;
beforeEach(async () => {
  const serve = (expected: string, wrap: (found: typeof rows) => unknown) =>
    startHttpServer(({ url = '', headers }, response) => {
      const query = new URL(url, 'http://host').searchParams;
      if (headers.authorization !== expected) {
        const said = everySpelling(headers.authorization ?? '').join(' ');
        sendJson(response, { message: said }, 401);
        return;
      }
      const [from, size] = [Number(query.get('page')), Number(query.get('limit'))];
      const found = rows.filter(({ updated }) => updated >= Number(query.get('since')));
      sendJson(response, wrap(found.slice(from * size, from * size + size)), 200, {
        date: new Date().toUTCString(),
      });
    });
  shop = await serve(`Bearer ${shopToken.value}`, (orders) => ({ data: { orders, count: rows.length } }));
  stock = await serve(`Basic ${Buffer.from(`me:${stockToken.value}`).toString('base64')}`, (all) => all);
  const feed = {
    schema: 'order.avsc',
    parameters: { page: 'page', pageSize: 'limit', updatedSince: 'since' },
  };
  const feeds = {
    orders: {
      ...feed,
      apiUrl: shop.url,
      auth: { scheme: 'bearer', tokenEnv: 'SHOP_TOKEN' },
      path: '/orders',
      responseKey: 'data.orders',
      pageSize: 10,
    },
    levels: {
      ...feed,
      apiUrl: stock.url,
      auth: { scheme: 'basic', user: 'me', tokenEnv: 'STOCK_TOKEN' },
      path: '/levels',
      responseKey: '',
    },
  };
  writeFileSync(file('order.avsc'), avroRecord('Order', { total: ['null', 'long'] }));
  writeFileSync(file('highwater.yaml'), stringify({ enabledFeeds: ['orders', 'levels'], feeds }));
});
afterEach(() => Promise.all([shop.stop(), stock.stop()]));

async function highwater(args: readonly string[], change: Readonly<Record<string, string>> = {}) {
  const env = {
    SHOP_TOKEN: shopToken.value,
    STOCK_TOKEN: stockToken.value,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    ...change,
  };
  const ended = await done(args, env);
  const places = [{ name: 'what was printed', content: ended.said }, ...filesUnder(folder())];
  expect(findSecrets([shopToken, stockToken], places)).toStrictEqual([]);
  return ended;
}

it('publishes feeds of two APIs, with no general address and no general token', async () => {
  const once = await highwater(['run', '--once', '--log-level', 'debug']);
  expect([once.code, once.err]).toEqual([0, expect.stringContaining(`Reading ${shop.url}: orders, once`)]);
  for (const topic of ['orders', 'levels']) {
    const { out } = await highwater(['tail', topic, '--from-beginning', '--no-follow', '--json']);
    expect(out.trim().split('\n')).toHaveLength(rows.length);
  }
});

it('status names the API of each feed, without tokens', async () => {
  await highwater(['run', '--once']);
  const { out } = await highwater(['status', '--json']);
  const apis = jsonLines<{ readonly api: string }>(out).map(({ api }) => api);
  expect(apis).toEqual([shop.url, stock.url]);
  const table = await highwater(['status']);
  expect(table.out).toMatch(/^FEED .* API +OWNER$/m);
  expect(table.out).toContain(shop.url.replace('http://', ''));
});

it('doctor examines each API once, and names the variable of a token that is not set', async () => {
  const checks = async (change = {}) => {
    const { out } = await highwater(['doctor', '--json'], change);
    return jsonLines<Record<string, string>>(out);
  };
  const all = await checks();
  expect(all.filter(({ check }) => check === 'api').map(({ found }) => found)).toEqual([
    `${shop.url} answers`,
    `${stock.url} answers`,
  ]);
  expect(all.filter(({ check }) => check === 'token').map(({ found }) => found)).toEqual([
    'accepted as a bearer token (header Authorization)',
    'accepted as the password of the user "me" (basic authentication)',
  ]);
  const without = await checks({ STOCK_TOKEN: '' });
  expect(without).toContainEqual(
    expect.objectContaining({
      check: 'feed',
      feed: 'levels',
      state: 'failed',
      found: expect.stringContaining('the variable STOCK_TOKEN is not set'),
    }),
  );
  expect(without).toContainEqual(expect.objectContaining({ check: 'api', found: `${shop.url} answers` }));
});

it('a refused token names its scheme, and the feed of the other API goes on', async () => {
  const once = await highwater(['run', '--once'], { SHOP_TOKEN: `${shopToken.value}x` });
  expect(once.code).toBe(1);
  expect(once.err).toContain('SOURCE_UNAUTHORIZED');
  expect(once.err).toContain('the token was sent as a bearer token');
  const { out } = await highwater(['tail', 'levels', '--from-beginning', '--no-follow', '--json']);
  expect(out.trim().split('\n')).toHaveLength(rows.length);
});
