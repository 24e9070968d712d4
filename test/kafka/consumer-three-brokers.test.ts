import type { Producer } from 'kafkajs';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { CoordinatorLink } from '../../src/log/kafka/group/coordinator';
import { type Broker, startKafka } from '../../tools/servers/kafka';
import { createTopics } from '../support/create-topics';
import { numbers, said, saidOf, startMember, type TestMember } from '../support/group-members';
import { asAdmin, kafkaWorld, plainKafka } from '../support/kafka-world';
import { groupPartition, type PartitionLeaders, partitionLeaders } from '../support/partition-leaders';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const PARTITIONS = 6;
const kafka = kafkaWorld(() => startKafka({ brokers: 3 }));
let leaders: PartitionLeaders;
let producer: Producer;

const topic = () => `${kafka.prefix()}events`;

beforeEach(async () => {
  leaders = partitionLeaders(kafka.brokers());
  const spec = { topic: topic(), numPartitions: PARTITIONS, replicationFactor: 3 };
  await asAdmin(kafka.brokers(), (admin) => createTopics(admin, [spec]));
  producer = kafka
    .client()
    .producer({ allowAutoTopicCreation: false, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
});

afterEach(() => producer.disconnect());

const start = (groupId: string): TestMember =>
  startMember(kafka.consumerLog(), { groupId, topics: [topic()], sessionTimeoutMs: 30_000 });

const send = (from: number, to: number) =>
  producer.send({ topic: topic(), messages: numbers(from, to, PARTITIONS) });

async function coordinatorOf(groupId: string): Promise<Broker> {
  const nodeId = await leaders.leaderOf(groupPartition(groupId));
  return kafka.server().brokers.find(({ id }) => id === nodeId)!;
}

it('a coordinator that is killed costs members no place, and nothing is lost or repeated', async () => {
  const groupId = `${kafka.prefix()}desk`;
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
  expect(new Set(said(...members))).toEqual(new Set(saidOf(0, 120)));
  expect(members.flatMap(({ failures }) => failures)).toStrictEqual([]);
  expect(given.map(({ revoked }) => revoked.aborted)).toEqual(given.map(() => false));
});

it('a broker that hangs holds up nobody who looks for another one', async () => {
  const [first, second, third] = kafka.server().brokers as [Broker, Broker, Broker];
  let groupId = `${kafka.prefix()}desk`;
  // The brokers keep groups from the first one on.
  const one = start(groupId);
  await until(() => one.held.size === PARTITIONS);
  while ((await coordinatorOf(groupId)).id === first.id) groupId += '+';
  const others = kafkaClient(plainKafka(`${second.address},${third.address}`), 'test', quietLogger());
  const connection = new CoordinatorLink(others, groupId);
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
