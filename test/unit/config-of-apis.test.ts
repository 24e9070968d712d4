import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Config, loadConfig } from '../../src/config/load-config';
import { scopeFingerprint } from '../../src/feeds/scope';
import { avroRecord } from '../support/avro';
import { configMistakes } from '../support/config-mistakes';
import { namedRows } from '../support/named-rows';
import { tempFolder } from '../support/temp-folder';

type Section = Record<string, unknown>;

const folder = tempFolder();
let cwd: string;
beforeEach(() => {
  cwd = folder();
  writeFileSync(join(cwd, 'order.avsc'), avroRecord('Order', { total: ['null', 'long'] }));
  writeFileSync(join(cwd, 'undated.avsc'), avroRecord('Order', { updated: ['null', 'long'] }));
});

const orders = {
  apiUrl: 'https://shop.example/v1',
  auth: { scheme: 'bearer', tokenEnv: 'SHOP_TOKEN' },
  path: '/orders',
  responseKey: 'data.orders',
  schema: 'order.avsc',
  paging: { style: 'cursor', parameter: 'after', from: 'meta.next' },
};
const since = { parameters: { updatedSince: 'since' } };
const counted = {
  ...orders,
  parameters: { page: 'page', pageSize: null, updatedSince: 'since' },
  paging: { style: 'page' },
};
const env = { SHOP_TOKEN: 'shop-secret' };
type Needs = 'api' | 'feeds' | 'whatever is set' | 'nothing';

function load(
  section: Section,
  { given = env, general = {}, needs = 'api' }: { given?: object; general?: Section; needs?: Needs } = {},
): Config {
  const file = { enabledFeeds: 'orders', ...general, feeds: { orders: section } };
  writeFileSync(join(cwd, 'highwater.yaml'), stringify(file));
  return loadConfig({ flags: {}, env: given as Record<string, string>, cwd }, needs as 'nothing');
}

function mistakes(...given: Parameters<typeof load>): string[] {
  const said = configMistakes(() => load(...given));
  expect(said.join()).not.toMatch(/shop-secret|s3cret/);
  return said.map((line) => line.replace(/ \(highwater.yaml, line \d+\)/, '').replace(cwd, 'CWD'));
}

it('a feed with an API of its own needs no general address and no general token', () => {
  const { feeds, api, secrets } = load(orders);
  expect(api!.access.get('orders')).toEqual({
    baseUrl: 'https://shop.example/v1',
    token: 'shop-secret',
    auth: { scheme: 'bearer' },
  });
  expect(feeds).toMatchObject([
    {
      idField: 'id',
      updatedField: 'updated',
      updatedFormat: 'seconds',
      headers: {},
      parameters: { page: null, pageSize: null, updatedSince: null },
      paging: orders.paging,
    },
  ]);
  expect(secrets).toEqual(['shop-secret']);
});

it.each([
  ['query', { name: 'key' }, { scheme: 'query', name: 'key' }],
  ['query', {}, { scheme: 'query', name: 'token' }],
  ['basic', { user: 'me' }, { scheme: 'basic', user: 'me' }],
  ['basic', {}, { scheme: 'basic', user: null }],
  ['header', { name: 'X-Api-Key' }, { scheme: 'header', name: 'X-Api-Key' }],
])('the scheme %s takes %j', (scheme, members, expected) => {
  const { api, secrets } = load({ ...orders, auth: { scheme, ...members, tokenEnv: 'SHOP_TOKEN' } });
  expect(api!.access.get('orders')!.auth).toEqual(expected);
  expect(secrets).toContain('shop-secret');
  if (scheme === 'basic')
    expect(secrets).toContain(
      Buffer.from(`${'user' in members ? 'me:' : ''}shop-secret${'user' in members ? '' : ':'}`).toString(
        'base64',
      ),
    );
});

it('a token comes from a file, and the scheme none needs none', () => {
  writeFileSync(join(cwd, 'shop'), ' from-a-file\n');
  const auth = { scheme: 'bearer', tokenFile: 'shop' };
  expect(load({ ...orders, auth }).api!.access.get('orders')!.token).toBe('from-a-file');
  expect(load({ ...orders, auth: { scheme: 'none' } }, { given: {} }).api!.access.get('orders')!.token).toBe(
    '',
  );
});

it('the general token goes by another scheme too, and a variable may be named like a setting', () => {
  const general = { apiUrl: 'https://shop.example/other', apiToken: 'general-one' };
  const { api } = load({ ...orders, auth: { scheme: 'bearer' } }, { general });
  expect(api!.access.get('orders')!.token).toBe('general-one');
  const auth = { scheme: 'bearer', tokenEnv: 'HIGHWATER_API_TOKEN2' };
  const given = { HIGHWATER_API_TOKEN2: 'another-one' };
  expect(load({ ...orders, auth }, { given }).api!.access.get('orders')!.token).toBe('another-one');
});

const named = 'feeds.orders.auth';

const client = {
  scheme: 'oauth2',
  tokenUrl: 'https://id.example/oauth/token/',
  clientId: 'desk',
  clientSecretEnv: 'SHOP_TOKEN',
};
const { clientSecretEnv: _, ...secretless } = client;

it('client credentials name a token server, and the secret of the client is hidden', () => {
  writeFileSync(join(cwd, 'shop'), 'shop-secret-of-file\n');
  const auth = { ...secretless, clientSecretFile: 'shop', scope: 'read', parameters: { resource: 'r' } };
  const { api, secrets } = load({ ...orders, auth });
  const { grant, ...access } = api!.access.get('orders')!;
  expect(access).toMatchObject({ token: '', auth: { scheme: 'bearer' } });
  expect(grant).toMatchObject({ ...auth, clientAuth: 'basic', key: `${named}.clientSecretFile` });
  expect(secrets).toEqual(['shop-secret-of-file']);
  expect(load({ ...orders, auth: client }).secrets).toEqual(['shop-secret']);
});

const authOf = (auth: unknown) => ({ ...orders, auth });

it.each<[string, Section, string, object?]>(
  namedRows<[Section, string, object?]>({
    'a token in the file': [
      authOf({ scheme: 'bearer', token: 's3cret' }),
      `${named}.token: must not stand in the file, expected tokenEnv (a variable that holds it), tokenFile or tokenCommand`,
    ],
    'a text': [authOf('s3cret'), `${named}: expected a scheme: query, bearer, basic, header, oauth2 or none`],
    'another scheme': [
      authOf({ scheme: 's3cret' }),
      `${named}.scheme: expected a scheme: query, bearer, basic, header, oauth2 or none`,
    ],
    'a user of bearer': [
      authOf({ scheme: 'bearer', usr: 'x', tokenEnv: 'SHOP_TOKEN' }),
      `${named}.usr: is not a setting of a feed; did you mean user? It belongs to scheme basic, and scheme is bearer, which has scheme, tokenEnv, tokenFile, tokenCommand`,
    ],
    'both places': [
      authOf({ scheme: 'bearer', tokenEnv: 'SHOP_TOKEN', tokenFile: 'x' }),
      `${named}.tokenEnv: and tokenFile are both set, expected one of them`,
    ],
    'a variable that is not set': [
      authOf({ scheme: 'bearer', tokenEnv: 'NO_TOKEN' }),
      `${named}.tokenEnv: the variable NO_TOKEN is not set, expected the token in it`,
    ],
    'a token as the name of a variable': [
      authOf({ scheme: 'bearer', tokenEnv: 's3cretS3cretS3cret' }),
      `${named}.tokenEnv: the variable of that name is not set, expected the token in it`,
    ],
    'a file that is not there': [
      authOf({ scheme: 'bearer', tokenFile: './none' }),
      `${named}.tokenFile: the file "./none" cannot be read (ENOENT)`,
    ],
    'a token of two words': [
      orders,
      `${named}.tokenEnv: the variable SHOP_TOKEN holds something else, expected a token of at least 4 characters without blanks or control characters; a shorter one is a part of ordinary words, which would be hidden with it`,
      { SHOP_TOKEN: 's3cret two' },
    ],
    'a token that no header takes': [
      orders,
      `${named}.tokenEnv: the variable SHOP_TOKEN holds something else, expected ASCII, since a header carries the token`,
      { SHOP_TOKEN: 's3crét' },
    ],
    'a client without a secret': [
      authOf(secretless),
      `${named}: expected clientSecretEnv (a variable that holds it), clientSecretFile or clientSecretCommand`,
    ],
    'the secret of a client in the file': [
      authOf({ ...client, clientSecret: 's3cret' }),
      `${named}.clientSecret: must not stand in the file, expected clientSecretEnv (a variable that holds it), clientSecretFile or clientSecretCommand`,
    ],
    'a secret among the parameters': [
      authOf({ ...client, parameters: { client_secret: 's3cret' } }),
      `${named}.parameters: expected names of parameters with their values, without secrets`,
    ],
    'a token server with a login': [
      authOf({ ...client, tokenUrl: 'https://me:s3cret@id.example/token' }),
      `${named}.tokenUrl: expected an address such as https://api.example.com, of http or https, without user, query or fragment`,
    ],
    'a client that proves itself otherwise': [
      authOf({ ...client, clientAuth: 'header' }),
      `${named}.clientAuth: expected one of basic, body`,
    ],
    'the secret of a client that is not set': [
      authOf({ ...client, clientSecretEnv: 'NO_SECRET' }),
      `${named}.clientSecretEnv: the variable NO_SECRET is not set, expected the client secret in it`,
    ],
    'two secrets of a client': [
      authOf({ ...client, clientSecretCommand: 'cat s3cret' }),
      `${named}.clientSecretEnv: and clientSecretCommand are both set, expected one of them`,
    ],
    'a header with no name': [
      authOf({ scheme: 'header', name: 'X Api', tokenEnv: 'SHOP_TOKEN' }),
      `${named}.name: expected the name of a header, such as X-Api-Key`,
    ],
    'a header of HTTP': [
      authOf({ scheme: 'header', name: 'Host', tokenEnv: 'SHOP_TOKEN' }),
      `${named}.name: expected the name of a header that highwater does not set itself, such as X-Api-Key`,
    ],
    'a secret header': [
      { ...orders, headers: { Authorization: 'Bearer s3cret' } },
      'feeds.orders.headers.Authorization: carries a secret, which must not stand in the file, expected it in auth (scheme bearer, basic or header, with tokenEnv, tokenFile or tokenCommand)',
    ],
    'an own header': [
      { ...orders, headers: { 'accept-encoding': 'x' } },
      'feeds.orders.headers.accept-encoding: is set by highwater itself, expected another header',
    ],
    'a header of two lines': [
      { ...orders, headers: { 'X-A': 's3cret\nb' } },
      'feeds.orders.headers.X-A: expected printable characters of ASCII, without line ends',
    ],
    'a cursor without parameter': [
      { ...orders, paging: { style: 'cursor', from: 'x' } },
      'feeds.orders.paging.parameter: is not set, expected the query parameter that takes the cursor',
    ],
    'a cursor from nowhere': [
      { ...orders, paging: { style: 'cursor', parameter: 'after' } },
      'feeds.orders.paging: lacks from (a path in the response) and lastRow (a path in the last row), expected one of them',
    ],
    'a cursor from two places': [
      { ...orders, paging: { style: 'cursor', parameter: 'after', from: 'x', lastRow: 'id' } },
      'feeds.orders.paging: has both from (a path in the response) and lastRow (a path in the last row), expected one of them',
    ],
    'a cursor that is the time of the last row': [
      { ...orders, paging: { style: 'cursor', parameter: 'after', lastRow: 'updated' } },
      'feeds.orders.paging.lastRow: is the time of the row, which others may share: rows of one time would be left out where two pages meet, expected a member that tells all rows apart, or `paging: { style: none }` and the time as parameters.updatedSince',
    ],
    'a body without POST': [
      { ...orders, body: { limit: 1 } },
      'feeds.orders.body: needs `method: POST`, since a GET has no body',
    ],
    'a parameter below a value of the body that holds nothing': [
      { ...orders, method: 'POST', body: { query: '{ a }' }, parameters: { pageSize: 'query.first' } },
      'feeds.orders.parameters.pageSize: is a path through a value of the body that is no object',
    ],
    'a cursor below a value of the body that holds nothing': [
      {
        ...orders,
        method: 'POST',
        body: { after: null },
        paging: { ...orders.paging, parameter: 'after.x.y' },
      },
      'feeds.orders.paging.parameter: is a path through a value of the body that is no object',
    ],
    'a method that changes data': [
      { ...orders, method: 'DELETE' },
      'feeds.orders.method: found "DELETE", expected one of GET, POST',
    ],
    'a setting of another style': [
      { ...orders, paging: { style: 'cursor', parameter: 'after', from: 'x', first: 1 } },
      'feeds.orders.paging.first: belongs to style page and offset, and style is cursor, which has style, parameter, start, from, lastRow, hasMore',
    ],
    'a flag of the style none': [
      { ...orders, paging: { style: 'none', hasMore: 'more' } },
      'feeds.orders.paging.hasMore: belongs to style page and offset and cursor, and style is none, which has style',
    ],
    'a setting of another scheme': [
      { ...orders, auth: { scheme: 'bearer', tokenEnv: 'SHOP_TOKEN', name: 'X-Key' } },
      'feeds.orders.auth.name: belongs to scheme query and header, and scheme is bearer, which has scheme, tokenEnv, tokenFile, tokenCommand',
    ],
    'a setting of another kind of transition': [
      {
        ...orders,
        transitions: [
          {
            kind: 'field',
            type: 'Moved',
            schema: 'order.avsc',
            topic: 'orders.moves',
            eventType: 'orders.moved',
            idSuffix: ':moved',
            fields: {},
            field: 'total',
            group: ['total'],
          },
        ],
      },
      'feeds.orders.transitions.0.group: belongs to kind latest-in-group, and kind is field, which has kind, field, type, schema, topic, eventType, idSuffix, fields, display',
    ],
    'a first page that is neither 0 nor 1': [
      { ...counted, paging: { style: 'page', first: 2 } },
      'feeds.orders.paging.first: found "2", expected a whole number from 0 to 1',
    ],
    'a total in a bare array': [
      { ...counted, responseKey: '', paging: { style: 'page', total: 'meta.total' } },
      'feeds.orders.paging.total: is a place in an object, and the response is an array: responseKey is empty',
    ],
    'a link that follows its path perhaps': [
      { ...orders, paging: { style: 'link', followPath: 'perhaps' } },
      'feeds.orders.paging.followPath: found "perhaps", expected true or false',
    ],
    'an id without a path': [
      { ...orders, idField: [] },
      'feeds.orders.idField: found [], expected the path of a member, or a list of paths',
    ],
    'an id that the schema does not have': [
      { ...orders, idField: ['id', 'no'], updatedField: 'meta.at' },
      'feeds.orders.schema: the file "CWD/order.avsc" lacks no (string, long, int), meta.at (long; not null)',
    ],
    'a format that no filter has': [
      { ...orders, ...since, updatedSinceFormat: 'rfc822' },
      'feeds.orders.updatedSinceFormat: found "rfc822", expected one of seconds, milliseconds, iso8601, iso8601-ms, iso8601-offset, date, datetime',
    ],
    'a short window': [
      { ...orders, ...since, window: '5s' },
      'feeds.orders.window: found "5s", expected a duration such as 12h or 30d, at least 1m and at most 36500d',
    ],
    'a beginning that is no day': [
      { ...orders, ...since, beginAt: '2020-02-30' },
      'feeds.orders.beginAt: found "2020-02-30", expected a date or a time, such as 2020-01-31 or 2020-01-31T09:30:00Z',
    ],
    'a window without a filter': [
      { ...orders, window: '30d' },
      'feeds.orders.window: needs parameters.updatedSince (the query parameter for the begin of a range), which is not set',
    ],
    'another style': [
      { ...orders, paging: { style: 'pages' } },
      'feeds.orders.paging.style: found "pages", expected a style: page, offset, cursor, link or none',
    ],
    'a cursor in a bare array': [
      { ...orders, responseKey: '' },
      'feeds.orders.paging.from: is a place in an object, and the response is an array: responseKey is empty',
    ],
    'pages without parameters': [
      { ...orders, paging: { style: 'page' } },
      'feeds.orders: a new feed needs parameters.page, parameters.pageSize, parameters.updatedSince too (known feeds are insights, analysts, ipos)',
    ],
    'pages by no parameter': [
      {
        ...orders,
        paging: { style: 'offset' },
        parameters: { page: null, pageSize: null, updatedSince: null },
      },
      'feeds.orders.parameters.page: is not set, expected the query parameter that takes the offset, since the paging style is offset',
    ],
    'a filter by a time that records do not have': [
      { ...orders, ...since, updatedField: null, schema: 'undated.avsc' },
      'feeds.orders.parameters.updatedSince: needs updatedField, by which the filter goes, expected null',
    ],
    'a beginning at the present without a time': [
      { ...orders, updatedField: null, snapshotMode: 'never', schema: 'undated.avsc' },
      'feeds.orders.snapshotMode: is never, and without updatedField nothing shows which records are new',
    ],
    'a cursor in the place of the token': [
      { ...orders, auth: { scheme: 'query', name: 'after', tokenEnv: 'SHOP_TOKEN' } },
      'feeds.orders.paging.parameter: is "after", which carries the token, expected another name',
    ],
    'a filter in the place of the token': [
      {
        ...orders,
        auth: { scheme: 'query', name: 'key', tokenEnv: 'SHOP_TOKEN' },
        parameters: { updatedSince: 'key' },
      },
      'feeds.orders.parameters.updatedSince: is "key", which carries the token, expected another name',
    ],
    'a token among the filters': [
      { ...orders, auth: { scheme: 'query', name: 'key', tokenEnv: 'SHOP_TOKEN' }, query: { key: 's3cret' } },
      'feeds.orders.query.key: carries a secret, which must not stand in the file, expected it in auth (scheme query, with tokenEnv, tokenFile or tokenCommand)',
    ],
  }),
)('%s is a mistake', (_, section, expected, given = env) => {
  expect(mistakes(section, { given })).toEqual([expected]);
});

it.each(['api_key', 'apiKey', 'access-token', 'clientSecret', 'password', 'token', 'X-Amz-Signature'])(
  'a secret in the query parameter %s is a mistake',
  (name) => {
    const mistake = `feeds.orders.query.${name}: carries a secret, which must not stand in the file, expected it in auth (scheme query, with tokenEnv, tokenFile or tokenCommand)`;
    expect(mistakes({ ...orders, query: { [name]: 's3cret' } })).toEqual([mistake]);
  },
);

it('the general token is not sent to another host', () => {
  const general = { apiUrl: 'https://api.example.com', apiToken: 'general-one' };
  const { auth: _, ...section } = orders;
  expect(mistakes(section, { general })).toEqual([
    'feeds.orders.auth: names no token of its own, and the general token is for https://api.example.com, not for https://shop.example; expected auth with tokenEnv, tokenFile or tokenCommand, or with scheme none',
  ]);
});

it('a missing address or token names the feeds that have none of their own', () => {
  const found = mistakes({ ...orders, ...since }, { general: { enabledFeeds: undefined } });
  expect(found).toEqual([
    expect.stringMatching(
      /^apiUrl: is not set, .*; without an address of their own: insights, analysts, ipos \(enabledFeeds can leave them out\)$/,
    ),
    expect.stringMatching(
      /^apiToken: is not set, .*; without a token of their own: insights, analysts, ipos \(enabledFeeds can leave them out\)$/,
    ),
  ]);
  const all = { general: { enabledFeeds: 'ipos' } };
  expect(mistakes({ ...orders, ...since }, all)[0]).toMatch(/; without an address of their own: ipos$/);
});

it('a command that reads no API does without the token', () => {
  for (const needs of ['feeds', 'nothing'] as const)
    expect(load(orders, { given: {}, needs }).feeds).toHaveLength(1);
  const { lacking } = load(orders, { given: {}, needs: 'whatever is set' }).api!;
  expect(lacking.get('orders')).toContain('the variable SHOP_TOKEN is not set');
});

it('a feed that is not enabled hides its token and needs none', () => {
  const general = { enabledFeeds: 'ipos', apiUrl: 'https://api.example.com', apiToken: 'general-one' };
  expect(load(orders, { general }).secrets).toContain('shop-secret');
  expect(load(orders, { general, given: {} }).feeds).toHaveLength(1);
});

it('takes keys by path, and all that can be said of pages, filters and ranges', () => {
  writeFileSync(
    join(cwd, 'order.avsc'),
    avroRecord('Order', {
      id: undefined,
      updated: undefined,
      symbol: ['null', 'string'],
      day: 'string',
      meta: ['null', { type: 'record', name: 'Meta', fields: [{ name: 'at', type: ['null', 'long'] }] }],
    }),
  );
  const { feeds } = load({
    ...counted,
    idField: ['symbol', 'day'],
    updatedField: 'meta.at',
    updatedSinceFormat: 'date',
    beginAt: '2020-01-31',
    window: '30d',
    parameters: { ...counted.parameters, updatedUntil: 'until' },
    paging: { style: 'page', first: 1, hasMore: 'meta.more', total: 'meta.total' },
  });
  expect(feeds[0]).toMatchObject({
    idField: ['symbol', 'day'],
    updatedField: 'meta.at',
    updatedSinceFormat: 'date',
    beginAt: 1_580_428_800,
    windowSeconds: 30 * 86_400,
    parameters: { updatedSince: 'since', updatedUntil: 'until' },
    paging: { style: 'page', first: 1, hasMore: 'meta.more', total: 'meta.total' },
  });
});

it.each([
  [{ style: 'cursor', parameter: 'after', start: '*', from: 'meta.next' }],
  [{ style: 'cursor', parameter: 'after', start: '', from: 'meta.next' }],
  [{ style: 'link', from: null, followPath: true }],
  [{ style: 'offset', first: 0, hasMore: 'more' }],
])('takes the paging %j', (paging) => {
  expect(load({ ...counted, paging }).feeds[0]!.paging).toEqual(paging);
});

it('another beginning is another scope; another form of the filter, window or key is not', () => {
  const scope = (own: Section) =>
    scopeFingerprint(load({ ...orders, ...since, ...own }).feeds[0]!, orders.apiUrl);
  expect(scope({ beginAt: '2020-01-31' })).not.toBe(scope({}));
  expect(scope({ updatedSinceFormat: 'date', window: '30d', idField: ['id', 'id'] })).toBe(scope({}));
});

it('another header is another scope', () => {
  const [feed] = load(orders).feeds;
  const [other] = load({ ...orders, headers: { 'X-Tenant': 'b' } }).feeds;
  expect(scopeFingerprint(feed!, orders.apiUrl)).not.toBe(scopeFingerprint(other!, orders.apiUrl));
});
