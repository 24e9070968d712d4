import { setTimeout as sleep } from 'node:timers/promises';
import type { Producer } from 'kafkajs';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { LeaderlessNotes } from '../../src/log/kafka/reader/leaderless';
import { read } from '../../src/log/kafka/reader/read';
import { tearMessages } from '../faults/torn-messages';
import { createTopics } from '../support/create-topics';
import {
  numbers,
  said,
  saidOf,
  startMember,
  type TestMember,
  type TestMemberOptions,
} from '../support/group-members';
import { asAdmin, kafkaWorld, plainKafka } from '../support/kafka-world';
import { startProxiedKafka } from '../support/proxied-kafka';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const PARTITIONS = 3;
/** Longer than any row of broken connections lasts: who loses the place over one cannot tell whether a commit was still taken. */
const LONG_SESSION_MS = 120_000;
const kafka = kafkaWorld(startProxiedKafka);
let producer: Producer;

const topic = () => `${kafka.prefix()}events`;

beforeEach(async () => {
  const topics = [{ topic: topic(), numPartitions: PARTITIONS }];
  await asAdmin(kafka.brokers(), (admin) => createTopics(admin, topics));
  producer = kafka.client().producer({ allowAutoTopicCreation: false });
  await producer.connect();
});

afterEach(async () => {
  kafka.server().proxy.thaw();
  await producer.disconnect();
});

function start(rest: Partial<TestMemberOptions> = {}, brokers = kafka.server().brokers): TestMember {
  const log = kafka.consumerLog({ brokers });
  return startMember(log, {
    groupId: `${kafka.prefix()}desk`,
    topics: [topic()],
    sessionTimeoutMs: 6_000,
    ...rest,
  });
}

async function send(from: number, to: number): Promise<void> {
  await producer.send({ topic: topic(), messages: numbers(from, to, PARTITIONS) });
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
    const watch = kafka.server().proxy.cut({ api, where, every: 3, times: 4 });
    for (let i = 0; i < 30; i++) {
      await send(i * 6, i * 6 + 6);
      await until(() => one.handled.length >= i * 6 + 6);
    }
    await until(() => watch.met() >= 4);
    watch.remove();
    expect(said(one)).toEqual(saidOf(0, 180));
    expect(given.map(({ revoked }) => revoked.aborted)).toEqual([false, false, false]);
  },
);

it('connections that are cut in the middle of a message lose and repeat nothing', async () => {
  const one = start({ sessionTimeoutMs: LONG_SESSION_MS });
  await until(() => one.held.size === PARTITIONS);
  const tearing = tearMessages({ seed: 1, every: 5, times: 12 }, kafka.server().proxy);
  let sent = 0;
  while (tearing.met() < 24) {
    await send(sent, sent + 6);
    sent += 6;
    await until(() => one.handled.length >= sent);
  }
  tearing.remove();
  await send(sent, sent + 6);
  await until(() => one.handled.length === sent + 6);
  expect(said(one)).toEqual(saidOf(0, sent + 6));
});

it('an answer that begins and never ends is given up like one that never begins', async () => {
  const one = start({ sessionTimeoutMs: LONG_SESSION_MS });
  await until(() => one.held.size === PARTITIONS);
  await send(0, 6);
  await until(() => one.handled.length === 6);
  const silent = kafka.server().proxy.at({ api: 'Fetch', where: 'answer' }, ({ bytes }) => ({
    after: bytes - 1,
    ends: 'silence',
  }));
  await until(() => silent.met() === 1);
  await send(6, 12);
  await until(() => one.handled.length === 12);
  expect(said(one)).toEqual(saidOf(0, 12));
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
  await kafka.server().broker.kill();
  await kafka.server().broker.restart();
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
  kafka.server().proxy.freeze();
  await until(() => given.every(({ revoked }) => revoked.aborted));
  const other = start({}, kafka.brokers());
  await until(() => other.held.size === PARTITIONS);
  await send(30, 60);
  await until(() => other.handled.length === 30);
  expect(said(cut, other)).toEqual(saidOf(0, 60));
  kafka.server().proxy.thaw();
  await until(() => cut.held.size > 0);
  await send(60, 90);
  await until(() => cut.handled.length + other.handled.length === 90);
  expect(said(cut, other)).toEqual(saidOf(0, 90));
});

it('a partition without news does not hold up one that has many', async () => {
  const alone = `${kafka.prefix()}alone`;
  await asAdmin(kafka.brokers(), (admin) => createTopics(admin, [{ topic: alone, numPartitions: 1 }]));
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
  const writer = kafka.client().producer({
    transactionalId: `${kafka.prefix()}writer`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await writer.connect();
  try {
    const transaction = await writer.transaction();
    await transaction.send({ topic: topic(), messages: [{ key: 'k', value: 'open', partition: 0 }] });
    const never = new AbortController().signal;
    const records = read(
      [topic()],
      { follow: false, fromBeginning: true, signal: never },
      {
        kafka: kafkaClient(plainKafka(kafka.server().brokers), 'reader', quietLogger()),
        target: plainKafka(kafka.server().brokers),
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
      kafka.server().proxy.at({ api: 'Fetch', where: 'answer' }, async () => {
        await transaction.commit();
        return 'pass' as const;
      });
    }
    expect(seen).toEqual(['0', 'open']);
  } finally {
    await writer.disconnect();
  }
});
