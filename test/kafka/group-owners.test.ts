import type { Consumer } from 'kafkajs';
import type { CommitLog } from '../../src/log/commit-log';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { examineGroup } from '../../src/log/kafka/group/examine-group';
import { feedTopics } from '../../src/log/topics';
import { createTopics } from '../support/create-topics';
import { testFeed } from '../support/feeds';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { deadline } from '../support/log-records';
import { startProxiedKafka } from '../support/proxied-kafka';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const sessionTimeoutMs = 6_000;
const kafka = kafkaWorld(startProxiedKafka);
/** How often members were given their places. */
let settled: number;
let consumer: Consumer | null = null;

beforeEach(() => {
  settled = 0;
});
afterEach(async () => {
  await consumer?.disconnect();
  consumer = null;
});

function open(brokers: string): CommitLog {
  const counting = (message: string): void => {
    if (/^(This instance|the group has settled)/.test(message)) settled++;
  };
  const logger = { ...quietLogger(), info: counting, debug: counting };
  return kafka.log({ brokers, kafka: { sessionTimeoutMs }, logger });
}

/** An instance that can publish feed `ipos`. */
const start = (instance: string) =>
  open(kafka.brokers()).join([feedTopics(testFeed('ipos'), kafka.prefix())], { instance, isGuest: false });

function examine() {
  const cluster = { ...plainKafka(kafka.brokers()), sessionTimeoutMs };
  return examineGroup({
    kafka: kafkaClient(cluster, 'test', quietLogger()),
    target: cluster,
    groupId: `test:${kafka.prefix()}owners`,
    sessionTimeoutMs,
    signal: deadline(),
  });
}

it.each(['request', 'answer'] as const)(
  'who has a feed is asked again when the connection breaks over it, at the %s',
  async (where) => {
    await start('a').grant('ipos', deadline());
    const watch = kafka.server().proxy.cut({ api: 'FindCoordinator', where, every: 1, times: 2 });
    const owners = await open(kafka.server().brokers).owners(['ipos'], deadline());
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
  const client = kafka.client();
  const topic = `${kafka.prefix()}ipos`;
  const admin = client.admin();
  await admin.connect();
  await createTopics(admin, [{ topic }]);
  await admin.disconnect();
  consumer = client.consumer({ groupId: `test:${kafka.prefix()}owners` });
  let isIn = false;
  consumer.on('consumer.group_join', () => {
    isIn = true;
  });
  await consumer.connect();
  await consumer.subscribe({ topic });
  await consumer.run({ eachMessage: async () => undefined });
  await until(() => isIn);
  expect([...(await open(kafka.brokers()).owners(['ipos'], deadline()))]).toStrictEqual([]);
  await expect(examine()).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringContaining('members of another program'),
  });
});
