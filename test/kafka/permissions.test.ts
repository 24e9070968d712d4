import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startKafka } from '../../tools/servers/kafka';
import { commandLine, outcome } from '../support/cli';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();
const { server, prefix, env: onKafka } = kafkaWorld(() => startKafka({ secured: true }), { registry: true });
const api = simulatedApi({ ipos: 50 });
let asAdmin: (lines: string) => Promise<string>;

beforeEach(async () => {
  asAdmin = await kafkaTools({ folder: folder(), login: server().users!.admin });
});

async function runOnce() {
  const { username, password } = server().users!.publisher;
  const env = {
    ...onKafka(),
    ...apiEnv(api()),
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
    HIGHWATER_APP_ID: `${prefix()}app`,
  };
  return outcome(cli(['run', '--once', '--feeds', 'ipos'], { cwd: folder(), env }));
}

it('the commands of docs/kafka-connection.md are all that a publisher needs', async () => {
  const page = readFileSync(path.join(__dirname, '..', '..', 'docs', 'kafka-connection.md'), 'utf8');
  const [, commands = ''] = /## Permissions[\s\S]*?```sh\n([\s\S]*?)```/.exec(page)!;
  const filled = commands
    .replaceAll('broker-1:9092', server().brokers[0]!.address)
    .replaceAll('User:highwater', `User:${server().users!.publisher.username}`)
    .replace(/--transactional-id \S+/g, `--transactional-id ${prefix()}app:`)
    .replace(/--group \S+/g, `--group ${prefix()}app:`)
    .replace(/--topic \S+/g, `--topic ${prefix()}`);
  await asAdmin(filled);
  const { code, said } = await runOnce();
  expect(said).toMatch(/ipos: (first )?snapshot complete.*records=50/);
  expect(said).not.toMatch(/WARN|ERROR/);
  expect(code).toBe(0);
});

it('topics of which one may not be written are named, when a page needs it', async () => {
  const { username } = server().users!.publisher;
  const acls = `kafka-acls.sh --bootstrap-server ${server().brokers[0]!.address} --command-config client.properties --add`;
  const all = '--operation Create --operation Write --operation Read --operation DescribeConfigs';
  const who = `User:${username} --resource-pattern-type`;
  await asAdmin(`${acls} --allow-principal ${who} prefixed --topic ${prefix()} ${all}`);
  await asAdmin(`${acls} --allow-principal ${who} prefixed --transactional-id ${prefix()} --operation Write`);
  await asAdmin(`${acls} --allow-principal ${who} prefixed --group ${prefix()} --operation Read`);
  await asAdmin(`${acls} --deny-principal ${who} literal --topic ${prefix()}ipos --operation Write`);
  const { code, said } = await runOnce();

  expect(code).toBe(1);
  const topics = ['', '.current', '.source-offset'].map((name) => `${prefix()}ipos${name}`);
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
