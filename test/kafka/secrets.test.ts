import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { type CarelessApi, startCarelessApi } from '../support/careless-api';
import { type Authority, authority, encrypted } from '../support/certificates';
import { type CliProcess, commandLine, nodePrograms } from '../support/cli';
import { publisherLog } from '../support/kafka-world';
import { readAll } from '../support/log-records';
import { filesUnder, findSecrets, markedSecret, type Place } from '../support/marked-secrets';
import { type RegistryFront, startRegistryFront } from '../support/registry-front';
import { sharedServers, uniquePrefix } from '../support/servers';
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

let registry: RegistryFront;
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
  const front = await startRegistryFront(registryUrl, registryPassword.value);
  [kafka, api, registry] = [cluster, careless, front];
});
afterAll(() => Promise.all([kafka?.stop(), api?.server.stop(), registry?.stop()]));

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
  const log = publisherLog(kafka.bootstrap, prefix);
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
