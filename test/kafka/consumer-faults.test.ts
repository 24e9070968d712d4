import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, type Producer } from 'kafkajs';
import type { ConsumerLog } from '../../src/log/consumer-log';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { LeaderlessNotes } from '../../src/log/kafka/reader/leaderless';
import { read } from '../../src/log/kafka/reader/read';
import { tearMessages } from '../faults/torn-messages';
import { createTopics } from '../support/create-topics';
import { said, startMember, type TestMember, type TestMemberOptions } from '../support/group-members';
import { type ProxiedKafka, startProxiedKafka } from '../support/proxied-kafka';
import { uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const PARTITIONS = 3;
/** Longer than any row of broken connections lasts: who loses the place over one cannot tell whether a commit was still taken. */
const LONG_SESSION_MS = 120_000;
let server: ProxiedKafka;
let kafka: Kafka;
let producer: Producer;
let prefix: string;
const logs: ConsumerLog[] = [];

const topic = () => `${prefix}events`;
const values = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `k ${from + i}`).sort();

beforeAll(async () => {
  server = await startProxiedKafka();
  kafka = new Kafka({ brokers: [server.direct], logLevel: logLevel.NOTHING });
});
afterAll(() => server?.stop());

beforeEach(async () => {
  prefix = uniquePrefix();
  const admin = kafka.admin();
  await admin.connect();
  await createTopics(admin, [{ topic: topic(), numPartitions: PARTITIONS }]);
  await admin.disconnect();
  producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
});

afterEach(async () => {
  server.proxy.thaw();
  await producer.disconnect();
  await Promise.all(logs.splice(0).map((log) => log.close()));
});

function start(rest: Partial<TestMemberOptions> = {}, brokers = server.brokers): TestMember {
  const config = { brokers: [brokers], ssl: null, sasl: null, compression: 'none' } as const;
  const options = { kafka: config, appId: 'test', topicPrefix: prefix, logger: quietLogger() };
  const log = openKafkaConsumerLog(options);
  logs.push(log);
  return startMember(log, { groupId: `${prefix}desk`, topics: [topic()], sessionTimeoutMs: 6_000, ...rest });
}

async function send(from: number, to: number): Promise<void> {
  const messages = Array.from({ length: to - from }, (_, i) => ({
    key: 'k',
    value: String(from + i),
    partition: (from + i) % PARTITIONS,
  }));
  await producer.send({ topic: topic(), messages });
}

it.each([
  ['Heartbeat', 'answer'],
  ['OffsetCommit', 'request'],
  ['OffsetCommit', 'answer'],
  ['Fetch', 'request'],
  ['Fetch', 'answer'],
] as const)(
  'connections that break over %s, at the %s, cost nobody a place, and nothing is lost or repeated',
  async (api, where) => {
    // Heartbeats are sent in the time of a session; with the others a slow machine must not cost the place.
    const one = start(api === 'Heartbeat' ? {} : { sessionTimeoutMs: 60_000 });
    await until(() => one.held.size === PARTITIONS);
    const given = [...one.held.values()];
    const watch = server.proxy.cut({ api, where, every: 3, times: 4 });
    for (let i = 0; i < 30; i++) {
      await send(i * 6, i * 6 + 6);
      await until(() => one.handled.length >= i * 6 + 6);
    }
    await until(() => watch.met() >= 4);
    watch.remove();
    expect(said(one)).toEqual(values(0, 180));
    expect(given.map(({ revoked }) => revoked.aborted)).toEqual([false, false, false]);
  },
);

it('connections that are cut in the middle of a message lose and repeat nothing', async () => {
  const one = start({ sessionTimeoutMs: LONG_SESSION_MS });
  await until(() => one.held.size === PARTITIONS);
  const tearing = tearMessages({ seed: 1, every: 5, times: 12 }, server.proxy);
  let sent = 0;
  while (tearing.met() < 24) {
    await send(sent, sent + 6);
    sent += 6;
    await until(() => one.handled.length >= sent);
  }
  tearing.remove();
  await send(sent, sent + 6);
  await until(() => one.handled.length === sent + 6);
  expect(said(one)).toEqual(values(0, sent + 6));
});

it('an answer that begins and never ends is given up like one that never begins', async () => {
  const one = start({ sessionTimeoutMs: LONG_SESSION_MS });
  await until(() => one.held.size === PARTITIONS);
  await send(0, 6);
  await until(() => one.handled.length === 6);
  const silent = server.proxy.at({ api: 'Fetch', where: 'answer' }, ({ bytes }) => ({
    after: bytes - 1,
    ends: 'silence',
  }));
  await until(() => silent.met() === 1);
  await send(6, 12);
  await until(() => one.handled.length === 12);
  expect(said(one)).toEqual(values(0, 12));
});

it('a broker that is killed and comes back finds members at their work, and takes the commit of what was in hand', async () => {
  let goOn = (): void => undefined;
  const inHand = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const one = start({ handle: () => inHand, sessionTimeoutMs: LONG_SESSION_MS });
  await until(() => one.held.size === PARTITIONS);
  await send(0, 3);
  const given = [...one.held.values()];
  await server.broker.kill();
  await server.broker.restart();
  goOn();
  await until(() => one.handled.length === 3);
  expect(one.failures).toStrictEqual([]);
  expect(given.map(({ revoked }) => revoked.aborted)).toEqual([false, false, false]);
});

it('a member that hears nothing of the group for the session timeout puts its work down, and others continue it', async () => {
  const cut = start();
  await until(() => cut.held.size === PARTITIONS);
  const given = [...cut.held.values()];
  await send(0, 30);
  await until(() => cut.handled.length === 30);
  server.proxy.freeze();
  await until(() => given.every(({ revoked }) => revoked.aborted));
  const other = start({}, server.direct);
  await until(() => other.held.size === PARTITIONS);
  await send(30, 60);
  await until(() => other.handled.length === 30);
  expect(said(cut, other)).toEqual(values(0, 60));
  server.proxy.thaw();
  await until(() => cut.held.size > 0);
  await send(60, 90);
  await until(() => cut.handled.length + other.handled.length === 90);
  expect(said(cut, other)).toEqual(values(0, 90));
});

it('a partition without news does not hold up one that has many', async () => {
  const alone = `${prefix}alone`;
  const admin = kafka.admin();
  await admin.connect();
  await createTopics(admin, [{ topic: alone, numPartitions: 1 }]);
  await admin.disconnect();
  const messages = Array.from({ length: 2_000 }, () => ({ key: 'k', value: 'x'.repeat(500), partition: 0 }));
  for (let i = 0; i < 20; i++) {
    await producer.send({ topic: topic(), messages });
    await producer.send({ topic: alone, messages });
  }
  /** From the first record to the last, ms. */
  const reading = async (of: string, round: number) => {
    let began = Number.POSITIVE_INFINITY;
    const handle = async () => {
      began = Math.min(began, performance.now());
    };
    const one = start({ handle, topics: [of], groupId: `${of}-readers-${round}` });
    await until(() => one.handled.length === 40_000);
    const took = performance.now() - began;
    await one.member.leave();
    return took;
  };
  // Some 23 answers: 6 s more, if each waited for the longest question to the other partitions. A machine busy with other things
  // may take as long once, but not each time.
  const more: number[] = [];
  while (more.length < 4 && !more.some((ms) => ms < 3_000)) {
    const withoutOthers = await reading(alone, more.length);
    more.push((await reading(topic(), more.length)) - withoutOthers);
  }
  expect(Math.min(...more)).toBeLessThan(3_000);
});

it('a bounded read counts as the end only what stays empty, however long the caller works on what came before', async () => {
  await send(0, 1);
  const writer = kafka.producer({
    transactionalId: `${prefix}writer`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await writer.connect();
  try {
    const transaction = await writer.transaction();
    await transaction.send({ topic: topic(), messages: [{ key: 'k', value: 'open', partition: 0 }] });
    const config = { brokers: [server.brokers], ssl: null, sasl: null, compression: 'none' } as const;
    const never = new AbortController().signal;
    const records = read(
      [topic()],
      { follow: false, fromBeginning: true, signal: never },
      {
        kafka: kafkaClient(config, 'reader', quietLogger()),
        target: config,
        closing: never,
        logger: quietLogger(),
        notes: new LeaderlessNotes(quietLogger()),
      },
    );
    const seen: unknown[] = [];
    for await (const { value } of records) {
      seen.push(value?.toString());
      if (seen.length > 1) continue;
      // Longer than a reader waits for an open transaction.
      await sleep(2_500);
      server.proxy.at({ api: 'Fetch', where: 'answer' }, async () => {
        await transaction.commit();
        return 'pass' as const;
      });
    }
    expect(seen).toEqual(['0', 'open']);
  } finally {
    await writer.disconnect();
  }
});
