import { Kafka as Client, logLevel, type Producer } from 'kafkajs';
import type { ConsumerLog } from '../../src/log/consumer-log';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { CoordinatorLink } from '../../src/log/kafka/group/coordinator';
import { type Broker, type Kafka, startKafka } from '../../tools/servers/kafka';
import { createTopics } from '../support/create-topics';
import { said, startMember, type TestMember } from '../support/group-members';
import { groupPartition, type PartitionLeaders, partitionLeaders } from '../support/partition-leaders';
import { uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const PARTITIONS = 6;
let server: Kafka;
let leaders: PartitionLeaders;
let prefix: string;
let producer: Producer;
const logs: ConsumerLog[] = [];

const topic = () => `${prefix}events`;
const values = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `k ${from + i}`).sort();
const client = () => new Client({ brokers: server.bootstrap.split(','), logLevel: logLevel.NOTHING });

beforeAll(async () => {
  server = await startKafka({ brokers: 3 });
  leaders = partitionLeaders(server.bootstrap);
});
afterAll(() => server?.stop());

beforeEach(async () => {
  prefix = uniquePrefix();
  const admin = client().admin();
  await admin.connect();
  const spec = { topic: topic(), numPartitions: PARTITIONS, replicationFactor: 3 };
  await createTopics(admin, [spec]);
  await admin.disconnect();
  producer = client().producer({ allowAutoTopicCreation: false, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
});

afterEach(async () => {
  await producer.disconnect();
  await Promise.all(logs.splice(0).map((log) => log.close()));
});

const config = (brokers: readonly string[]) =>
  ({ brokers, ssl: null, sasl: null, compression: 'none' }) as const;

function start(groupId: string): TestMember {
  const kafka = config(server.bootstrap.split(','));
  const log = openKafkaConsumerLog({ kafka, appId: 'test', topicPrefix: prefix, logger: quietLogger() });
  logs.push(log);
  return startMember(log, { groupId, topics: [topic()], sessionTimeoutMs: 30_000 });
}

async function send(from: number, to: number): Promise<void> {
  const messages = Array.from({ length: to - from }, (_, i) => ({
    key: 'k',
    value: String(from + i),
    partition: (from + i) % PARTITIONS,
  }));
  await producer.send({ topic: topic(), messages });
}

async function coordinatorOf(groupId: string): Promise<Broker> {
  const nodeId = await leaders.leaderOf(groupPartition(groupId));
  return server.brokers.find(({ id }) => id === nodeId)!;
}

it('a coordinator that is killed costs members no place, and nothing is lost or repeated', async () => {
  const groupId = `${prefix}desk`;
  const members = [start(groupId), start(groupId)];
  await until(() => members.every(({ held }) => held.size === 3));
  await send(0, 60);
  const handled = () => members.reduce((sum, one) => sum + one.handled.length, 0);
  await until(() => handled() === 60);
  const given = members.flatMap(({ held }) => [...held.values()]);
  const coordinator = await coordinatorOf(groupId);
  await coordinator.kill();
  try {
    await until(async () => {
      await send(60, 120).catch(() => undefined);
      return handled() >= 120;
    });
  } finally {
    await coordinator.restart();
  }
  expect(new Set(said(...members))).toEqual(new Set(values(0, 120)));
  expect(members.flatMap(({ failures }) => failures)).toStrictEqual([]);
  expect(given.map(({ revoked }) => revoked.aborted)).toEqual(given.map(() => false));
});

it('a broker that hangs holds up nobody who looks for another one', async () => {
  const [first, second, third] = server.brokers as [Broker, Broker, Broker];
  let groupId = `${prefix}desk`;
  // The brokers keep groups from the first one on.
  const one = start(groupId);
  await until(() => one.held.size === PARTITIONS);
  while ((await coordinatorOf(groupId)).id === first.id) groupId += '+';
  const kafka = kafkaClient(config([second.address, third.address]), 'test', quietLogger());
  const connection = new CoordinatorLink(kafka, groupId);
  first.freeze();
  try {
    const began = performance.now();
    await connection.connect();
    // A client that waits for a hanging broker waits at least 4 s.
    expect(performance.now() - began).toBeLessThan(3_500);
  } finally {
    first.thaw();
    connection.drop();
  }
  await leaders.inSync();
});
