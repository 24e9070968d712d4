import { getEventListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import {
  type ConfluentRegistryOptions,
  confluentRegistry,
} from '../../../src/avro/registry/confluent-registry';
import type { AvroSchema, SchemaRegistry } from '../../../src/avro/registry/registry';
import { checkSchemas } from '../../../src/cli/doctor/schemas';
import type { Config } from '../../../src/config/load-config';
import { HighwaterError } from '../../../src/errors';
import { ipos } from '../../../src/feeds/ipos';
import { failureOf } from '../../support/failure';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server';
import { namedRows } from '../../support/named-rows';
import { quietLogger } from '../../support/source';
import { until } from '../../support/until';

/** A registry's answers by method and path; other paths are unknown to it. */
type Script = Record<string, readonly [status: number, body: unknown]>;

const schema: AvroSchema = { type: 'record', name: 'A', fields: [] };
const wider: AvroSchema = {
  type: 'record',
  name: 'A',
  fields: [{ name: 'sic', type: ['null', 'long'], default: null }],
};
const absent = [404, { error_code: 40401, message: 'Subject not found.' }] as const;
const version1 = { subject: 'a-value', id: 7, version: 1, schema: JSON.stringify(schema) };
const password = 'p4ss/w0rd+';

let server: HttpServer;
const logger = quietLogger();

beforeEach(() => {
  logger.warnings.length = 0;
});
afterEach(() => server.stop());

async function serve(answer: (request: IncomingMessage, response: ServerResponse, index: number) => void) {
  server = await startHttpServer(answer);
}

const requests: string[] = [];
async function serveScript(script: Script): Promise<void> {
  requests.length = 0;
  await serve((request, response) => {
    void text(request).then((body) => {
      const key = `${request.method} ${request.url}`;
      requests.push(`${key}${body === '' || request.method === 'POST' ? '' : ` ${body}`}`);
      const [status, value] = script[key] ?? absent;
      sendJson(response, value, status);
    });
  });
}

function registry(
  options: Partial<ConfluentRegistryOptions> & { registration?: 'register' | 'lookup' } = {},
): SchemaRegistry {
  const { registration = 'register', ...rest } = options;
  const auth = { username: 'publisher', password };
  return confluentRegistry(
    { url: `${server.url}/base`, auth, registration },
    { logger, timeoutMs: 1_000, ...rest },
  );
}

const register = (options: Parameters<typeof registry>[0] = {}) =>
  registry(options).register('a-value', schema);

const badAnswers = namedRows<[code: string, message: RegExp, answer: (response: ServerResponse) => void]>({
  'never answers': ['REGISTRY_UNREACHABLE', /no answer within 1000 ms/, () => {}],
  'sends its answer byte by byte': [
    'REGISTRY_UNREACHABLE',
    /no answer within 1000 ms/,
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    },
  ],
  'resets the connection': ['REGISTRY_UNREACHABLE', /ECONNRESET|hang up/, (r) => r.socket?.resetAndDestroy()],
  'breaks off in the middle': [
    'REGISTRY_UNREACHABLE',
    /no answer \(/,
    (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"id":');
      setImmediate(() => response.destroy());
    },
  ],
  'says that it is not well': [
    'REGISTRY_UNREACHABLE',
    /answered 503: leader unknown/,
    (response) => sendJson(response, { error_code: 50003, message: 'leader unknown' }, 503),
  ],
  'has too much to do': ['REGISTRY_UNREACHABLE', /answered 429/, (response) => sendJson(response, {}, 429)],
  'does not know the user': [
    'REGISTRY_UNAUTHORIZED',
    /answered 401: no such user/,
    (response) => sendJson(response, { error_code: 401, message: 'no such user' }, 401),
  ],
  'does not let the user in': [
    'REGISTRY_UNAUTHORIZED',
    /answered 403/,
    (response) => sendJson(response, { message: 'denied' }, 403),
  ],
  'refuses with words': [
    'REGISTRY_REFUSED',
    /answered 422: Invalid schema/,
    (response) => sendJson(response, { error_code: 42201, message: 'Invalid schema' }, 422),
  ],
  'is a page for people': [
    'REGISTRY_REFUSED',
    /answered 200: text\/html: <html>Log in/,
    (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>Log in');
    },
  ],
  'is another server, which does not have the path': [
    'REGISTRY_REFUSED',
    /answered 404/,
    (response) => sendJson(response, { error_code: 404, message: 'HTTP 404 Not Found' }, 404),
  ],
  'leads elsewhere': [
    'REGISTRY_REFUSED',
    /answered 302: a redirect to .*elsewhere, which is not followed/,
    (response) => {
      response.writeHead(302, { location: `${server.url}/elsewhere` });
      response.end();
    },
  ],
  'has no id': [
    'REGISTRY_REFUSED',
    /as no registry does: (id|compatibilityLevel): /,
    (response) => sendJson(response, {}),
  ],
  'has an id that is none': [
    'REGISTRY_REFUSED',
    /as no registry does: (id|compatibilityLevel): /,
    (response) => sendJson(response, { id: 2 ** 32, version: 1 }),
  ],
  'says null': ['REGISTRY_REFUSED', /as no registry does: /, (response) => sendJson(response, 'null')],
  'fails and says null': [
    'REGISTRY_UNREACHABLE',
    /answered 500: application\/json: null/,
    (response) => sendJson(response, 'null', 500),
  ],
});

describe('a registry that is not well', () => {
  it('is one that is not there', async () => {
    await serve(() => {});
    await server.stop();

    expect(await failureOf(register())).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is not taken for one that lacks a schema when some other server answers 404', async () => {
    await serve((_request, response) => sendJson(response, { error_code: 404, message: 'Not Found' }, 404));

    const one = registry({ registration: 'lookup' });

    expect(await failureOf(one.register('a-value', schema))).toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect(await failureOf(one.schemaById(7))).toMatchObject({ code: 'REGISTRY_REFUSED' });
  });

  it('is asked a few times more when it stumbles', async () => {
    await serve((request, response, index) => {
      if (index === 0) response.socket?.resetAndDestroy();
      else if (index === 1) sendJson(response, {}, 500);
      else if (request.method === 'POST') sendJson(response, { id: 7, version: 1 });
      else sendJson(response, { compatibilityLevel: 'FULL_TRANSITIVE' });
    });

    expect(await register()).toBe(7);
    expect(server.requests).toHaveLength(4);
  });

  it('many calls at once have one listener on the signal of the program', async () => {
    await serve(() => undefined);
    const stop = new AbortController();
    const asked = registry({ signal: stop.signal });
    const calls = Array.from({ length: 15 }, (_, i) => asked.schemaById(i + 1));

    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);

    stop.abort(new Error('the program ends'));
    for (const call of calls) await expect(call).rejects.toThrow('the program ends');
  });
});

/** Healthy, except for the requests that `broken` names, which get `answer`. */
async function serveBroken(broken: string, answer: (response: ServerResponse, body: string) => void) {
  requests.length = 0;
  await serve((request, response) => {
    const key = `${request.method} ${request.url}`;
    requests.push(key);
    void text(request).then((body) => {
      if (key === broken) answer(response, body);
      else if (key === 'POST /base/subjects/a-value/versions') sendJson(response, { id: 7 });
      else if (key.startsWith('PUT')) sendJson(response, {});
      else if (key.includes('/config')) sendJson(response, { compatibilityLevel: 'FULL_TRANSITIVE' });
      else sendJson(response, absent[1], 404);
    });
  });
}

describe.each([
  'POST /base/subjects/a-value',
  'POST /base/subjects/a-value/versions',
  'GET /base/config/a-value',
])('a registry that is well, up to the request %s,', (broken) => {
  it.each(badAnswers)('and then %s: %s', async (_, code, message, answer) => {
    await serveBroken(broken, answer);

    const error = await failureOf(register());

    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(broken.replace('/base', `${server.url}/base`));
    const isRepeated = code === 'REGISTRY_UNREACHABLE' && !error.message.includes('within');
    expect(requests.filter((each) => each === broken)).toHaveLength(isRepeated ? 3 : 1);
    expect(requests.every((each) => each.includes(' /base/'))).toBe(true);
  });

  it('is left at once when the program ends', async () => {
    const stop = new AbortController();
    await serveBroken(broken, () => stop.abort(new Error('the program ends')));

    await expect(register({ signal: stop.signal, timeoutMs: 60_000 })).rejects.toThrow('the program ends');
  });

  it('has no connection open to us after that', async () => {
    let isClosed = false;
    await serveBroken(broken, (response) => {
      response.on('close', () => {
        isClosed = true;
      });
    });

    expect(await failureOf(register())).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    await until(() => isClosed);
  });

  it('gets the password, and never makes us show it, whatever it sends back', async () => {
    await serveBroken(broken, (response) => {
      const sent = response.req.headers.authorization!;
      const login = Buffer.from(sent.slice('Basic '.length), 'base64').toString();
      sendJson(response, { message: `${login} ${sent} ${encodeURIComponent(login)}` }, 400);
    });

    const error = await failureOf(register());

    expect(error.message).toContain('publisher:[redacted]');
    const shown = inspect(error, { depth: null, showHidden: true });
    for (const trace of [password, encodeURIComponent(password), btoa(`publisher:${password}`)])
      expect(shown).not.toContain(trace);
  });
});

describe('registration', () => {
  const inVersion1: Script = {
    'GET /base/subjects/a-value/versions': [200, [1]],
    'GET /base/subjects/a-value/versions/1': [200, version1],
  };
  const strict = [200, { compatibilityLevel: 'FULL_TRANSITIVE' }] as const;

  it('sets the level of a new subject before its first version', async () => {
    await serveScript({
      'PUT /base/config/a-value': [200, { compatibility: 'FULL_TRANSITIVE' }],
      'GET /base/config/a-value': strict,
      'POST /base/subjects/a-value/versions': [200, { id: 7 }],
    });

    expect(await register()).toBe(7);
    expect(requests).toEqual([
      'POST /base/subjects/a-value',
      'GET /base/subjects/a-value/versions',
      'PUT /base/config/a-value {"compatibility":"FULL_TRANSITIVE"}',
      'GET /base/config/a-value',
      'POST /base/subjects/a-value/versions',
    ]);
  });

  it('sets it behind the first version where the server knows existing subjects only', async () => {
    let isThere = false;
    await serve((request, response) => {
      if (request.method === 'PUT' && isThere) sendJson(response, {});
      else if (request.url === '/base/subjects/a-value/versions' && request.method === 'POST') {
        isThere = true;
        sendJson(response, { id: 7 });
      } else sendJson(response, absent[1], 404);
    });

    expect(await register()).toBe(7);
    expect(server.requests.at(-1)?.url).toBe('/base/config/a-value');
  });

  it('sets it at the next try when the server fails right behind the first version', async () => {
    let isThere = false;
    let level = 'NONE';
    let refusals = 3;
    await serve((request, response) => {
      const key = `${request.method} ${request.url}`;
      if (key === 'POST /base/subjects/a-value/versions') {
        isThere = true;
        sendJson(response, { id: 7 });
      } else if (!isThere) sendJson(response, absent[1], 404);
      else if (key === 'POST /base/subjects/a-value') sendJson(response, version1);
      else if (request.method === 'GET') sendJson(response, { compatibilityLevel: level });
      else if (refusals-- > 0) sendJson(response, {}, 503);
      else {
        level = 'FULL_TRANSITIVE';
        sendJson(response, {});
      }
    });
    const one = registry();

    expect(await failureOf(one.register('a-value', schema))).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    expect(await one.register('a-value', schema)).toBe(7);
    expect(level).toBe('FULL_TRANSITIVE');
    expect(logger.warnings).toStrictEqual([]);
  });

  it('posts exactly the schema, with the attributes of ours', async () => {
    const marked = { ...(schema as object), fields: [{ name: 'pt', type: 'string', decimalText: true }] };
    let posted = '';
    await serveBroken('POST /base/subjects/a-value/versions', (response, body) => {
      posted = body;
      sendJson(response, { id: 7 });
    });

    expect(await registry().register('a-value', marked)).toBe(7);
    expect(JSON.parse(posted)).toEqual({ schema: JSON.stringify(marked) });
  });

  it('reaches a subject whatever stands in its name', async () => {
    const subject = 'a/b c?d{e}$&ü-value';
    const path = `/base/subjects/${encodeURIComponent(subject)}`;
    await serveScript({
      [`PUT ${path.replace('subjects', 'config')}`]: [200, {}],
      [`GET ${path.replace('subjects', 'config')}`]: strict,
      [`POST ${path}/versions`]: [200, { id: 7 }],
    });

    expect(await registry().register(subject, schema)).toBe(7);
  });

  it.each<[string, Script]>([
    [
      'its own',
      { 'GET /base/config/a-value?defaultToGlobal=true': [200, { compatibilityLevel: 'BACKWARD' }] },
    ],
    ['the default of the server', { 'GET /base/config': [200, { compatibilityLevel: 'backward' }] }],
  ])('adds a version to a subject with a weaker level, %s, and leaves the level', async (_, level) => {
    await serveScript({
      ...inVersion1,
      ...level,
      'POST /base/subjects/a-value/versions': [200, { id: 8 }],
    });

    expect(await registry().register('a-value', wider)).toBe(8);
    expect(requests.filter((each) => each.startsWith('PUT'))).toStrictEqual([]);
    expect(logger.warnings).toHaveLength(1);
  });

  it('tries again when somebody lowers the level in between', async () => {
    const levels = ['FULL_TRANSITIVE', 'NONE'];
    await serve((request, response) => {
      const key = `${request.method} ${request.url}`;
      if (key === 'GET /base/subjects/a-value/versions') sendJson(response, [1]);
      else if (key === 'GET /base/subjects/a-value/versions/1') sendJson(response, version1);
      else if (key === 'POST /base/subjects/a-value/versions') sendJson(response, { id: 8 });
      else if (key.includes('/config'))
        sendJson(response, { compatibilityLevel: levels.length > 1 ? levels.shift() : levels[0] });
      else sendJson(response, absent[1], 404);
    });

    expect(await registry().register('a-value', wider)).toBe(8);
    expect(logger.warnings).toEqual(['The registry holds a-value to NONE only.']);
  });

  it('registers nothing where a new subject does not keep the level that was set', async () => {
    await serveScript({
      'PUT /base/config/a-value': [200, {}],
      'GET /base/config/a-value': [200, { compatibilityLevel: 'BACKWARD' }],
      'POST /base/subjects/a-value/versions': [200, { id: 7 }],
    });

    expect(await failureOf(register())).toMatchObject({
      code: 'REGISTRY_REFUSED',
      message: expect.stringMatching(/a-value.*another level.*FULL_TRANSITIVE != BACKWARD/),
    });
    expect(requests).not.toContain('POST /base/subjects/a-value/versions');
  });

  it('refuses a schema without a name, which the library does not take', async () => {
    await serveBroken('', () => {});

    expect(await failureOf(registry().register('a-value', 'string'))).toMatchObject({
      code: 'SCHEMA_INCOMPATIBLE',
      message: expect.stringMatching(/a-value: it cannot be registered: Invalid name/),
    });
  });

  it('registers nothing when the level of the new subject cannot be set', async () => {
    await serveScript({
      'PUT /base/config/a-value': [403, { message: 'not yours' }],
      'POST /base/subjects/a-value/versions': [200, { id: 7 }],
    });

    expect(await failureOf(register())).toMatchObject({ code: 'REGISTRY_UNAUTHORIZED' });
    expect(requests).not.toContain('POST /base/subjects/a-value/versions');
  });

  it('asks no more than twice for what is registered, and changes nothing', async () => {
    await serveScript({
      'POST /base/subjects/a-value': [200, version1],
      'GET /base/config/a-value?defaultToGlobal=true': strict,
    });

    expect(await register()).toBe(7);
    expect(requests).toEqual([
      'POST /base/subjects/a-value',
      'GET /base/config/a-value?defaultToGlobal=true',
    ]);
    expect(logger.warnings).toStrictEqual([]);
  });

  it.each<[string, Script]>([
    ['its own', { 'GET /base/config/a-value?defaultToGlobal=true': [200, { compatibilityLevel: 'NONE' }] }],
    ['the default of the server', { 'GET /base/config': [200, { compatibilityLevel: 'backward' }] }],
  ])('warns once of a subject that is there with a weaker level, %s', async (_, level) => {
    await serveScript({ 'POST /base/subjects/a-value': [200, version1], ...level });
    const one = registry();

    expect(await one.register('a-value', schema)).toBe(7);
    expect(await one.register('a-value', schema)).toBe(7);

    expect(logger.warnings).toEqual([
      expect.stringMatching(/^The registry holds a-value to (NONE|BACKWARD) only\.$/),
    ]);
    expect(requests.filter((each) => each.startsWith('PUT'))).toStrictEqual([]);
  });

  it('raises the weaker level when it is told to', async () => {
    await serveScript({
      'POST /base/subjects/a-value': [200, version1],
      'GET /base/config/a-value?defaultToGlobal=true': [200, { compatibilityLevel: 'NONE' }],
      'PUT /base/config/a-value': [200, {}],
    });

    expect(await register({ weakerLevel: 'raise' })).toBe(7);
    expect(requests.at(-1)).toBe('PUT /base/config/a-value {"compatibility":"FULL_TRANSITIVE"}');
    expect(logger.warnings).toStrictEqual([]);
  });

  it('refuses by itself what a server with a weaker level would take', async () => {
    await serveScript({
      ...inVersion1,
      'GET /base/config/a-value?defaultToGlobal=true': [200, { compatibilityLevel: 'NONE' }],
      'POST /base/subjects/a-value/versions': [200, { id: 8 }],
    });
    const broken = { ...(schema as object), fields: [{ name: 'sic', type: 'long' }] };

    expect(await failureOf(registry().register('a-value', broken))).toMatchObject({
      code: 'SCHEMA_INCOMPATIBLE',
      message: expect.stringMatching(/a-value.*version 1.*field sic/),
    });
    expect(requests).not.toContain('POST /base/subjects/a-value/versions');
  });

  it('takes a lasting 409 for a refusal, with the words of the server', async () => {
    await serveScript({
      ...inVersion1,
      'GET /base/config/a-value?defaultToGlobal=true': strict,
      'POST /base/subjects/a-value/versions': [409, { error_code: 409, message: 'does not suit me' }],
    });

    expect(await failureOf(registry().register('a-value', wider))).toMatchObject({
      code: 'SCHEMA_INCOMPATIBLE',
      message: expect.stringMatching(/a-value.*409.*does not suit me/),
    });
  });

  it('finds by lookup what another publisher registered at the same moment', async () => {
    let isThere = false;
    await serve((request, response) => {
      const key = `${request.method} ${request.url}`;
      if (key === 'POST /base/subjects/a-value' && isThere) sendJson(response, { id: 7, version: 1 });
      else if (key === 'POST /base/subjects/a-value/versions') {
        isThere = true;
        sendJson(response, { error_code: 409, message: 'already exists' }, 409);
      } else if (key.startsWith('PUT')) sendJson(response, {});
      else if (key.includes('/config')) sendJson(response, strict[1]);
      else sendJson(response, absent[1], 404);
    });

    expect(await register()).toBe(7);
  });

  it.each<[string, Script, RegExp]>([
    ['no subject', {}, /has no subject a-value/],
    ['other versions only', inVersion1, /none of the versions of a-value/],
  ])('only looks up, when it is to, and finds %s', async (_, script, message) => {
    await serveScript(script);
    const looking = registry({ registration: 'lookup' }).register('a-value', wider);

    const error = await failureOf(looking);

    expect(error).toMatchObject({ code: 'SCHEMA_UNREGISTERED', message: expect.stringMatching(message) });
    expect(error.remedy).toContain('highwater schemas register');
    expect(requests.every((each) => each.startsWith('GET') || each === 'POST /base/subjects/a-value')).toBe(
      true,
    );
  });

  it('asks once for what it only has to look up', async () => {
    await serveScript({ 'POST /base/subjects/a-value': [200, version1] });

    expect(await register({ registration: 'lookup' })).toBe(7);
    expect(requests).toEqual(['POST /base/subjects/a-value']);
  });
});

describe('a registry that is away when a feed is acquired again', () => {
  it('is not needed for what it has told, and is for what it has not', async () => {
    await serveScript({ 'POST /base/subjects/a-value': [200, version1] });
    const known = registry({ registration: 'lookup' });
    expect(await known.register('a-value', schema)).toBe(7);
    await server.stop();

    expect(await known.register('a-value', schema)).toBe(7);
    expect(logger.warnings).toEqual([expect.stringContaining('ids that it gave before are used')]);
    expect((await failureOf(known.register('a-value', wider))).code).toBe('REGISTRY_UNREACHABLE');
    expect((await failureOf(known.register('b-value', schema))).code).toBe('REGISTRY_UNREACHABLE');
    // With a registry that hangs, each question takes its whole time, so one question must be enough for many subjects.
    expect(await known.register('a-value', schema)).toBe(7);
    expect(logger.warnings).toHaveLength(1);
  });

  it('is believed when it refuses', async () => {
    let refuses = false;
    await serve((_, response) =>
      refuses ? sendJson(response, { message: 'denied' }, 403) : sendJson(response, version1),
    );
    const known = registry({ registration: 'lookup' });
    await known.register('a-value', schema);
    refuses = true;
    expect((await failureOf(known.register('a-value', schema))).code).toBe('REGISTRY_UNAUTHORIZED');
  });
});

describe('a schema by its id', () => {
  it('is fetched once, however many ask at once, and again after a failure', async () => {
    await serve((_request, response, index) => {
      if (index === 0) sendJson(response, { message: 'not now' }, 400);
      else sendJson(response, { schema: JSON.stringify(schema) });
    });
    const one = registry();

    expect(await failureOf(one.schemaById(7))).toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect(await Promise.all([one.schemaById(7), one.schemaById(7)])).toEqual([schema, schema]);
    expect(await one.schemaById(7)).toEqual(schema);

    expect(server.requests.map(({ url }) => url)).toEqual(['/base/schemas/ids/7', '/base/schemas/ids/7']);
  });

  it.each([
    ['of another kind', { schemaType: 'PROTOBUF', schema: 'syntax = "proto3";' }],
    ['that is no JSON', { schema: '{"type":' }],
  ])('is refused %s', async (_, body) => {
    await serve((_request, response) => sendJson(response, body));

    expect(await failureOf(registry().schemaById(7))).toMatchObject({ code: 'REGISTRY_REFUSED' });
  });
});

it('a password in the address, as programs may give it, stays out of errors', async () => {
  await serve(({ headers }, response) => sendJson(response, { message: headers.authorization }, 500));
  const url = server.url.replace('http://', `http://publisher:${encodeURIComponent(password)}@`);
  const inAddress = confluentRegistry(
    { url, auth: null, registration: 'lookup' },
    { logger, timeoutMs: 1_000 },
  );
  const error = await inAddress.schemaById(1).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HighwaterError);
  expect(server.requests[0]!.headers.authorization).toBe(`Basic ${btoa(`publisher:${password}`)}`);
  const said = inspect(error);
  for (const trace of [password, encodeURIComponent(password), btoa(`publisher:${password}`)])
    expect(said).not.toContain(trace);
});

it.each([
  [7_200_000, 'warning', /answers; the clock of this machine is 2 h ahead of the registry's/],
  [-7_200_000, 'warning', /2 h behind the registry's/],
  [0, 'ok', /answers$/],
])(
  'doctor compares the own clock with the Date of its answers (%d ms ahead)',
  async (aheadMs, state, found) => {
    await serve((_, response) => {
      response.setHeader('Date', new Date(Date.now() - aheadMs).toUTCString());
      sendJson(response, absent[1], 404);
    });
    const config = {
      feeds: [ipos],
      topicPrefix: '',
      appId: 'highwater',
      schemaRegistry: {},
    } as unknown as Config;
    const open = { registry: registry(), place: server.url, close: async () => undefined };
    for await (const check of checkSchemas(config, open)) {
      expect(check).toMatchObject({ check: 'registry', state, found: expect.stringMatching(found) });
      break;
    }
  },
);
