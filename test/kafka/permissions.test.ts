import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { commandLine } from '../support/cli';
import { kafkaTools } from '../support/kafka-tools';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();
let server: Cluster;
let registryUrl = '';
let simulator: Simulator;
let prefix: string;
let asAdmin: (lines: string) => Promise<string>;

beforeAll(async () => {
  [server, { registryUrl }] = await Promise.all([startKafka({ secured: true }), sharedServers()]);
});
afterAll(() => server?.stop());
beforeEach(async () => {
  prefix = uniquePrefix();
  simulator = await startSimulator({ records: { insights: 0, analysts: 0, ipos: 50 } });
  asAdmin = await kafkaTools({ folder: folder(), login: server.users!.admin });
});
afterEach(() => simulator?.stop());

async function runOnce() {
  const { username, password } = server.users!.publisher;
  const env = {
    KAFKA_BROKERS: server.bootstrap,
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
    SCHEMA_REGISTRY_URL: registryUrl,
    HIGHWATER_TOPIC_PREFIX: prefix,
    HIGHWATER_APP_ID: `${prefix}app`,
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
  };
  const running = cli(['run', '--once', '--feeds', 'ipos'], { cwd: folder(), env });
  const { code } = await running.ended();
  return { code, said: running.stderr() };
}

it('the commands of docs/kafka-connection.md are all that a publisher needs', async () => {
  const page = readFileSync(path.join(__dirname, '..', '..', 'docs', 'kafka-connection.md'), 'utf8');
  const [, commands = ''] = /## Permissions[\s\S]*?```sh\n([\s\S]*?)```/.exec(page)!;
  const filled = commands
    .replaceAll('broker-1:9092', server.brokers[0]!.address)
    .replaceAll('User:highwater', `User:${server.users!.publisher.username}`)
    .replace(/--transactional-id \S+/g, `--transactional-id ${prefix}app:`)
    .replace(/--group \S+/g, `--group ${prefix}app:`)
    .replace(/--topic \S+/g, `--topic ${prefix}`);
  await asAdmin(filled);
  const { code, said } = await runOnce();
  expect(said).toMatch(/ipos: (first )?snapshot complete.*records=50/);
  expect(said).not.toMatch(/WARN|ERROR/);
  expect(code).toBe(0);
});

it('topics of which one may not be written are named, when a page needs it', async () => {
  const { username } = server.users!.publisher;
  const acls = `kafka-acls.sh --bootstrap-server ${server.brokers[0]!.address} --command-config client.properties --add`;
  const all = '--operation Create --operation Write --operation Read --operation DescribeConfigs';
  const who = `User:${username} --resource-pattern-type`;
  await asAdmin(`${acls} --allow-principal ${who} prefixed --topic ${prefix} ${all}`);
  await asAdmin(`${acls} --allow-principal ${who} prefixed --transactional-id ${prefix} --operation Write`);
  await asAdmin(`${acls} --allow-principal ${who} prefixed --group ${prefix} --operation Read`);
  await asAdmin(`${acls} --deny-principal ${who} literal --topic ${prefix}ipos --operation Write`);
  const { code, said } = await runOnce();

  expect(code).toBe(1);
  const topics = ['', '.current', '.source-offset'].map((name) => `${prefix}ipos${name}`);
  const [, refused = ''] = /do not allow WRITE on topic (.*), or on some of them/.exec(said) ?? [];
  expect(refused.split(', ')).toEqual(expect.arrayContaining(topics));
  const [, command = ''] = /do: .*?(kafka-acls\.sh .*)$/m.exec(said) ?? [];
  for (const topic of topics) expect(`${command} `).toContain(` --topic ${topic} `);
});

it('a publisher without any names what it lacks, one command after the other, until it publishes', async () => {
  const seen: string[] = [];
  for (let tries = 0; tries < 10; tries++) {
    const { code, said } = await runOnce();
    if (code === 0) break;
    expect(said).toContain('KAFKA_FORBIDDEN');
    const command = /do: .*?(kafka-acls\.sh .*)$/m.exec(said)?.[1];
    if (command === undefined) throw new Error(said);
    seen.push(/--operation (\w+) --([a-z-]+)/.exec(command)!.slice(1).join(' '));
    await asAdmin(command);
  }
  // IdempotentWrite is asked of users who may not write anywhere yet.
  expect(seen.filter((one) => one !== 'IdempotentWrite cluster')).toEqual([
    'Read group',
    'Describe topic',
    'Create topic',
    'Read topic',
    'Write transactional-id',
    'Write topic',
  ]);
});
