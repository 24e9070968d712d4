import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { confluentRegistry } from '../../../src/avro/registry/confluent-registry';
import { loadConfig } from '../../../src/config/load-config';
import { HighwaterError } from '../../../src/errors';
import { authority, encrypted } from '../../support/certificates';
import { endsWithTest } from '../../support/ends';
import { type HttpServer, startHttpServer } from '../../support/http-server';
import { quietLogger } from '../../support/source';

const folder = mkdtempSync(path.join(tmpdir(), 'highwater-'));
const file = (name: string) => path.join(folder, name);
let server: HttpServer | undefined;
let serverTls: { cert: string; key: string; ca: string };
beforeAll(async () => {
  const [ofServer, ofClients] = await Promise.all([authority('servers'), authority('clients')]);
  const own = await ofServer.sign({ name: 'registry' });
  const client = await ofClients.sign({ name: 'publisher' });
  writeFileSync(file('ca.pem'), ofServer.cert);
  writeFileSync(file('client.pem'), client.cert);
  writeFileSync(file('client-key.pem'), encrypted(client.key, 'open it'));
  serverTls = { ...own, ca: ofClients.cert };
  const tls = { ...serverTls, requestCert: true, rejectUnauthorized: false };
  server = await startHttpServer(({ url, socket }, response) => {
    // A path of it is only for clients with a certificate.
    const isKnown = (socket as unknown as { authorized: boolean }).authorized;
    response.statusCode = url?.startsWith('/closed') === true && !isKnown ? 401 : 200;
    response.end(JSON.stringify({ schema: '"string"', message: 'no' }));
  }, tls);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (...given: Parameters<typeof registryOf>) => registryOf(...given).schemaById(1);

function registryOf(base: string, env: Readonly<Record<string, string>>, at = server!) {
  const all = {
    KAFKA_BROKERS: 'k:9092',
    SCHEMA_REGISTRY_URL: `${at.url}${base}`,
    ...env,
  };
  const { schemaRegistry } = loadConfig({ flags: {}, env: all, cwd: folder }, 'whatever is set');
  return confluentRegistry(schemaRegistry!, { logger: quietLogger(), timeoutMs: 5_000 });
}

const ca = { SCHEMA_REGISTRY_CA_FILE: 'ca.pem' };
const own = {
  SCHEMA_REGISTRY_CERT_FILE: 'client.pem',
  SCHEMA_REGISTRY_KEY_FILE: 'client-key.pem',
  SCHEMA_REGISTRY_KEY_PASSWORD: 'open it',
};

it('a registry behind a private authority has a code of its own, which names the setting', async () => {
  const refusal = await ask('', {}).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(HighwaterError);
  expect(refusal).toMatchObject({
    code: 'REGISTRY_CERTIFICATE',
    kind: { retriable: false },
    remedy: expect.stringContaining('SCHEMA_REGISTRY_CA_FILE'),
  });
});

it('it is trusted once its authority is named', async () => {
  expect(await ask('', ca)).toBe('string');
  await expect(ask('/closed', ca)).rejects.toMatchObject({ code: 'REGISTRY_UNAUTHORIZED' });
});

it('it is shown the own certificate', async () => {
  expect(await ask('/closed', { ...ca, ...own })).toBe('string');
});

it('one that takes no client without a certificate has that code too', async () => {
  const strict = await startHttpServer(
    (_, response) => response.end(JSON.stringify({ schema: '"string"' })),
    { ...serverTls, requestCert: true, rejectUnauthorized: true },
  );
  endsWithTest(strict.stop);
  await expect(ask('', ca, strict)).rejects.toMatchObject({
    code: 'REGISTRY_CERTIFICATE',
    remedy: expect.stringContaining('SCHEMA_REGISTRY_CERT_FILE'),
  });
  expect(await ask('', { ...ca, ...own }, strict)).toBe('string');
});

describe('files that are replaced', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setTimeout', 'nextTick', 'setImmediate', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** In one step, as secrets are replaced; looked at by the next call. */
  function replace(name: string, text: string): void {
    writeFileSync(file(`${name}.new`), text);
    renameSync(file(`${name}.new`), file(name));
    jest.advanceTimersByTime(1_000);
  }

  it('are read again by a registry that is in use: authority, certificate and key', async () => {
    const [servers, clients] = await Promise.all([authority('servers'), authority('clients')]);
    const shown = await servers.sign({ name: 'registry' });
    const [first, second] = [await clients.sign({ name: 'first' }), await clients.sign({ name: 'second' })];
    const seen: string[] = [];
    const strict = await startHttpServer(
      ({ socket }, response) => {
        seen.push((socket as TLSSocket).getPeerCertificate().subject.CN as string);
        response.end(JSON.stringify({ schema: '"string"' }));
      },
      { ...shown, ca: clients.cert, requestCert: true },
    );
    endsWithTest(strict.stop);
    writeFileSync(file('live-ca.pem'), clients.cert);
    writeFileSync(file('live.pem'), first.cert);
    writeFileSync(file('live-key.pem'), first.key);
    const live = {
      SCHEMA_REGISTRY_CA_FILE: 'live-ca.pem',
      SCHEMA_REGISTRY_CERT_FILE: 'live.pem',
      SCHEMA_REGISTRY_KEY_FILE: 'live-key.pem',
    };
    const registry = registryOf('', live, strict);
    await expect(registry.schemaById(1)).rejects.toMatchObject({ code: 'REGISTRY_CERTIFICATE' });
    replace('live-ca.pem', servers.cert);
    expect(await registry.schemaById(1)).toBe('string');
    // Between the two files nothing fits, and what was before is used.
    replace('live.pem', second.cert);
    expect(await registry.schemaById(2)).toBe('string');
    replace('live-key.pem', second.key);
    expect(await registry.schemaById(3)).toBe('string');
    expect(seen).toStrictEqual(['first', 'first', 'second']);
  });
});

it('mistakes in its files are named by its own settings', () => {
  const wrong = { ...ca, ...own, SCHEMA_REGISTRY_KEY_PASSWORD: 'another' };
  expect(() => ask('', wrong)).toThrow(/does not open the key in SCHEMA_REGISTRY_KEY_FILE/);
  expect(() => ask('', { SCHEMA_REGISTRY_CERT_FILE: 'client.pem' })).toThrow(/SCHEMA_REGISTRY_KEY_FILE/);
});
