import type { Decoder } from '../../src/avro/codec/record-decoder';
import { recentRecords } from '../../src/cli/tail';
import { takePart } from '../../src/consumer/handling/consume';
import { refusalsOf } from '../../src/consumer/refusals';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import type { ConsumerLog } from '../../src/log/consumer-log';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { readingCluster } from '../../src/log/kafka/connection/cluster';
import { acceptLeaderless } from '../../src/log/kafka/connection/guards/cluster-questions';
import { leaderOf } from '../../src/log/kafka/reader/leaderless';
import { feedTopics } from '../../src/log/topics';
import { Rotation } from '../../src/secrets/rotation';
import { startKafka } from '../../tools/servers/kafka';
import { createTopics } from '../support/create-topics';
import { said, startMember, type TestMember } from '../support/group-members';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { collect, deadline } from '../support/log-records';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

/**
 * Three brokers, of which one is killed. In the topic `events`, that broker leads partition 0, which then moves to another broker.
 * It is the only broker with partition 2, which has no leader until the broker is back. It is the only one, too, that has the topic
 * `lone`.
 */
const world = kafkaWorld(() => startKafka({ brokers: 3, properties: { 'min.insync.replicas': '1' } }));
let log: CommitLog;
let consumerLog: ConsumerLog;
let warnings: string[];
let stop: AbortController;
let isDead = false;
const running: Promise<unknown>[] = [];

const dead = () => world.server().brokers[2]!;
const [events, lone] = [() => `${world.prefix()}events`, () => `${world.prefix()}lone`];
const kafka = () => kafkaClient(plainKafka(world.brokers()), 'test', quietLogger());

beforeEach(async () => {
  const admin = kafka().admin();
  await admin.connect();
  const [first, second, third] = world.server().brokers.map(({ id }) => id) as [number, number, number];
  const replicas = [[third], [first], [third]];
  const topics = [
    { topic: events(), replicaAssignment: replicas.map((ids, partition) => ({ partition, replicas: ids })) },
    { topic: lone(), replicaAssignment: [{ partition: 0, replicas: [third] }] },
  ];
  // A restarted broker cannot have replicas at once.
  await until(
    () =>
      createTopics(admin, topics).then(
        () => true,
        () => false,
      ),
    60_000,
  );
  // Kafka creates all partitions of a topic with the same number of replicas.
  const partitionAssignment = [{ partition: 0, replicas: [third, first, second] }];
  await admin.alterPartitionReassignments({ topics: [{ topic: events(), partitionAssignment }] });
  await until(async () => {
    const found = await admin.fetchTopicMetadata({ topics: [events()] });
    return found.topics[0]!.partitions.some(({ isr }) => isr.length === 3);
  });
  await admin.disconnect();
  warnings = [];
  stop = new AbortController();
  const logger = { ...quietLogger(), warn: (message: string) => void warnings.push(message) };
  log = world.log({ logger });
  consumerLog = world.consumerLog({ logger });
});

afterEach(async () => {
  stop.abort();
  await Promise.all([log.close(), consumerLog.close()]);
  await Promise.all(running.splice(0));
  await revive();
});

/**
 * One record in each of some partitions of `events`, and in `lone`. Without a producer of kafkajs, which sends to no partition of a topic
 * of which one has no leader.
 */
async function send(
  value: string,
  partitions: readonly number[],
  { toLone = false, timestamp = Date.now(), topics = [events(), lone()] } = {},
): Promise<void> {
  const cluster = acceptLeaderless(readingCluster(kafka()));
  await cluster.connect();
  await cluster.addMultipleTargetTopics(topics);
  const to = partitions.map((partition) => ({ topic: events(), partition }));
  for (const { topic, partition } of [...to, ...(toLone ? [{ topic: lone(), partition: 0 }] : [])]) {
    const messages = [{ key: `${partition}`, value, timestamp }];
    const topicData = [{ topic, partitions: [{ partition, messages }] }];
    const produce = async () => {
      await cluster.refreshMetadata();
      const broker = await cluster.findBroker({ nodeId: leaderOf(cluster, { topic, partition }) });
      await (broker as unknown as PlainBroker).produce({ topicData });
    };
    // Nothing is written by a broker that is not the leader.
    await until(() =>
      produce().then(
        () => true,
        () => false,
      ),
    );
  }
  await cluster.disconnect();
}

interface PlainBroker {
  produce(request: { readonly topicData: unknown }): Promise<unknown>;
}

const everywhere = (value: string) => send(value, [0, 1, 2], { toLone: true });
const elsewhere = (value: string) => send(value, [0, 1]);
const each = (...values: string[]) => values.flatMap((value) => [`0 ${value}`, `1 ${value}`, `2 ${value}`]);

/** Resolves when the other brokers know it: partitions that only it had are then without a leader. */
async function killOne(): Promise<void> {
  isDead = true;
  await dead().kill();
  const admin = kafka().admin();
  await admin.connect();
  // The question goes to any broker that counts as alive, so at first maybe to the dead one.
  const isKnown = () =>
    admin.describeCluster().then(
      ({ brokers }) => brokers.length === 2,
      () => false,
    );
  await until(isKnown);
  await admin.disconnect();
}

async function revive(): Promise<void> {
  if (isDead) await dead().restart();
  isDead = false;
}

/** Records that a reader saw, as `key value`. */
function gather(records: AsyncIterable<LogRecord>, topic = events()): string[] {
  const found: string[] = [];
  const reading = (async () => {
    for await (const record of records)
      if (record.topic === topic) found.push(`${record.key} ${record.value}`);
  })();
  running.push(reading);
  return found;
}

const sorted = (found: readonly string[]) => [...found].sort();
const others = (...values: string[]) => values.flatMap((value) => [`0 ${value}`, `1 ${value}`]).sort();

function member(groupId: string): TestMember {
  return startMember(consumerLog, { groupId: `${world.prefix()}${groupId}`, topics: [events(), lone()] });
}

/** All ways of reading from the beginning on and on. */
function startReaders(group: string) {
  const read = { fromBeginning: true, follow: true, signal: stop.signal };
  const [tailed, followed] = [
    gather(log.read([events(), lone()], read)),
    gather(consumerLog.follow(events(), new Map(), stop.signal)),
  ];
  const one = member(group);
  return { tailed, followed, one };
}

const warned = () => warnings.filter((message) => message.includes('has no leader'));

it('readers read the other partitions on, say so once, and lose and repeat nothing when the leader is back', async () => {
  const readers = startReaders('desk');
  await everywhere('a');
  await until(() => readers.tailed.length === 3 && readers.followed.length === 3);
  await until(() => readers.one.handled.length === 4);

  await killOne();
  await elsewhere('b');
  const half = sorted([...each('a'), ...others('b')]);
  await until(() => readers.tailed.length === 5 && readers.followed.length === 5);
  await until(() => readers.one.handled.length === 6);
  expect(sorted(readers.tailed)).toEqual(half);
  expect(sorted(readers.followed)).toEqual(half);
  // `events` 2 by each of the three, `lone` 0 by the two that read it.
  await until(() => warned().length >= 5);
  await elsewhere('c');
  await until(() => readers.tailed.length === 7 && readers.followed.length === 7);
  await until(() => readers.one.handled.length === 8);
  expect(warned()).toHaveLength(5);

  await revive();
  await everywhere('d');
  const whole = sorted([...half, ...others('c'), ...each('d')]);
  await until(() => readers.tailed.length >= 10 && readers.followed.length >= 10);
  await until(() => readers.one.handled.length >= 12);
  expect(sorted(readers.tailed)).toEqual(whole);
  expect(sorted(readers.followed)).toEqual(whole);
  expect(said(readers.one)).toEqual(sorted([...whole, '0 a', '0 d']));
  expect(readers.one.failures).toStrictEqual([]);
});

it('readers that begin meanwhile read the other partitions, and that one from its beginning when its leader is back', async () => {
  await everywhere('a');
  await killOne();
  const readers = startReaders('late');
  await elsewhere('b');
  const half = others('a', 'b');
  await until(() => readers.tailed.length === 4 && readers.followed.length === 4);
  await until(() => readers.one.handled.length === 4);
  expect(sorted(readers.tailed)).toEqual(half);
  expect(sorted(readers.followed)).toEqual(half);
  expect(said(readers.one)).toEqual(half);
  await until(() => warned().length >= 5);

  await revive();
  await everywhere('c');
  const whole = sorted([...each('a', 'c'), ...others('b')]);
  await until(() => readers.tailed.length >= 8 && readers.followed.length >= 8);
  await until(() => readers.one.handled.length >= 10);
  expect(sorted(readers.tailed)).toEqual(whole);
  expect(sorted(readers.followed)).toEqual(whole);
  expect(said(readers.one)).toEqual(sorted([...whole, '0 a', '0 c']));
  expect(warned()).toHaveLength(5);
});

it('readers that begin at the end meanwhile read of that partition what comes, not what it held', async () => {
  await send('old', [0, 1, 2], { timestamp: Date.now() - 3_600_000 });
  await killOne();
  const consumed: string[] = [];
  const tailed = gather(log.read([events()], { fromBeginning: false, follow: true, signal: stop.signal }));
  const { ends } = await consumerLog.ends(events(), 'reachable', stop.signal);
  expect([...ends].sort()).toEqual([
    [0, 1],
    [1, 1],
    [2, null],
  ]);
  const followed = gather(consumerLog.follow(events(), ends, stop.signal));
  running.push(
    takePart(
      { group: 'end', topics: ['events'], from: 'end', signal: stop.signal },
      () => async (records, _place, advance) => {
        consumed.push(...records.map(({ key, value }) => `${key} ${value}`));
        await advance(records.at(-1)!.logOffset + 1);
      },
      {
        log: consumerLog,
        decoder: {} as Decoder,
        logger: quietLogger(),
        topicPrefix: world.prefix(),
        refusals: refusalsOf(null, new Rotation()),
        closing: stop.signal,
      },
    ),
  );
  const readers = [tailed, followed, consumed];
  const haveAll = (...wanted: string[]) =>
    readers.every((found) => wanted.every((one) => found.some((seen) => seen.startsWith(one))));
  // They begin at a moment that only they know.
  let sent = 0;
  await until(async () => {
    await elsewhere(`b${sent++}`);
    return haveAll('0 b', '1 b');
  });

  await revive();
  await send('c', [0, 1, 2]);
  await until(() => haveAll('0 c', '1 c', '2 c'));
  for (const found of readers) {
    expect(found.filter((seen) => seen.startsWith('2'))).toEqual(['2 c']);
    expect(found.filter((seen) => seen.includes('old'))).toStrictEqual([]);
    expect(new Set(found).size).toBe(found.length);
  }
});

it('a topic of which no partition has a leader does not hold up a reader of others when it is deleted', async () => {
  await killOne();
  const reading = { fromBeginning: true, follow: true, signal: stop.signal };
  const tailed = gather(log.read([events(), lone()], reading));
  await elsewhere('a');
  await until(() => tailed.length === 2);
  const admin = kafka().admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [lone()] });
  await until(async () => !(await admin.listTopics()).includes(lone()));
  // Only a reader that asks for the leaders again learns that partition 2 has one.
  await revive();
  await admin.disconnect();
  await send('b', [0, 1, 2], { topics: [events()] });
  await until(() => tailed.length >= 5);
  expect(sorted(tailed)).toEqual(sorted([...others('a'), ...each('b')]));
});

it('a reader that takes less than the whole reads the other partitions to their end, and warns at once', async () => {
  await everywhere('a');
  await killOne();
  const recent = (follow: boolean, signal: AbortSignal) =>
    recentRecords(log, [events()], 10, follow, () => true, signal);
  const shown = async (signal: AbortSignal) =>
    (await collect(recent(false, signal))).map(({ key, value }) => `${key} ${value}`);
  expect(sorted(await shown(deadline()))).toEqual(others('a'));
  expect(warned()).toHaveLength(1);
  const tailed = gather(recent(true, stop.signal));
  await elsewhere('b');
  await until(() => tailed.length === 4);
  expect(sorted(tailed)).toEqual(others('a', 'b'));
  expect(warned()).toHaveLength(1);

  await revive();
  await everywhere('c');
  await until(() => tailed.length >= 8);
  expect(sorted(tailed)).toEqual(sorted([...each('a', 'c'), ...others('b')]));
});

it('reads that must be complete fail or wait meanwhile: a read with an end, a load, the state of a publisher', async () => {
  const topics = feedTopics(ipos, world.prefix());
  await (await log.acquire(topics, deadline())).release();
  const admin = kafka().admin();
  await admin.connect();
  const partitionAssignment = [{ partition: 2, replicas: [dead().id] }];
  await admin.alterPartitionReassignments({ topics: [{ topic: topics.current.name, partitionAssignment }] });
  await until(async () => {
    const found = await admin.fetchTopicMetadata({ topics: [topics.current.name] });
    return found.topics[0]!.partitions.some(({ isr }) => isr.join() === `${dead().id}`);
  });
  await admin.disconnect();
  await everywhere('a');
  await killOne();

  const reading = collect(log.read([events()], { fromBeginning: true, follow: false, signal: deadline() }));
  await expect(reading).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringContaining('no leader'),
  });
  await expect(log.acquire(topics, deadline())).rejects.toMatchObject({ code: 'LOG_FAILED' });
  // It goes on trying for a minute.
  const enough = AbortSignal.timeout(5_000);
  await expect(collect(consumerLog.load(events(), enough))).rejects.toMatchObject({ name: 'TimeoutError' });
});
