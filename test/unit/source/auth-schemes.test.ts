import type { IncomingMessage } from 'node:http';
import type { AuthScheme } from '../../../src/feeds/definition';
import { sendJson } from '../../support/http-server';
import { failureOf, feed, never, page, server, source, stopAll, token } from './client-fixture';

afterEach(stopAll);

const inBasic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

const schemes: [AuthScheme, expected: { query?: object; headers?: object }][] = [
  [{ scheme: 'query', name: 'api[key]' }, { query: { 'api[key]': token } }],
  [{ scheme: 'bearer' }, { headers: { authorization: `Bearer ${token}` } }],
  [{ scheme: 'basic', user: 'me' }, { headers: { authorization: inBasic(`me:${token}`) } }],
  [{ scheme: 'basic', user: null }, { headers: { authorization: inBasic(`${token}:`) } }],
  [{ scheme: 'header', name: 'X-Api-Key' }, { headers: { 'x-api-key': token } }],
  [{ scheme: 'none' }, {}],
];

const queryOf = ({ url }: Pick<IncomingMessage, 'url'>) =>
  Object.fromEntries(new URL(url ?? '', 'http://host').searchParams);

it.each(schemes)('a request carries the token by the scheme %j, and nowhere else', async (auth, expected) => {
  const api = await server((_, response) => sendJson(response, { ipos: [] }));
  const client = source(api.url, { auth, token: auth.scheme === 'none' ? '' : token });
  await client.fetchPage({ ...feed, headers: { 'Accept-Version': '2', accept: 'a/b' } }, page, never);
  const [request] = api.requests;
  const { host: _, ...headers } = request!.headers;
  expect(queryOf(request!)).toEqual({
    'parameters[tickers]': 'AAA,B C',
    page: '2',
    pagesize: '50',
    'parameters[updated]': '1700000000',
    ...expected.query,
  });
  expect(headers).toEqual({
    'accept-version': '2',
    accept: 'a/b',
    'accept-encoding': 'gzip, deflate',
    'cache-control': 'no-cache',
    'user-agent': expect.stringMatching(/^highwater/),
    connection: 'keep-alive',
    ...expected.headers,
  });
});

it.each([
  [{ scheme: 'bearer' } as const, 'the token was sent as a bearer token (header Authorization)'],
  [{ scheme: 'header', name: 'X-Api-Key' } as const, 'the token was sent in the header X-Api-Key'],
  [{ scheme: 'query', name: 'key' } as const, 'the token was sent in the query parameter "key"'],
  [
    { scheme: 'basic', user: 'me' } as const,
    'the token was sent as the password of the user "me" (basic authentication)',
  ],
])('a 401 names the scheme %j', async (auth, said) => {
  const api = await server((_, response) => sendJson(response, { message: 'no' }, 401));
  const error = await failureOf(source(api.url, { auth }).fetchPage(feed, page, never));
  expect(error).toMatchObject({ code: 'SOURCE_UNAUTHORIZED', message: expect.stringContaining(said) });
});

it('a redirect is not followed, whatever carries the token', async () => {
  const other = await server((_, response) => sendJson(response, { ipos: [] }));
  const api = await server((_, response) => response.writeHead(302, { location: `${other.url}/x` }).end());
  for (const [auth] of schemes) {
    const error = await failureOf(source(api.url, { auth }).fetchPage(feed, page, never));
    expect(error.code).toBe('SOURCE_REDIRECTED');
  }
  expect(other.requests).toEqual([]);
});
