import { renameSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { confluentRegistry } from '../../../src/avro/registry/confluent-registry';
import { loadConfig } from '../../../src/config/load-config';
import { refusalsOf } from '../../../src/consumer/refusals';
import { HighwaterError } from '../../../src/errors';
import { authority } from '../../support/certificates';
import { endsWithTest } from '../../support/ends';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server';
import { namedRows } from '../../support/named-rows';
import { quietLogger } from '../../support/source';
import { tempFolder } from '../../support/temp-folder';
import { clientId, startTokenServer, type TokenServer } from '../../support/token-server';

/** A registry that takes bearer tokens. */

const folder = tempFolder();
const secret = 'clientS3cret+/%42';
let tokens: TokenServer;
let server: HttpServer;
/** Status of the registry's answers to those that it admits. */
let status: number;

beforeEach(async () => {
  status = 200;
  tokens = await startTokenServer(secret);
  endsWithTest(() => tokens.stop());
  server = await startHttpServer((request, response) => {
    if (!tokens.admits(request)) sendJson(response, { message: `no: ${request.headers.authorization}` }, 401);
    else sendJson(response, { schema: '"string"', message: 'not yours' }, status);
  });
  endsWithTest(() => server.stop());
});

/** Each setting without its beginning: `TOKEN`. */
type Env = Readonly<Record<string, string>>;

function load(bearer: Env, others: Env = {}) {
  const named = Object.entries(bearer).map(([name, value]) => [`SCHEMA_REGISTRY_BEARER_AUTH_${name}`, value]);
  const address = { KAFKA_BROKERS: 'k:9092', SCHEMA_REGISTRY_URL: `${server.url}/apis/ccompat/v7` };
  const env = { ...address, ...Object.fromEntries(named), ...others };
  return loadConfig({ flags: {}, env, cwd: folder() }, 'whatever is set');
}

function registryOf(bearer: Env, others: Env = {}, timeoutMs = 20_000) {
  const { schemaRegistry } = load(bearer, others);
  return confluentRegistry(schemaRegistry!, { logger: quietLogger(), timeoutMs });
}

const client = (): Env => ({
  ISSUER_ENDPOINT_URL: tokens.url,
  CLIENT_ID: clientId,
  CLIENT_SECRET: secret,
});

function writeToken(token: string): void {
  const file = path.join(folder(), 'token');
  writeFileSync(`${file}.new`, `${token}\n`);
  renameSync(`${file}.new`, file);
}

it('a token that is set goes below the path of the address, with what Confluent Cloud asks for', async () => {
  tokens.valid.add('T0ken.of.old');
  const cloud = { LOGICAL_CLUSTER: 'lsrc-1', IDENTITY_POOL_ID: 'pool-2' };
  expect(await registryOf({ TOKEN: 'T0ken.of.old', ...cloud }).schemaById(1)).toBe('string');
  expect(server.requests).toMatchObject([
    {
      url: '/apis/ccompat/v7/schemas/ids/1',
      headers: {
        authorization: 'Bearer T0ken.of.old',
        'target-sr-cluster': 'lsrc-1',
        'confluent-identity-pool-id': 'pool-2',
      },
    },
  ]);
});

it('a token in a file is read again when it is refused, and the call is made again', async () => {
  writeToken('first-token');
  tokens.valid.add('second-token');
  const registry = registryOf({ TOKEN_FILE: 'token' });
  const refusal = await registry.schemaById(1).catch((error: unknown) => error);
  expect(refusal).toMatchObject({
    code: 'REGISTRY_UNAUTHORIZED',
    remedy: expect.stringContaining('SCHEMA_REGISTRY_BEARER_AUTH_'),
  });
  expect(String(refusal)).not.toContain('first-token');
  writeToken('second-token');
  expect(await registry.schemaById(1)).toBe('string');
});

it('all calls of a client share a token, and one that is revoked is replaced within the call', async () => {
  const registry = registryOf({ ...client(), SCOPE: 'schemas.read' });
  expect(tokens.asked).toHaveLength(0);
  await Promise.all([1, 2, 3].map((id) => registry.schemaById(id)));
  expect(tokens.asked.map(({ form }) => form.get('scope'))).toStrictEqual(['schemas.read']);
  tokens.valid.clear();
  expect(await registry.schemaById(4)).toBe('string');
  expect(tokens.asked).toHaveLength(2);
});

it('a client that may not do something gets no other token for it', async () => {
  const registry = registryOf(client());
  status = 403;
  await expect(registry.schemaById(1)).rejects.toMatchObject({ code: 'REGISTRY_UNAUTHORIZED' });
  expect([tokens.asked.length, server.requests.length]).toStrictEqual([1, 1]);
});

it('a refused client is named with the setting of its secret, and the secret is not said', async () => {
  const error = await registryOf({ ...client(), CLIENT_SECRET: 'S3cret of another' })
    .schemaById(1)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'REGISTRY_UNAUTHORIZED',
    message: expect.stringMatching(
      /POST .*\/oauth\/token answered 401 with invalid_client: No such client; .*"desk:1 \+".*SCHEMA_REGISTRY_BEARER_AUTH_CLIENT_SECRET$/,
    ),
  });
  expect(String(error)).not.toContain('S3cret');
  expect(server.requests).toHaveLength(0);
});

it.each([
  [{ CLIENT_SECRET_FILE: 'token' }, true],
  [{ CLIENT_SECRET: secret }, false],
])('a consumer outlives a refused client if its secret may be replaced: %j', (given, mayPass) => {
  writeToken(secret);
  const { CLIENT_SECRET: _, ...others } = client();
  const { kafka, rotation } = load({ ...others, ...given });
  const refused = new HighwaterError('REGISTRY_UNAUTHORIZED', 'no');
  expect(refusalsOf(kafka, rotation).mayPass(refused)).toBe(mayPass);
});

it('a token server in trouble is named, and is asked again', async () => {
  tokens.answer = (response, index) => {
    if (index < 3) sendJson(response, { error: 'server_error' }, 503);
    else sendJson(response, { access_token: 'issued-late' });
  };
  tokens.valid.add('issued-late');
  const registry = registryOf(client());
  await expect(registry.schemaById(1)).rejects.toMatchObject({
    code: 'REGISTRY_UNREACHABLE',
    message: expect.stringMatching(/POST .*\/oauth\/token answered 503 with server_error/),
  });
  expect(await registry.schemaById(1)).toBe('string');
});

it('a token server that does not answer is told from a registry that does not', async () => {
  tokens.answer = () => undefined;
  await expect(registryOf(client(), {}, 200).schemaById(1)).rejects.toMatchObject({
    code: 'REGISTRY_UNREACHABLE',
    message: expect.stringMatching(/within 200 ms, because the token server gave no token$/),
  });
});

it('the authorities of the registry are trusted at its token server', async () => {
  const ours = await authority('ours');
  const admits = (request: IncomingMessage) => request.headers.authorization === 'Bearer issued-by-tls';
  const { url, stop } = await startHttpServer(
    (request, response) => {
      if (request.url === '/token') sendJson(response, { access_token: 'issued-by-tls' });
      else sendJson(response, { schema: '"string"' }, admits(request) ? 200 : 401);
    },
    await ours.sign({ name: 'both' }),
  );
  endsWithTest(stop);
  const there = { ...client(), ISSUER_ENDPOINT_URL: `${url}/token` };
  await expect(registryOf(there).schemaById(1)).rejects.toMatchObject({
    code: 'REGISTRY_CERTIFICATE',
    message: expect.stringContaining('/token'),
  });
  writeFileSync(path.join(folder(), 'ca.pem'), ours.cert);
  const trusting = { SCHEMA_REGISTRY_URL: url, SCHEMA_REGISTRY_CA_FILE: 'ca.pem' };
  expect(await registryOf(there, trusting).schemaById(1)).toBe('string');
});

it.each(
  namedRows<[Env, Env, RegExp]>({
    'a client without its server': [
      { CLIENT_ID: 'me', CLIENT_SECRET: 'secret' },
      {},
      /schemaRegistryBearerAuthIssuerEndpointUrl.*is not set, .*since SCHEMA_REGISTRY_BEARER_AUTH_CLIENT_ID is set/,
    ],
    'a client without its secret': [
      { CLIENT_ID: 'me', ISSUER_ENDPOINT_URL: 'https://login.example' },
      {},
      /schemaRegistryBearerAuthClientSecret.*is not set/,
    ],
    'a scope alone': [{ SCOPE: 'read' }, {}, /schemaRegistryBearerAuthClientId.*since .*_SCOPE is set/],
    'a pool alone': [
      { IDENTITY_POOL_ID: 'p' },
      {},
      /schemaRegistryBearerAuthClientId.*since .*_POOL_ID is set/,
    ],
    'a pool that no header carries': [
      { TOKEN: 'token', IDENTITY_POOL_ID: 'päöl' },
      {},
      /schemaRegistryBearerAuthIdentityPoolId .*"päöl", expected printable ASCII/,
    ],
    'two logins': [
      { TOKEN: 'token' },
      { SCHEMA_REGISTRY_USERNAME: 'me', SCHEMA_REGISTRY_PASSWORD: 'secret' },
      /schemaRegistryBearerAuthToken .*and SCHEMA_REGISTRY_USERNAME are both set, expected one of them/,
    ],
    'a token with blanks': [{ TOKEN: 'two words' }, {}, /schemaRegistryBearerAuthToken .*printable ASCII/],
    'an address with a query': [
      { ISSUER_ENDPOINT_URL: 'https://login.example?a=b' },
      {},
      /schemaRegistryBearerAuthIssuerEndpointUrl .*without user, query or fragment/,
    ],
  }),
)('%s is a mistake that names the setting', (_, bearer, others, mistake) => {
  expect(() => load(bearer, others)).toThrow(mistake);
  expect(() => load(bearer, others)).not.toThrow(/two words/);
});
