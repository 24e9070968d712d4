import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { type CarelessApi, startCarelessApi } from '../support/careless-api';
import { type Authority, authority, encrypted } from '../support/certificates';
import { type CliProcess, commandLine, nodePrograms } from '../support/cli';
import { readAll } from '../support/log-records';
import { everySpelling, filesUnder, findSecrets, markedSecret, type Place } from '../support/marked-secrets';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

type Env = Readonly<Record<string, string>>;

const cli = commandLine();
const program = nodePrograms();
const folder = tempFolder();

const token = markedSecret('HIGHWATER_API_TOKEN');
// Brokers are told it in a file in which quotes and backslashes mean something.
const saslPassword = markedSecret('KAFKA_SASL_PASSWORD', '/+%&=?<~');
const wrongPassword = markedSecret('a wrong KAFKA_SASL_PASSWORD');
const keyPassword = markedSecret('KAFKA_SSL_KEY_PASSWORD');
const registryPassword = markedSecret('SCHEMA_REGISTRY_PASSWORD');
const secrets = [token, saslPassword, wrongPassword, keyPassword, registryPassword];

/** The registry behind a login that takes one password, or that repeats it in an error. */
let registry: { readonly url: string; repeats: boolean; readonly server: Server };
let kafka: Cluster;
let api: CarelessApi;
let ours: Authority;

beforeAll(async () => {
  ours = await authority('ours');
  const tls = { server: await ours.sign({ name: 'broker' }), clientCa: ours.cert };
  const users = [{ username: 'highwater', password: saslPassword.value }];
  const [cluster, { registryUrl }, careless] = await Promise.all([
    startKafka({ listeners: { both: { tls, login: { mechanisms: ['PLAIN', 'SCRAM-SHA-512'], users } } } }),
    sharedServers(),
    startCarelessApi(),
  ]);
  [kafka, api, registry] = [cluster, careless, await startRegistryFront(registryUrl)];
});
afterAll(async () => {
  registry?.server.closeAllConnections();
  await Promise.all([kafka?.stop(), api?.server.stop(), registry?.server.close()]);
});

async function startRegistryFront(behind: string) {
  let spoken = 0;
  const front = { url: '', repeats: false };
  const server = createServer(async (request, response) => {
    const [, login = ''] = (request.headers.authorization ?? '').split(' ');
    const password = Buffer.from(login, 'base64')
      .toString()
      .replace(/^[^:]*:/, '');
    if (front.repeats || password !== registryPassword.value) {
      const spellings = [login, ...everySpelling(password)];
      response.writeHead(front.repeats ? 500 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: spellings[spoken++ % spellings.length], error_code: 50_001 }));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', url = '' } = request;
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const answer = await fetch(`${behind}${url}`, { method, headers, ...body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(front, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server });
}

async function environment(prefix: string): Promise<Env> {
  const { cert, key } = await ours.sign({ name: 'client' });
  const texts = { CA: ours.cert, CERT: cert, KEY: encrypted(key, keyPassword.value) };
  const files = Object.entries(texts).map(([name, text]) => {
    const file = path.join(folder(), `${name}.pem`);
    writeFileSync(file, text);
    return [`KAFKA_SSL_${name}_FILE`, file];
  });
  return {
    HIGHWATER_API_TOKEN: token.value,
    HIGHWATER_API_URL: api.address(prefix),
    KAFKA_BROKERS: kafka.brokers[0]!.listeners.both!,
    KAFKA_SSL_KEY_PASSWORD: keyPassword.value,
    KAFKA_SASL_USERNAME: 'highwater',
    KAFKA_SASL_PASSWORD: saslPassword.value,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    ...Object.fromEntries(files),
    SCHEMA_REGISTRY_USERNAME: 'highwater',
    SCHEMA_REGISTRY_PASSWORD: registryPassword.value,
    SCHEMA_REGISTRY_URL: registry.url,
    HIGHWATER_TOPIC_PREFIX: prefix,
    HIGHWATER_APP_ID: `${prefix}app`,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_POLL_INTERVAL: '100ms',
    HIGHWATER_REQUEST_TIMEOUT: '300ms',
    HIGHWATER_RETRY_TIME: '400ms',
    HIGHWATER_LOG_LEVEL: 'debug',
    HIGHWATER_LOG_FORMAT: 'json',
  };
}

const printed = (name: string, process: CliProcess): Place[] => [
  { name: `stdout of ${name}`, content: process.stdout() },
  { name: `stderr of ${name}`, content: process.stderr() },
];

/** Keys, values and headers of every topic of the cluster, without Kafka's internal topics. */
async function topicsOf(prefix: string): Promise<Place[]> {
  const admin = new Kafka({ brokers: [kafka.bootstrap], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const names = (await admin.listTopics().finally(() => admin.disconnect())).filter(
    (name) => !name.startsWith('__'),
  );
  const log = openKafkaLog({
    kafka: { brokers: [kafka.bootstrap], ssl: null, sasl: null, compression: 'none' },
    appId: 'test',
    topicPrefix: prefix,
    logger: quietLogger(),
  });
  const records = await readAll(log, names).finally(() => log.close());
  return records.map(({ topic, key, value, headers }) => ({
    name: topic,
    content: Buffer.concat([Buffer.from(`${key}${JSON.stringify(headers)}`), value ?? Buffer.alloc(0)]),
  }));
}

const consumerProgram = `
const { connect } = require(process.env.DIST + '/consumer');
const { KAFKA_SASL_PASSWORD, KAFKA_BROKERS, SCHEMA_REGISTRY_URL, SCHEMA_REGISTRY_PASSWORD, HIGHWATER_TOPIC_PREFIX } = process.env;
const { KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE, KAFKA_SSL_KEY_PASSWORD } = process.env;
const text = (file) => require('node:fs').readFileSync(file, 'utf8');
const login = 'highwater:' + encodeURIComponent(SCHEMA_REGISTRY_PASSWORD) + '@';
const log = process.argv[2] !== 'options' ? connect() : connect({
  kafka: {
    brokers: [KAFKA_BROKERS],
    sasl: { mechanism: 'plain', username: 'highwater', password: KAFKA_SASL_PASSWORD },
    ssl: { ca: text(KAFKA_SSL_CA_FILE), cert: text(KAFKA_SSL_CERT_FILE), key: text(KAFKA_SSL_KEY_FILE), passphrase: KAFKA_SSL_KEY_PASSWORD },
  },
  schemaRegistry: { url: SCHEMA_REGISTRY_URL.replace('http://', 'http://' + login) },
  topicPrefix: HIGHWATER_TOPIC_PREFIX,
});
(async () => {
  for await (const event of log.read('ipos')) console.dir(event, { depth: 9 });
  await log.close();
})();
`;

it('secrets stay out of topics, of what is printed and of files, with a login, TLS and a registry that fails (I10)', async () => {
  const prefix = uniquePrefix();
  const env = await environment(prefix);
  const cwd = folder();
  const places: Place[] = [];
  async function done(args: readonly string[], own: Env = {}, start = cli): Promise<CliProcess> {
    const process = start(args, { cwd, env: { ...env, ...own } });
    await process.ended();
    places.push(...printed(args.join(' '), process));
    return process;
  }
  const file = path.join(cwd, 'program.cjs');
  writeFileSync(file, consumerProgram);

  const publisher = cli(['run'], { cwd, env });
  await until(() => api.asked(prefix) >= 8);
  const backfill = ['backfill', 'analysts', '--from', '2024-01-01', '--to', '2024-01-02', '--json'];
  await Promise.all([done(backfill), done(['status', '--json'])]);
  publisher.signal('SIGTERM');
  await publisher.ended();
  places.push(...printed('run', publisher));
  await Promise.all([
    done(['tail', 'ipos', '--no-follow', '--json']),
    done(['doctor', '--json', '--feeds', 'ipos'], { KAFKA_SASL_PASSWORD: wrongPassword.value }),
    done(['run', '--once', '--feeds', 'ipos'], {
      KAFKA_SASL_PASSWORD: wrongPassword.value,
      KAFKA_SASL_MECHANISM: 'plain',
    }),
  ]);
  expect(places.some(({ content }) => String(content).includes('KAFKA_UNAUTHENTICATED'))).toBe(true);

  const [good] = [await done([file], {}, program)];
  expect(good.stdout()).toContain('[redacted]');
  registry.repeats = true;
  const failing = await Promise.all([
    done(['doctor', '--feeds', 'ipos']),
    done(['run', '--once', '--feeds', 'ipos']),
    done(['schemas', 'check']),
    done([file], {}, program),
    done([file, 'options'], {}, program),
  ]);
  for (const one of failing) expect(one.stdout() + one.stderr()).toContain('answered 500');

  const topics = await topicsOf(prefix);
  const names = new Set(topics.map(({ name }) => name.slice(prefix.length)));
  expect([...names]).toEqual(expect.arrayContaining(['ipos', 'ipos.source-offset', 'ipos.dead-letters']));
  const files = filesUnder(cwd);
  expect(findSecrets(secrets, [...places, ...topics, ...files])).toStrictEqual([]);
});
