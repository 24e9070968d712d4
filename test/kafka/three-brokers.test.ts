import path from 'node:path';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, FeedSession, FeedTopics } from '../../src/log/commit-log';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { feedTopics } from '../../src/log/topics';
import { runBrokerFaults } from '../faults/broker-fault-run';
import type { BrokerFault } from '../faults/broker-faults';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { createTopics } from '../support/create-topics';
import { type ForeignReader, startForeignReader } from '../support/foreign-reader/foreign-reader';
import { startMember } from '../support/group-members';
import { describeVerdict } from '../support/judge/verdict';
import type { Fate, ProxiedMessage, ProxyPoint, ProxyWatch } from '../support/kafka-proxy';
import { asAdmin, plainKafka, publisherLog } from '../support/kafka-world';
import { batch, deadline, groupBy, record } from '../support/log-records';
import {
  groupPartition,
  type PartitionLeaders,
  partitionLeaders,
  type TopicPartition,
  transactionPartition,
} from '../support/partition-leaders';
import { type ProxiedBrokers, startProxiedBrokers } from '../support/proxied-brokers';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** Three brokers: leaders and coordinators are others than a moment ago. `npm run soak:brokers` is the long form. */
const folder = tempFolder();
let brokers: ProxiedBrokers;
let leaders: PartitionLeaders;

beforeAll(async () => {
  brokers = await startProxiedBrokers();
  leaders = partitionLeaders(brokers.direct);
});
afterAll(() => brokers?.stop());

describe('a page, while leaders and coordinators move', () => {
  const ROWS = 30;
  const PAGES = 4;
  let reader: ForeignReader;
  let log: CommitLog;
  let topics: FeedTopics;
  let session: FeedSession;
  let sent: (readonly string[])[] = [];
  const watches: ProxyWatch[] = [];

  beforeAll(async () => {
    reader = await startForeignReader(brokers.direct);
  });
  afterAll(() => reader?.stop());
  beforeEach(async () => {
    topics = feedTopics(ipos, uniquePrefix());
    log = publisherLog(brokers.proxied, prefix());
    sent = [];
    onEach({ api: 'Produce', where: 'request', every: 1 }, ({ producedTo }) => {
      sent.push(producedTo!);
      return 'pass';
    });
    session = await log.acquire(topics, deadline());
  });
  afterEach(async () => {
    for (const watch of watches.splice(0)) watch.remove();
    await log.close();
  });

  function prefix(): string {
    return topics.changes.name.slice(0, -ipos.name.length);
  }

  /** Wherever the message goes. */
  function onEach(point: ProxyPoint, action: (message: ProxiedMessage) => Fate | Promise<Fate>): void {
    for (const proxy of brokers.proxies.values()) watches.push(proxy.at(point, action));
  }

  /** The broker that gets the message is, by the time it has it, no longer the one to send it to. Once. */
  function moveBefore(point: ProxyPoint, of: TopicPartition, fate: Fate = 'pass'): { readonly met: boolean } {
    const moved = { met: false };
    const isMeant = ({ producedTo }: ProxiedMessage): boolean =>
      producedTo === null || producedTo.includes(`${of.topic}/${of.partition}`);
    onEach({ ...point, every: 1 }, async (message) => {
      if (moved.met || !isMeant(message)) return 'pass';
      moved.met = true;
      await leaders.move(of);
      return fate;
    });
    return moved;
  }

  async function write(page: number): Promise<void> {
    const rows = Array.from({ length: ROWS }, (_, i) => record(topics.changes.name, `${i}`, `${page}`));
    const images = Array.from({ length: ROWS }, (_, i) => record(topics.current.name, `${i}`, `${page}`));
    await session.commit(batch(session, topics, [...rows, ...images], page));
  }

  async function expectEachOnce(): Promise<void> {
    const read = await reader.readSettled(topics.changes.name, topics.current.name);
    const rows = [...groupBy(read, ({ topic, key }) => `${topic} ${key}`)].filter(
      ([name]) => !name.includes('__highwater_fence'),
    );
    const pages = rows.map(([, own]) => own.map(({ value }) => Number(value!.toString())));
    expect(pages).toEqual(
      Array.from({ length: 2 * ROWS }, () => Array.from({ length: PAGES }, (_, i) => i + 1)),
    );
  }

  it('goes to each leader in one request, whatever broker leads which', async () => {
    sent = [];
    for (let page = 1; page <= PAGES; page++) await write(page);
    await expectEachOnce();
    const places = [topics.changes.name, topics.current.name].flatMap((topic) =>
      [0, 1, 2].map((partition) => ({ topic, partition })),
    );
    const led = await Promise.all(
      [...places, { topic: topics.sourceOffset.name, partition: 0 }].map(leaders.leaderOf),
    );
    expect(new Set(led).size).toBeGreaterThan(1);
    expect(sent.length).toBe(PAGES * new Set(led).size);
  });

  const id = () => transactionPartition(`test:${prefix()}${ipos.name}`);
  it.each<[string, ProxyPoint, () => TopicPartition, Fate]>([
    [
      'its leader moves between two sends',
      { api: 'Produce', where: 'request' },
      () => ({ topic: topics.changes.name, partition: 1 }),
      'pass',
    ],
    [
      'its leader moves and the answer to a send is lost',
      { api: 'Produce', where: 'answer' },
      () => ({ topic: topics.changes.name, partition: 1 }),
      'cut',
    ],
    [
      'the transaction coordinator moves while it begins',
      { api: 'AddPartitionsToTxn', where: 'request' },
      id,
      'pass',
    ],
    [
      'the transaction coordinator moves before the commit',
      { api: 'EndTxn', commits: true, where: 'request' },
      id,
      'pass',
    ],
    [
      'the transaction coordinator moves and the answer to a commit is lost',
      { api: 'EndTxn', commits: true, where: 'answer' },
      id,
      'cut',
    ],
  ])('is there once when %s', async (_name, point, of, fate) => {
    await write(1);
    const leader = await leaders.leaderOf(of());
    const moved = moveBefore(point, of(), fate);
    for (let page = 2; page <= PAGES; page++) await write(page);
    expect(moved.met).toBe(true);
    expect(await leaders.leaderOf(of())).not.toBe(leader);
    await expectEachOnce();
  });

  it('has the same owner when the group coordinator moves', async () => {
    const membership = log.join([topics], { instance: 'a', isGuest: false });
    const grant = await membership.grant(ipos.name, deadline());
    await leaders.move(groupPartition(`test:${prefix()}owners`));
    expect(await grant.confirm(deadline())).toBe(true);
    expect(grant.revoked.aborted).toBe(false);
  });
});

describe('while a foreign topic has no leader, since the one broker that has it is dead', () => {
  const dead = () => brokers.kafka.brokers[2]!;
  const foreign = uniquePrefix();
  let open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
    await dead().restart();
    await asAdmin(brokers.direct, (admin) => admin.deleteTopics({ topics: [foreign] }));
    await leaders.inSync();
  });

  it('a feed is taken over, its topics are examined, and consumers read on', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    const topicPrefix = topics.changes.name.slice(0, -ipos.name.length);
    const kafka = plainKafka(brokers.direct);
    const before = publisherLog(brokers.direct, topicPrefix);
    await (await before.acquire(topics, deadline())).release();
    await before.close();
    await leaders.inSync();
    const replicaAssignment = [{ partition: 0, replicas: [dead().id] }];
    await asAdmin(brokers.direct, (admin) => createTopics(admin, [{ topic: foreign, replicaAssignment }]));
    await dead().kill();

    const patience = AbortSignal.timeout(90_000);
    const log = publisherLog(brokers.direct, topicPrefix);
    const consumerLog = openKafkaConsumerLog({ kafka, appId: 'test', topicPrefix, logger: quietLogger() });
    open = [log, consumerLog];
    expect(await log.topicNames()).toContain(topics.changes.name);
    const grant = await untilDone(
      () => log.join([topics], { instance: 'a', isGuest: false }).grant(ipos.name, patience),
      patience,
    );
    const session = await untilDone(() => log.acquire(topics, patience, grant), patience);
    const member = startMember(consumerLog, { groupId: `${topicPrefix}desk`, topics: [topics.changes.name] });
    await session.commit(batch(session, topics, [record(topics.changes.name, '1', 'x')]));
    await until(() => member.handled.length === 1);
    expect(member.failures).toStrictEqual([]);
  });
});

describe('while the first broker that one was told of hangs', () => {
  let log: CommitLog | undefined;
  afterEach(async () => {
    brokers.kafka.brokers[0]!.thaw();
    await log?.close();
    await leaders.inSync();
  });

  it('a feed is taken over and published all the same', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    const topicPrefix = topics.changes.name.slice(0, -ipos.name.length);
    const open = () => publisherLog(brokers.direct, topicPrefix);
    // With topics that are there.
    const before = open();
    await (await before.acquire(topics, deadline())).release();
    await before.close();

    brokers.kafka.brokers[0]!.freeze();
    log = open();
    const patience = AbortSignal.timeout(60_000);
    const membership = log.join([topics], { instance: 'a', isGuest: false });
    const session = await untilDone(() => membership.grant(ipos.name, patience), patience).then((grant) =>
      untilDone(() => log!.acquire(topics, patience, grant), patience),
    );
    await session.commit(batch(session, topics, [record(topics.changes.name, '1', 'x')]));
  });
});

/** As a publisher does: what failed is tried again. */
async function untilDone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
}

describe('two publishers on three brokers, of which one after the other fails', () => {
  it('publish on by themselves, lose nothing, repeat nothing and keep the order', async () => {
    const { registryUrl } = await sharedServers();
    const [prefix, { proxied, direct }] = [uniquePrefix(), brokers];
    const log = await kafkaPublisherLog({ brokers: proxied, direct, registryUrl, prefix, proxy: null });
    const faults: BrokerFault[] = ['group coordinator', 'black hole', 'all at once'];
    const { reports, verdict, exitCodes } = await runBrokerFaults({
      seed: 1,
      brokers,
      registryUrl,
      prefix,
      log,
      faults,
      size: { records: { insights: 200, analysts: 100, ipos: 300 }, everyMs: 30 },
      folder: path.join(folder(), 'run'),
    }).finally(() => log.stop());

    expect(describeVerdict(verdict)).toBe('nothing to object to');
    expect(reports.map(({ fault }) => fault)).toEqual(faults);
    expect(exitCodes).toEqual([0, 0]);
  });
});
