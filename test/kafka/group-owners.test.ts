import { type Consumer, Kafka, logLevel } from 'kafkajs';
import type { CommitLog } from '../../src/log/commit-log';
import { type KafkaConfig, kafkaClient } from '../../src/log/kafka/connection/client';
import { examineGroup } from '../../src/log/kafka/group/examine-group';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedTopics } from '../../src/log/topics';
import { createTopics } from '../support/create-topics';
import { testFeed } from '../support/feeds';
import { deadline } from '../support/log-records';
import { type ProxiedKafka, startProxiedKafka } from '../support/proxied-kafka';
import { uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const sessionTimeoutMs = 6_000;
let kafka: ProxiedKafka;
let prefix: string;
/** How often members were given their places. */
let settled: number;
let consumer: Consumer | null = null;
const logs: CommitLog[] = [];

beforeAll(async () => {
  kafka = await startProxiedKafka();
});
afterAll(() => kafka?.stop());
beforeEach(() => {
  prefix = uniquePrefix();
  settled = 0;
});
afterEach(async () => {
  await Promise.all(logs.splice(0).map((log) => log.close()));
  await consumer?.disconnect();
  consumer = null;
});

function config(broker: string): KafkaConfig {
  return { brokers: [broker], ssl: null, sasl: null, compression: 'none', sessionTimeoutMs };
}

function open(brokers: string): CommitLog {
  const counting = (message: string): void => {
    if (/^(This instance|the group has settled)/.test(message)) settled++;
  };
  const logger = { ...quietLogger(), info: counting, debug: counting };
  const log = openKafkaLog({ kafka: config(brokers), appId: 'test', topicPrefix: prefix, logger });
  logs.push(log);
  return log;
}

/** An instance that can publish feed `ipos`. */
const start = (instance: string) =>
  open(kafka.direct).join([feedTopics(testFeed('ipos'), prefix)], { instance, isGuest: false });

function examine() {
  const cluster = config(kafka.direct);
  return examineGroup({
    kafka: kafkaClient(cluster, 'test', quietLogger()),
    cluster,
    groupId: `test:${prefix}owners`,
    sessionTimeoutMs,
    signal: deadline(),
  });
}

it.each(['request', 'answer'] as const)(
  'who has a feed is asked again when the connection breaks over it, at the %s',
  async (where) => {
    await start('a').grant('ipos', deadline());
    const watch = kafka.proxy.cut({ api: 'FindCoordinator', where, every: 1, times: 2 });
    const owners = await open(kafka.brokers).owners(['ipos'], deadline());
    expect([...owners]).toEqual([['ipos', 'a']]);
    expect(watch.met()).toBeGreaterThanOrEqual(2);
    watch.remove();
  },
);

it('one that has a feed is told from one that waits, and nobody joins again for the question', async () => {
  const a = start('a');
  const grant = await a.grant('ipos', deadline());
  start('b');
  // The feeds are assigned again when the second member joins.
  await until(() => settled === 3);
  expect(await examine()).toEqual([
    { instance: 'a', feeds: ['ipos'] },
    { instance: 'b', feeds: [] },
  ]);
  // A member learns by its next sign of life that it has to join again.
  expect(await grant.confirm(deadline())).toBe(true);
  expect(settled).toBe(3);
});

it('consumers that are in the group have no feed', async () => {
  const client = new Kafka({ brokers: [kafka.direct], logLevel: logLevel.NOTHING });
  const topic = `${prefix}ipos`;
  const admin = client.admin();
  await admin.connect();
  await createTopics(admin, [{ topic }]);
  await admin.disconnect();
  consumer = client.consumer({ groupId: `test:${prefix}owners` });
  let isIn = false;
  consumer.on('consumer.group_join', () => {
    isIn = true;
  });
  await consumer.connect();
  await consumer.subscribe({ topic });
  await consumer.run({ eachMessage: async () => undefined });
  await until(() => isIn);
  expect([...(await open(kafka.direct).owners(['ipos'], deadline()))]).toStrictEqual([]);
  await expect(examine()).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringContaining('members of another program'),
  });
});
