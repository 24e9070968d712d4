import type { ServerResponse } from 'node:http';
import { createApiClients } from '../../../src/runtime/api-clients';
import { Rotation } from '../../../src/secrets/rotation';
import type { Grant } from '../../../src/source/api-access';
import { authority } from '../../support/certificates';
import { endsWithTest } from '../../support/ends';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server';
import { namedRows } from '../../support/named-rows';
import { quietLogger } from '../../support/source';
import { clientId, startTokenServer, type TokenServer } from '../../support/token-server';
import { failureOf, feed, limits, never, page, server, stopAll } from './client-fixture';

const secret = 'clientS3cret+/% 42';
let tokens: TokenServer;
let api: HttpServer;
let closing: { close(): void }[];
/** Requests that the API answers together. */
let together: number;

beforeEach(async () => {
  tokens = await startTokenServer(secret);
  together = 1;
  const held: (() => void)[] = [];
  api = await server((request, response) => {
    held.push(() => {
      if (tokens.admits(request)) sendJson(response, { ipos: [] });
      else sendJson(response, { message: `refused ${request.headers.authorization}` }, 401);
    });
    if (held.length >= together) for (const answer of held.splice(0)) answer();
  });
  closing = [];
});
afterEach(async () => {
  for (const one of closing) one.close();
  await stopAll();
  await tokens.stop();
});

/** Clients of the feeds `first` and `second`, of the same grant at two addresses of an API, and of `other` with another grant. */
function clients(
  overrides: Partial<Grant> = {},
  within = limits,
  ca: string | null = null,
  maxConcurrent = 4,
) {
  const rotation = new Rotation();
  const grant: Grant = {
    ...{ id: 'grant', key: 'feeds.first.auth.clientSecretEnv', tokenUrl: tokens.url, clientId },
    ...{ scheme: 'oauth2', parameters: {}, clientAuth: 'basic', clientSecret: secret },
    hide: rotation.granted('tokenUrl'),
    ...overrides,
  };
  const access = { baseUrl: api.url, token: '', auth: { scheme: 'bearer' }, grant } as const;
  const feeds = new Map([
    ['first', access],
    ['second', { ...access, baseUrl: `${api.url}/v2` }],
    ['other', { ...access, grant: { ...grant, id: 'other grant' } }],
  ]);
  const budget = { requestsPerSecond: 1_000, maxConcurrent };
  const config = { access: feeds, lacking: new Map(), ca, budget, limits: within };
  const made = createApiClients(config, { logger: quietLogger() });
  closing.push(made);
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
