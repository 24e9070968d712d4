import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import type { AuthScheme } from '../../../src/feeds/definition';
import { sendJson } from '../../support/http-server';
import {
  everyPrintedForm,
  failureOf,
  feed,
  never,
  page,
  server,
  source,
  stopAll,
  token,
} from './client-fixture';

afterEach(stopAll);

/** Whatever part of the marked token would betray it, in any spelling of the rest. */
const traces = [/MARK/i, /tok~en/, /tok%7Een/i, /TUFSS/, /VFVBUks/, /ed%2Ftok/i];

function expectSilence(text: string): void {
  for (const trace of traces) expect(text).not.toMatch(trace);
}

const schemes: AuthScheme[] = [
  { scheme: 'query', name: 'token' },
  { scheme: 'query', name: 'api_key' },
  { scheme: 'query', name: 'auth[key]' },
  { scheme: 'bearer' },
  { scheme: 'basic', user: 'me' },
  { scheme: 'basic', user: null },
  { scheme: 'header', name: 'X-Api-Key' },
];

/** The part of a request that carries the token. */
const credential = ({ headers }: IncomingMessage) =>
  String(headers.authorization ?? headers['x-api-key'] ?? '');

/** The request in the forms in which an API may repeat it. */
const repeated = (request: IncomingMessage) => {
  const { url = '', headers } = request;
  return [url, encodeURIComponent(url), JSON.stringify(headers), credential(request), token].join(' ');
};
/** An error may show less than the whole token, and that is silenced too. */
const echo = (request: IncomingMessage) => {
  const [, part = ''] = credential(request).split(' ');
  return `failed on ${repeated(request)} ${part} ${request.url!.slice(0, -6)}`;
};

const situations: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  'a 401 that names the token': (_, response) =>
    sendJson(response, { ok: false, errors: [{ code: 'auth_failed', id: 'bad_token', value: token }] }, 401),
  'a 500 that echoes the request as JSON': (request, response) =>
    sendJson(response, { message: echo(request) }, 500),
  'a 500 that echoes the request as HTML': (request, response) =>
    response.writeHead(500, { 'content-type': 'text/html' }).end(`<h1>${echo(request)}</h1>`),
  'a 500 that echoes half of the address': (request, response) =>
    sendJson(response, { message: request.url!.slice(0, -6) }, 500),
  'a 200 that holds the request as key and as text': (request, response) =>
    sendJson(response, { [echo(request)]: 1, [encodeURIComponent(token)]: echo(request) }),
  'a 200 in base64': (_, response) =>
    response.end(`user ${Buffer.from(`me:${token}`).toString('base64')} is unknown`),
  'a link elsewhere that repeats the request': (request, response) =>
    sendJson(response, { ipos: [], next: `http://other.invalid/${echo(request)}` }),
  'a body cut in the middle': (request, response) =>
    response.end(`{"ipos":[],"self":${JSON.stringify(`http://x/${echo(request)}`)}`),
  'a redirect that carries the query along': (request, response) =>
    response.writeHead(307, { location: `https://other.invalid/x${request.url}` }).end(),
  'a redirect into a path with the request': (request, response) =>
    response.writeHead(307, { location: `/login/${encodeURIComponent(echo(request))}` }).end(),
  'a content type with the token': (request, response) =>
    response.writeHead(200, { 'content-type': `text/${request.url} ${credential(request)}` }).end('hello'),
  'a reset': (request) => request.socket.destroy(),
  'a reset in the body': (_, response) => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('{"ipos":', () => response.destroy());
  },
  'something that is no HTTP': (request) =>
    request.socket.end(`BOGUS ${request.url} ${credential(request)}\r\n\r\n`),
  'a timeout': () => {},
};

describe.each(schemes)('the token of the scheme %j stays out of errors, logs and records (I10)', (auth) => {
  const paged = { ...feed, paging: { style: 'link', from: 'next' } } as const;

  it.each(Object.entries(situations))('at %s', async (_, answer) => {
    const api = await server(answer);
    const client = source(api.url, { auth, limits: { timeoutMs: 200, retry: { attempts: 2 } } });
    const error = await failureOf(client.fetchPage(paged, page, never));
    expectSilence(everyPrintedForm(error));
    expectSilence(inspect(client.lines, { depth: 10 }));
    const { url, headers } = api.requests[0]!;
    const sent = credential({ headers } as IncomingMessage);
    const inBase64 = Buffer.from(sent.replace('Basic ', ''), 'base64').toString();
    expect([decodeURIComponent(url.replaceAll('+', ' ')), sent, inBase64].join(' ')).toContain(token);
  });

  it('at a page whose records repeat the request', async () => {
    const api = await server((request, response) =>
      sendJson(response, {
        ipos: [{ id: 'a', name: repeated(request), [repeated(request)]: request.headers }],
      }),
    );
    const client = source(api.url, { auth });
    const answer = await client.fetchPage(paged, page, never);
    expect([answer.rows.length, client.lines.length > 0]).toEqual([1, true]);
    expectSilence(inspect([client.lines, answer], { depth: 10, maxStringLength: null }));
  });
});

describe('the token stays out of errors and logs (I10)', () => {
  it('by basic authentication, when the token is too short to be told from chance in base64', async () => {
    const api = await server(({ headers }, response) =>
      sendJson(response, { message: headers.authorization }, 500),
    );
    const auth = { scheme: 'basic', user: 'me' } as const;
    const client = source(api.url, { auth, token: 'abcd', limits: { retry: { attempts: 1 } } });
    const error = await failureOf(client.fetchPage(feed, page, never));
    expect(error.message).toContain('Basic [redacted]');
  });

  it('when nobody listens at the address, the name is unknown, or the server speaks no TLS', async () => {
    const api = await server(() => {});
    await api.stop();
    const plain = await server(() => {});
    for (const [url, reason] of [
      [api.url, /ECONNREFUSED/],
      ['http://no-such-host.invalid', /ENOTFOUND|EAI_AGAIN/],
      [
        plain.url.replace('http:', 'https:'),
        /\(this server speaks http, not https.* write http:\/\/ in its address/,
      ],
    ] as const) {
      const error = await failureOf(source(url).fetchPage(feed, page, never));
      expect(error.code).toBe('SOURCE_UNREACHABLE');
      expect(error.message).toMatch(reason);
      expectSilence(everyPrintedForm(error));
    }
  });
});
