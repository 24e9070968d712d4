import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { createApiClients } from '../../../src/runtime/api-clients';
import { Rotation } from '../../../src/secrets/rotation';
import { TokenDoubts } from '../../../src/secrets/token-doubt';
import type { ApiAccess, Grant } from '../../../src/source/api-access';
import { type HttpServer, sendJson } from '../../support/http-server';
import { quietLogger } from '../../support/source';
import { tempFolder } from '../../support/temp-folder';
import { clientId, startTokenServer, type TokenServer } from '../../support/token-server';
import { failureOf, feed, limits, never, page, server, stopAll } from './client-fixture';

const clientSecret = 'clientS3cret+/% 42';
const minute = 60_000;
const names = ['first', 'second', 'third'];
const folder = tempFolder();
let tokens: TokenServer;
let api: HttpServer;
let closing: { close(): void }[];
/** The answer to a request without a valid token. */
let refuse: (response: ServerResponse) => void;
/** Feeds that get that answer with any token. */
let wrong: Set<string>;
/** Requests that the API answers together. */
let together: number;
let lines: unknown[][];

beforeEach(async () => {
  jest.useFakeTimers({
    doNotFake: ['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask', 'Date'],
  });
  tokens = await startTokenServer(clientSecret);
  tokens.members = { expires_in: undefined };
  [wrong, together, lines, closing] = [new Set(), 1, [], []];
  const held: (() => void)[] = [];
  api = await server((request, response) => {
    const isWrong = wrong.has(request.url!.split(/[/?]/)[1]!);
    held.push(() =>
      isWrong || !tokens.admits(request) ? refuse(response) : sendJson(response, { ipos: [] }),
    );
    if (held.length >= together) for (const answer of held.splice(0)) answer();
  });
});
afterEach(async () => {
  jest.useRealTimers();
  for (const one of closing) one.close();
  await stopAll();
  await tokens.stop();
});

/** The feeds `first`, `second` and `third` of one client, each at a path of its name. */
function feeds(overrides: Partial<ApiAccess> = {}) {
  const grant: Grant = {
    ...{ id: 'grant', key: 'feeds.first.auth.clientSecretEnv', tokenUrl: tokens.url, clientId },
    ...{ scheme: 'oauth2', parameters: {}, clientAuth: 'basic', clientSecret },
    hide: new Rotation().granted('tokenUrl'),
  };
  const access: ApiAccess = { baseUrl: api.url, token: '', auth: { scheme: 'bearer' }, grant, ...overrides };
  const budget = { requestsPerSecond: 1_000, maxConcurrent: 4 };
  const of = new Map(names.map((name) => [name, access]));
  const info = (...line: unknown[]) => void lines.push(line);
  const config = { access: of, lacking: new Map(), ca: null, budget, limits };
  const made = createApiClients(config, { logger: { ...quietLogger(), info } });
  closing.push(made);
  return (name = 'first') => made.of(name).fetchPage({ ...feed, name, path: `/${name}` }, page, never);
}

const json =
  (value: unknown, status = 200) =>
  (response: ServerResponse) =>
    sendJson(response, value, status);
const redirect = (response: ServerResponse) => response.writeHead(302, { location: '/login' }).end();
const html = { 'content-type': 'text/html' };
const kinds: readonly [string, (response: ServerResponse) => void, code: string][] = [
  ['401', json({ error: 'invalid_token' }, 401), 'SOURCE_UNAUTHORIZED'],
  ['403', json({ error: 'invalid_token' }, 403), 'SOURCE_FORBIDDEN'],
  ['404', json({ message: 'Not Found' }, 404), 'SOURCE_NOT_FOUND'],
  ['400 and a code', json({ error: { message: 'Expired', code: 190 } }, 400), 'SOURCE_REQUEST_REFUSED'],
  ['400 invalid_token', json({ error: 'invalid_token' }, 400), 'SOURCE_UNAUTHORIZED'],
  ['200 token_expired', json({ ok: false, error: 'token_expired' }), 'SOURCE_UNAUTHORIZED'],
  ['200 invalid_auth', json({ ok: false, error: 'invalid_auth' }), 'SOURCE_UNAUTHORIZED'],
  ['200 token_revoked', json({ ok: false, error: 'token_revoked' }), 'SOURCE_UNAUTHORIZED'],
  [
    '200 and 498 in an error',
    json({ error: { code: 498, message: 'Invalid token.' } }),
    'SOURCE_UNAUTHORIZED',
  ],
  [
    '200 and 499 in an error',
    json({ error: { code: 499, message: 'Token Required' } }),
    'SOURCE_REPORTED_ERROR',
  ],
  ['200 and status 401', json({ status: 401, message: 'Unauthorized' }), 'SOURCE_UNAUTHORIZED'],
  [
    '200 and words',
    json({ errors: [{ message: 'Invalid or expired access token' }] }),
    'SOURCE_REPORTED_ERROR',
  ],
  ['200 and other keys', json({ login: {} }), 'SOURCE_WRONG_SHAPE'],
  ['200 without a body', json(''), 'SOURCE_BODY_EMPTY'],
  ['200 and HTML', (response) => sendJson(response, '<p>Log in</p>', 200, html), 'SOURCE_NOT_JSON'],
  ['302', redirect, 'SOURCE_REDIRECTED'],
];

describe.each(kinds)('an API that answers a token that is over with %s', (_, answer, code) => {
  beforeEach(() => {
    refuse = answer;
  });

  it('gets a new one, once for all feeds', async () => {
    const ask = feeds();
    for (const name of names) await ask(name);
    tokens.valid.clear();
    together = 3;
    await Promise.all(names.map(ask));
    expect(tokens.asked).toHaveLength(2);
    const isPlain = ['SOURCE_UNAUTHORIZED', 'SOURCE_FORBIDDEN'].includes(code);
    expect(lines.filter(([message]) => message === 'asking with a new token')).toHaveLength(isPlain ? 0 : 3);
  });

  it('is told as it is if no token helps', async () => {
    const ask = feeds();
    await ask();
    wrong.add('first');
    for (const _ of [1, 2]) expect((await failureOf(ask())).code).toBe(code);
    expect(tokens.asked).toHaveLength(2);
  });
});

describe('an answer that is wrong for another reason', () => {
  /** The number of all token requests after each hour in which a feed fails once a minute. */
  async function askedIn(hours: number, ask: (name?: string) => Promise<unknown>): Promise<number[]> {
    const asked: number[] = [];
    for (let i = 1; i <= hours * 60; i++) {
      await failureOf(ask());
      await ask('second');
      jest.advanceTimersByTime(minute);
      if (i % 60 === 0) asked.push(tokens.asked.length);
    }
    return asked;
  }

  beforeEach(() => {
    refuse = redirect;
  });

  it('asks the token server less and less often, down to once an hour, and delays no other feed', async () => {
    const ask = feeds();
    await ask();
    wrong.add('first');
    expect(await askedIn(4, ask)).toEqual([5, 6, 7, 8]);
    tokens.valid.clear();
    await ask('second');
    expect(tokens.asked).toHaveLength(9);
  });

  it('asks for no token while the one in use has just come', async () => {
    const ask = feeds();
    wrong.add('first');
    await failureOf(ask());
    jest.advanceTimersByTime(5 * minute - 1);
    await failureOf(ask());
    expect(tokens.asked).toHaveLength(1);
    jest.advanceTimersByTime(1);
    await failureOf(ask());
    expect(tokens.asked).toHaveLength(2);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['500', json({ message: 'Oh no' }, 500)],
    ['429', json({ message: 'Slow down' }, 429)],
    ['a reset', (response) => response.destroy()],
    ['half an answer', json('{"ipos":[')],
  ])('asks for no token if it shows an overload or the network: %s', async (_, answer) => {
    const ask = feeds();
    await ask();
    refuse = answer;
    wrong.add('first');
    await failureOf(ask());
    expect(tokens.asked).toHaveLength(1);
  });

  it('asks for no token if it passes', async () => {
    const ask = feeds();
    await ask();
    wrong.add('first');
    refuse = (response) => {
      wrong.clear();
      sendJson(response, { ok: false });
    };
    await ask();
    expect(tokens.asked).toHaveLength(1);
  });
});

describe('a token that is replaced on doubt', () => {
  beforeEach(() => {
    refuse = redirect;
  });

  it('stays in use while the token server gives no other one', async () => {
    const ask = feeds();
    await ask();
    tokens.answer = (response) => sendJson(response, { error: 'invalid_client' }, 401);
    wrong.add('first');
    expect((await failureOf(ask())).code).toBe('SOURCE_REDIRECTED');
    expect(tokens.asked).toHaveLength(2);
    await ask('second');
  });

  it('is replaced once the token server is back, with a try each five minutes', async () => {
    const ask = feeds();
    await ask();
    tokens.valid.clear();
    tokens.answer = (response) => sendJson(response, {}, 500);
    for (let i = 0; i < 60; i++) {
      await failureOf(ask());
      jest.advanceTimersByTime(minute);
    }
    expect(tokens.asked).toHaveLength(1 + 12);
    tokens.answer = null;
    await ask();
  });

  it('is not sent again if the token server repeats it', async () => {
    tokens.issue = () => 'always-the-same-token';
    const ask = feeds();
    await ask();
    wrong.add('first');
    await failureOf(ask());
    expect([tokens.asked.length, api.requests.length]).toEqual([2, 2]);
  });

  it('leaves the failure as it was if the next request fails in another way', async () => {
    const ask = feeds();
    await ask();
    tokens.valid.clear();
    wrong.add('first');
    refuse = (response) => (tokens.asked.length > 1 ? json({}, 503)(response) : redirect(response));
    expect((await failureOf(ask())).code).toBe('SOURCE_REDIRECTED');
  });

  it('is not shown, and neither is the next one', async () => {
    const ask = feeds();
    await ask();
    wrong.add('first');
    refuse = (response) => json({ message: `No: ${response.req.headers.authorization}` }, 400)(response);
    const { message } = await failureOf(ask());
    jest.advanceTimersByTime(5 * minute);
    const next = await failureOf(ask());
    expect(tokens.asked).toHaveLength(3);
    expect(JSON.stringify([message, next.message, lines])).not.toContain('issued-');
    expect(next.message).toContain('No: Bearer [redacted]');
  });

  it('may come from a command', async () => {
    const printed = path.join(folder(), 'token');
    const print = (token: string) => {
      writeFileSync(printed, token);
      tokens.valid.clear();
      tokens.valid.add(token);
    };
    print('first-token');
    const command = `echo run >> ${folder()}/runs; cat ${printed}`;
    const secret = new Rotation().command('tokenCommand', command, 'first-token', (value) => ({ value }));
    const ask = feeds({ grant: undefined, token: 'first-token', secret });
    await ask();
    print('second-token');
    await ask();
    wrong.add('first');
    for (let i = 0; i < 30; i++) {
      await failureOf(ask());
      jest.advanceTimersByTime(minute);
    }
    // After 0 minutes, at the first failure from 5 minutes on, and 5 and 10 minutes later.
    expect(readFileSync(path.join(folder(), 'runs'), 'utf8')).toBe('run\n'.repeat(4));
  });
});

it('a feed that fails every now and then asks the token server twelve times an hour at most', () => {
  const doubts = new TokenDoubts();
  let due = 0;
  for (let i = 0; i < 600; i++) {
    if (doubts.isDue({ hasWorked: true, isVain: false }, performance.now())) due++;
    jest.advanceTimersByTime(minute);
  }
  expect(due).toBe(120);
});
