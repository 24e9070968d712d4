import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { createApiClients } from '../../../src/runtime/api-clients';
import { Rotation } from '../../../src/secrets/rotation';
import { TokenDoubts } from '../../../src/secrets/token-doubt';
import type { ApiAccess, Grant } from '../../../src/source/api-access';
import { authority } from '../../support/certificates';
import { endsWithTest } from '../../support/ends';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server';
import { namedRows } from '../../support/named-rows';
import { quietLogger } from '../../support/source';
import { tempFolder } from '../../support/temp-folder';
import { clientId, startTokenServer, type TokenServer } from '../../support/token-server';
import { failureOf, feed, limits, never, page, server, stopAll } from './client-fixture';

const secret = 'clientS3cret+/% 42';
let tokens: TokenServer;
let api: HttpServer;
let closing: { close(): void }[];
/** The answer to a request without a valid token. */
let refuse: (response: ServerResponse) => void;
/** Feeds that get that answer with any token. */
let wrong: Set<string>;
/** Requests that the API answers together. */
let together: number;
/** What the clients have logged. */
let lines: unknown[][];

beforeEach(async () => {
  tokens = await startTokenServer(secret);
  refuse = (response) =>
    sendJson(response, { message: `refused ${response.req.headers.authorization}` }, 401);
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
  for (const one of closing) one.close();
  await stopAll();
  await tokens.stop();
});

function grantOf(rotation: Rotation, overrides: Partial<Grant> = {}): Grant {
  return {
    ...{ id: 'grant', key: 'feeds.first.auth.clientSecretEnv', tokenUrl: tokens.url, clientId },
    ...{ scheme: 'oauth2', parameters: {}, clientAuth: 'basic', clientSecret: secret },
    hide: rotation.granted('tokenUrl'),
    ...overrides,
  };
}

function clientsOf(
  access: ReadonlyMap<string, ApiAccess>,
  within = limits,
  ca: string | null = null,
  maxConcurrent = 4,
) {
  const budget = { requestsPerSecond: 1_000, maxConcurrent };
  const config = { access, lacking: new Map(), ca, budget, limits: within };
  const info = (...line: unknown[]) => void lines.push(line);
  const made = createApiClients(config, { logger: { ...quietLogger(), info } });
  closing.push(made);
  return made;
}

/** Clients of the feeds `first` and `second`, of the same grant at two addresses of an API, and of `other` with another grant. */
function clients(
  overrides: Partial<Grant> = {},
  ...more: [within?: typeof limits, ca?: string | null, maxConcurrent?: number]
) {
  const rotation = new Rotation();
  const grant = grantOf(rotation, overrides);
  const access = { baseUrl: api.url, token: '', auth: { scheme: 'bearer' }, grant } as const;
  const feeds = new Map([
    ['first', access],
    ['second', { ...access, baseUrl: `${api.url}/v2` }],
    ['other', { ...access, grant: { ...grant, id: 'other grant' } }],
  ]);
  const made = clientsOf(feeds, ...more);
  const ask = (name = 'first') => made.of(name).fetchPage({ ...feed, name }, page, never);
  return { ask, known: rotation.known };
}

it.each(['basic', 'body'] as const)(
  'a client proves itself by %s, with id and secret encoded',
  async (clientAuth) => {
    const parameters = { resource: 'https://api.example/' };
    const { ask } = clients({ clientAuth, scope: 'read write', audience: 'api', parameters });
    await ask();
    const [{ form, authorization } = { form: null }] = tokens.asked;
    const proof = clientAuth === 'body' ? { client_id: clientId, client_secret: secret } : {};
    const asked = { grant_type: 'client_credentials', scope: 'read write', audience: 'api', ...parameters };
    expect(Object.fromEntries(form!)).toEqual({ ...asked, ...proof });
    expect(authorization?.slice(0, 5)).toBe(clientAuth === 'basic' ? 'Basic' : undefined);
  },
);

it('two feeds that ask at once fetch one token and share it', async () => {
  const { ask } = clients();
  await Promise.all([ask('first'), ask('second'), ask('first')]);
  await ask('second');
  expect(tokens.asked).toHaveLength(1);
});

it('feeds of another client at the same API have a token and a request budget of their own', async () => {
  const { ask } = clients({}, limits, null, 1);
  // The API answers once it has a request of each.
  together = 2;
  await Promise.all([ask('first'), ask('other')]);
  expect(tokens.asked).toHaveLength(2);
});

it('a secret that is refused is read again at once', async () => {
  const rotation = new Rotation();
  let content = secret;
  const { ask } = clients({
    secret: rotation.file('clientSecretFile', 'none', secret, () => ({ value: content })),
  });
  await ask();
  content = tokens.secret = 'the-next-secret';
  tokens.valid.clear();
  await ask();
  expect(tokens.asked).toHaveLength(3);
});

it.each<[string, Record<string, unknown>]>([
  ['0', { expires_in: 0 }],
  ['a negative number', { expires_in: -5 }],
  ['a text', { expires_in: '3600' }],
  ['a decimal number', { expires_in: 3600.5 }],
  ['something else', { expires_in: 'soon' }],
  ['missing', { expires_in: undefined }],
  ['a number, and the type BearerToken', { expires_in: 3600, token_type: 'BearerToken' }],
  ['a number, and there is no type', { expires_in: 3600, token_type: undefined }],
])('a token whose expires_in is %s is kept until the API refuses it', async (_, members) => {
  tokens.members = members;
  const { ask } = clients();
  await ask();
  await ask();
  expect(tokens.asked).toHaveLength(1);
  tokens.valid.clear();
  await ask();
  expect(tokens.asked).toHaveLength(2);
  expect(api.requests).toHaveLength(4);
});

it('a token that lives for a second is renewed no more often than once a second', async () => {
  tokens.members = { expires_in: 1 };
  const { ask } = clients();
  const began = performance.now();
  while (tokens.asked.length < 3) await ask();
  const seconds = (performance.now() - began) / 1_000;
  expect(seconds).toBeGreaterThan(1.9);
  expect(tokens.asked.length).toBeLessThanOrEqual(seconds + 1);
});

it('an API that refuses each token fails the feed, without a loop of token requests', async () => {
  const { ask } = clients();
  tokens.members = { access_token: 'never-valid-sesame-never' };
  for (const name of ['first', 'second', 'first']) {
    const error = await failureOf(ask(name));
    expect(error.code).toBe('SOURCE_UNAUTHORIZED');
    expect(error.message).not.toContain('sesame');
  }
  expect(tokens.asked).toHaveLength(2);
});

it('a feed whose token was revoked by the fetch of another goes on', async () => {
  const { ask } = clients();
  together = 2;
  await Promise.all([ask('first'), ask('second')]);
  for (let round = 0; round < 3; round++) {
    tokens.valid.clear();
    await Promise.all([ask('first'), ask('second')]);
  }
  expect(tokens.asked).toHaveLength(4);
});

const endless = (response: ServerResponse) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write('x'.repeat(10_000)), 1);
  response.on('close', () => clearInterval(timer));
};
const html = { 'content-type': 'text/html' };
const passing = namedRows<[(response: ServerResponse) => void, RegExp]>({
  'answers 500': [(response) => sendJson(response, '<h1>Oh no</h1>', 500, html), /500 with <h1>Oh no<\/h1>/],
  'has too many requests': [(response) => sendJson(response, {}, 429, { 'retry-after': '0' }), /429 with/],
  'refuses for now': [(response) => sendJson(response, {}, 403, { 'retry-after': '0' }), /403 with/],
  'names a passing error': [(response) => sendJson(response, { error: 'server_error' }, 400), /server_error/],
  'sends a web page': [(response) => sendJson(response, '<h1>Hi</h1>', 200, html), /no access_token in/],
  'sends null': [(response) => sendJson(response, 'null'), /no access_token in/],
  'leaves the token out': [
    (response) => sendJson(response, { id_token: 'abcd-sesame' }),
    /no access_token in/,
  ],
  'breaks the line': [
    (response) => sendJson(response, { access_token: 'abc\r\nsesame' }),
    /no header can carry/,
  ],
  'gives another type': [
    (response) => sendJson(response, { access_token: 'abcd-sesame', token_type: 'MAC' }),
    /type MAC/,
  ],
  redirects: [(response) => response.writeHead(307, { location: '/x' }).end(), /307 with a redirect to \/x/],
  'hangs up': [(response) => response.destroy(), /got no answer/],
  'sends without end': [endless, /more than 65536 bytes/],
  'is silent': [() => {}, /took longer than 300 ms|sent nothing for 300 ms/],
});

it.each(passing)('a token server that %s is named, and asked again', async (_, answer, said) => {
  tokens.answer = answer;
  const { ask } = clients({}, { ...limits, timeoutMs: 300 });
  const error = await failureOf(ask());
  expect(error.code).toBe('SOURCE_TOKEN_UNAVAILABLE');
  expect(error.message).toMatch(said);
  expect(error.message).toContain(`first: POST ${tokens.url}`);
  expect(error.message).not.toMatch(/sesame|S3cret/);
  expect(tokens.asked).toHaveLength(limits.retry.attempts);
  expect(api.requests).toHaveLength(0);
  tokens.answer = null;
  await ask();
});

it("the API's authorities count for the token server, too", async () => {
  const ours = await authority('ours');
  const signed = await ours.sign({ name: 'token server' });
  const secure = await startHttpServer((_, response) => {
    tokens.valid.add('issued-over-tls');
    sendJson(response, { access_token: 'issued-over-tls' });
  }, signed);
  endsWithTest(secure.stop);
  const tokenUrl = `${secure.url}/token`;
  const error = await failureOf(clients({ tokenUrl }).ask());
  expect(error).toMatchObject({ code: 'SOURCE_CERTIFICATE', message: expect.stringContaining(tokenUrl) });
  await clients({ tokenUrl }, limits, ours.cert).ask();
});

it('a pause that the token server asks for counts for all feeds', async () => {
  tokens.answer = (response) => sendJson(response, {}, 429, { 'retry-after': '3000' });
  const { ask } = clients();
  for (const name of ['first', 'second']) await failureOf(ask(name));
  expect(tokens.asked).toHaveLength(1);
});

it.each([
  ['invalid_client', 401],
  ['invalid_scope', 400],
  ['bad_verification_code', 200],
])('%s with status %i parks the feed by name', async (code, status) => {
  const basic = () => tokens.asked[0]!.authorization!.slice(6);
  tokens.answer = (response) => {
    const error_description = `Not ${secret} or ${basic()} ${'long '.repeat(99)}`;
    sendJson(response, { error: code, error_description }, status);
  };
  const { ask } = clients();
  const error = await failureOf(ask());
  expect([error.code, error.kind.parks]).toEqual(['SOURCE_TOKEN_REFUSED', true]);
  expect(error.message).toContain(`answered ${status} with ${code}: Not [redacted] or [redacted] long`);
  expect(error.message).toContain(`the client is "${clientId}", and its secret comes from feeds.first.auth`);
  expect(error.message).not.toMatch(/S3cret/);
  expect(error.message).not.toContain(basic());
  expect(error.message.length).toBeLessThan(400);
  // Another feed does not ask at once.
  await failureOf(ask('second'));
  expect(tokens.asked).toHaveLength(1);
});

it('the tokens of before stay hidden, also when the API repeats one', async () => {
  const { ask, known } = clients();
  await ask();
  tokens.valid.clear();
  await ask();
  const shown = known.filter((token) => token.startsWith('issued-'));
  expect(shown).toHaveLength(2);
  tokens.valid.clear();
  tokens.answer = (response) => sendJson(response, { access_token: 'repeated-sesame-token', expires_in: 60 });
  const error = await failureOf(ask());
  expect(error.message).toContain('refused Bearer [redacted]');
});

describe('a token that may be over', () => {
  const minute = 60_000;
  const names = ['first', 'second', 'third'];
  const folder = tempFolder();

  beforeEach(() => {
    jest.useFakeTimers({
      doNotFake: ['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask', 'Date'],
    });
    tokens.members = { expires_in: undefined };
  });
  afterEach(() => void jest.useRealTimers());

  /** The feeds `first`, `second` and `third` of one client, each at a path of its name. */
  function feeds(overrides: Partial<ApiAccess> = {}) {
    const access: ApiAccess = {
      ...{ baseUrl: api.url, token: '', auth: { scheme: 'bearer' }, grant: grantOf(new Rotation()) },
      ...overrides,
    };
    const made = clientsOf(new Map(names.map((name) => [name, access])));
    return (name = 'first') => made.of(name).fetchPage({ ...feed, name, path: `/${name}` }, page, never);
  }

  const json =
    (value: unknown, status = 200) =>
    (response: ServerResponse) =>
      sendJson(response, value, status);
  const redirect = (response: ServerResponse) => response.writeHead(302, { location: '/login' }).end();
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
      expect(lines.filter(([message]) => message === 'asking with a new token')).toHaveLength(
        isPlain ? 0 : 3,
      );
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
});
