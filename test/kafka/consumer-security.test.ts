import { Kafka, logLevel } from 'kafkajs';
import type { AssignedPartition, ConsumerLog } from '../../src/log/consumer-log';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { type Kafka as Cluster, startKafka, type User } from '../../tools/servers/kafka';
import { createTopics } from '../support/create-topics';
import { startMember } from '../support/group-members';
import { kafkaTools } from '../support/kafka-tools';
import { collect, deadline } from '../support/log-records';
import { uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** kafkajs renews a session 10 s before its end. */
const SESSION_MS = 12_000;
const folder = tempFolder();
let server: Cluster;
let prefix: string;
/** Number of attempts to rejoin a group. */
let retaken: number;
let warnings: string[];
let asAdmin: (lines: string) => Promise<string>;
const logs: ConsumerLog[] = [];

beforeAll(async () => {
  server = await startKafka({ secured: true, properties: { 'connections.max.reauth.ms': SESSION_MS } });
});
afterAll(() => server?.stop());
beforeEach(async () => {
  prefix = uniquePrefix();
  retaken = 0;
  warnings = [];
  asAdmin = await kafkaTools({ folder: folder(), login: server.users!.admin });
  const admin = await connectAdmin();
  await createTopics(admin, [{ topic: topic(), numPartitions: 2 }]);
  await admin.disconnect();
});
afterEach(() => Promise.all(logs.splice(0).map((log) => log.close())));

const topic = () => `${prefix}events`;
const group = () => `${prefix}desk`;
const plain = (user: User) => ({ mechanism: 'plain' as const, ...user });

async function connectAdmin() {
  const sasl = plain(server.users!.admin);
  const admin = new Kafka({ brokers: [server.bootstrap], sasl, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  return admin;
}

function open(user: User): ConsumerLog {
  const kafka = {
    brokers: [server.bootstrap],
    ssl: null,
    sasl: plain(user),
    compression: 'none',
  } as const;
  const debug = (message: string): void => {
    if (message.startsWith('the place in the group')) retaken++;
  };
  const log = openKafkaConsumerLog({
    kafka,
    appId: 'test',
    topicPrefix: prefix,
    logger: { ...quietLogger(), debug, warn: (message) => warnings.push(message) },
  });
  logs.push(log);
  return log;
}

const start = (user = server.users!.publisher) =>
  startMember(open(user), { groupId: group(), topics: [topic()] });

function allow(operation: string, on: string): Promise<string> {
  const tool = `kafka-acls.sh --bootstrap-server ${server.bootstrap} --command-config client.properties`;
  const { username } = server.users!.publisher;
  return asAdmin(`${tool} --add --allow-principal User:${username} --operation ${operation} ${on}`);
}

async function send(values: readonly string[]): Promise<void> {
  const sasl = plain(server.users!.admin);
  const producer = new Kafka({
    brokers: [server.bootstrap],
    sasl,
    logLevel: logLevel.NOTHING,
  }).producer();
  await producer.connect();
  const messages = values.map((value, partition) => ({ key: 'k', value, partition }));
  await producer.send({ topic: topic(), messages });
  await producer.disconnect();
}

it('a refused password ends a member', async () => {
  const { over } = start({ ...server.users!.publisher, password: 'wrong' }).member;
  await expect(over).rejects.toMatchObject({ code: 'KAFKA_UNAUTHENTICATED' });
});

it('permissions that are missing are named one after the other, with the command that gives them', async () => {
  const refused = async (what: string, command: string) =>
    expect(start().member.over).rejects.toMatchObject({
      code: 'KAFKA_FORBIDDEN',
      message: expect.stringContaining(what),
      remedy: expect.stringContaining(command),
    });
  await refused(`READ on consumer group ${group()}`, `--operation Read --group ${group()}`);
  await allow('Read', `--group ${group()}`);
  // A member that may not see a topic would wait for it for ever.
  await refused(`READ on topic ${topic()}`, `--operation Read --topic ${topic()}`);
  await allow('Describe', `--topic ${topic()}`);
  const seeing = start();
  await until(() => seeing.failures.length === 2);
  expect(seeing.failures[0]).toMatchObject({
    code: 'KAFKA_FORBIDDEN',
    message: expect.stringContaining(topic()),
  });
  await seeing.member.leave();
  await expect(collect(open(server.users!.publisher).follow(topic(), new Map(), deadline()))).rejects.toThrow(
    `READ on topic ${topic()}`,
  );
  await allow('Read', `--topic ${topic()}`);
  await send(['1', '2']);
  const reading = start();
  await until(() => reading.handled.length === 2);
});

it('a leader that may not see the topic of another member says so, and divides the others', async () => {
  const hidden = `${prefix}hidden`;
  const admin = await connectAdmin();
  await createTopics(admin, [{ topic: hidden, numPartitions: 1 }]);
  await admin.disconnect();
  await allow('Read', `--group ${group()} --topic ${topic()}`);
  const leader = start();
  await until(() => leader.held.size === 2);
  const other = startMember(open(server.users!.admin), { groupId: group(), topics: [topic(), hidden] });
  await until(() => other.held.size === 1 && leader.held.size === 1);
  expect(warnings).toContainEqual(expect.stringContaining(hidden));
  await send(['1', '2']);
  await until(() => leader.handled.length + other.handled.length === 2);
  expect([...leader.failures, ...other.failures]).toStrictEqual([]);

  // A member that may see it assigns it once it is the leader.
  await leader.member.leave();
  await until(() => other.has().includes(`${hidden} 0`));
});

it('a member keeps its place and goes on committing while its session with the brokers is renewed', async () => {
  await allow('Read', `--group ${group()} --topic ${topic()}`);
  const failures: unknown[] = [];
  const given: AssignedPartition[] = [];
  const { over } = open(server.users!.publisher).joinGroup({
    groupId: group(),
    topics: [topic()],
    sessionTimeoutMs: 30_000,
    async work(partition) {
      given.push(partition);
      while (!partition.revoked.aborted) {
        await partition.commit(0).catch((error: unknown) => failures.push(error));
      }
    },
  });
  over.catch((error: unknown) => failures.push(error));
  await until(() => given.length === 2);
  retaken = 0;
  const since = performance.now();
  // Longer than a session lasts.
  await until(() => performance.now() - since > SESSION_MS + 3_000);
  expect(failures).toStrictEqual([]);
  expect(retaken).toBe(0);
  expect(given.map(({ revoked }) => revoked.aborted)).toEqual([false, false]);
});
