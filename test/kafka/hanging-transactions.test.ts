import { randomBytes } from 'node:crypto';
import { CompressionTypes, type Kafka } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, FeedSession, ProducerRecord } from '../../src/log/commit-log';
import { readingCluster } from '../../src/log/kafka/connection/cluster';
import { protocolType } from '../../src/log/kafka/connection/kafka-failure';
import { markOf } from '../../src/log/kafka/ownership/hanging-transactions/committed-through';
import { connectToWholeLog } from '../../src/log/kafka/ownership/hanging-transactions/hanging-transactions';
import { connectProducer } from '../../src/log/kafka/producer/producer';
import { feedTopics } from '../../src/log/topics';
import { type KafkaOptions, type Kafka as Servers, startKafka } from '../../tools/servers/kafka';
import {
  type ForeignReader,
  type ForeignRecord,
  startForeignReader,
} from '../support/foreign-reader/foreign-reader';
import { kafkaTools } from '../support/kafka-tools';
import { publisherLog, quietKafka } from '../support/kafka-world';
import { deadline, type PlainBatch, record, restored } from '../support/log-records';
import { type Place, type RawProducer, rawProducer } from '../support/raw-producer';
import { uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
let servers: Servers;
let reader: ForeignReader;
let kafka: Kafka;
let prefix: string;
let raw: RawProducer;
let logger: ReturnType<typeof quietLogger>;
const logs: CommitLog[] = [];
const incarnation = randomBytes(4).toString('hex');
const topics = () => feedTopics(ipos, prefix);

function partitions(): Map<string, number> {
  const { changes, current, sourceOffset, deadLetters } = topics();
  return new Map([changes, current, sourceOffset, deadLetters].map((one) => [one.name, one.partitions]));
}

async function start(options: KafkaOptions): Promise<void> {
  servers = await startKafka(options);
  kafka = quietKafka(servers.bootstrap);
  reader = await startForeignReader(servers.bootstrap);
}
afterEach(async () => {
  for (const log of logs.splice(0)) await log.close();
  await raw?.close();
});
async function stop(): Promise<void> {
  await reader?.stop();
  await servers?.stop();
}

beforeEach(() => {
  prefix = uniquePrefix();
  logger = quietLogger();
});
async function acquire(): Promise<FeedSession> {
  const log = publisherLog(servers.bootstrap, prefix, { logger, limits: { stallMs: 2_000 } });
  logs.push(log);
  return log.acquire(topics(), deadline());
}

/** As an owner before would have left it: under the feed's transactional id. */
async function predecessor(): Promise<RawProducer> {
  raw = await rawProducer(kafka, `test:${prefix}ipos`, partitions());
  return raw;
}

type Written = Parameters<RawProducer['write']>;

/** A transaction of an owner before, whose markers are missing but where they are wanted. Without an end it hangs everywhere. */
async function leave(records: Written[0], isMarked: Written[1], end?: 'commit' | 'abort'): Promise<void> {
  const before = await predecessor();
  await before.write(records, isMarked);
  if (end !== undefined) await before.end(end);
}

/** @returns what was committed */
async function commit(session: FeedSession, number: number): Promise<PlainBatch> {
  const batch = transaction(number, session.ownerEpoch);
  await session.commit(batch);
  return batch;
}

/** Changes of which the keys lie in all partitions, their images, and the source offset. */
function transaction(commit: number, ownerEpoch: string, value = 'x'): PlainBatch {
  const { changes, current, sourceOffset, deadLetters } = topics();
  const count = 12;
  const timestamp = 1_760_000_000_000 + commit * 1_000;
  const records: ProducerRecord[] = [];
  const first = (commit - 1) * count + 1;
  for (let i = 0; i < count; i++) {
    const seq = first + i;
    const id = `ipos:${incarnation}:${seq}`;
    const text = `${value} ${seq}`;
    records.push(
      record(changes.name, `key ${i}`, text, { timestamp, headers: { ce_id: id } }),
      record(current.name, `key ${i}`, text, {
        timestamp,
        headers: { event_id: id, seq: String(seq), incarnation },
      }),
    );
  }
  records.push(record(deadLetters.name, `letter ${commit}`, value, { timestamp }));
  const position = { incarnation, ownerEpoch, commit };
  const headers = {
    incarnation,
    owner_epoch: ownerEpoch,
    commit: String(commit),
    seq: String(first + count - 1),
  };
  records.push(record(sourceOffset.name, 'ipos', `commit ${commit}`, { timestamp, headers }));
  return { feed: 'ipos', records, position };
}

const shape = ({ topic, key, value }: { topic: string; key: string | null; value: Buffer | null }) =>
  `${topic.slice(prefix.length)} ${key}: ${value}`;
const shapesOf = (...batches: PlainBatch[]) => batches.flatMap(({ records }) => records.map(shape)).sort();

/** Records that Kafka's own consumer sees once nothing hangs, without fences, sorted. */
async function shown(): Promise<string[]> {
  return shapes(await reader.readSettled(`${prefix}*`));
}

async function shownNow(): Promise<string[]> {
  return shapes(await reader.read(`${prefix}*`));
}

function shapes(records: readonly ForeignRecord[]): string[] {
  return records
    .filter(({ topic, key }) => topic.startsWith(prefix) && key !== '__highwater_fence')
    .map(shape)
    .sort();
}

/** Each key's records in order. */
async function valuesOf(topic: string, key: string): Promise<string[]> {
  const records = await reader.read(`${prefix}*`);
  return records.filter((one) => one.topic === topic && one.key === key).map(({ value }) => String(value));
}

const isOffset = ({ topic }: Place) => topic === topics().sourceOffset.name;
const nowhere = () => false;

/** The first transaction of a feed, by an owner that is then gone. */
async function begin(): Promise<PlainBatch> {
  const session = await acquire();
  const first = await commit(session, 1);
  await session.release();
  return first;
}

describe('brokers that left out markers', () => {
  beforeAll(() => start({ properties: { 'transaction.partition.verification.enable': false } }), 120_000);
  afterAll(stop);

  describe('of a transaction of the owner before: it', () => {
    it('is committed everywhere when its source offset is', async () => {
      const first = await begin();
      const second = transaction(2, 'before');
      await leave(second.records, isOffset, 'commit');
      // It hangs: readers see only the source offset of the committed records.
      await until(async () => (await shownNow()).length === first.records.length + 1);
      expect((await shownNow()).filter((one) => one.includes('ipos.source-offset')).length).toBe(2);

      const session = await acquire();
      expect(await shown()).toEqual(shapesOf(first, second));
      expect((await restored(session, topics().current.name))['key 0']).toBe('x 13');
      expect(logger.warnings).toEqual([expect.stringContaining('KAFKA-20734')]);

      const third = await commit(session, 3);
      expect(await shown()).toEqual(shapesOf(first, second, third));
    });

    it('is named where it has another producer id, with the command that ends it', async () => {
      const first = await begin();
      // As it is after 32,767 takeovers: the same feed, and a producer id that the brokers do not connect with it any more.
      raw = await rawProducer(kafka, `old:${prefix}ipos`, partitions());
      const { name } = topics().changes;
      const hanging = transaction(2, 'before').records.filter(({ topic }) => topic === name);
      await raw.write(hanging, nowhere);

      const session = await acquire();
      const second = await commit(session, 2);
      const warned = logger.warnings.filter((text) => text.includes('that feed ipos cannot end'));
      expect(warned).toHaveLength(3);
      expect(await shownNow()).not.toEqual(shapesOf(first, second));
      const run = await kafkaTools({ folder: folder() });
      for (const text of warned) await run(text.slice(text.indexOf('kafka-transactions.sh')));
      expect(await shown()).toEqual(shapesOf(first, second));
    });

    it('is committed everywhere when readers saw a part of it, although its source offset hangs', async () => {
      const first = await begin();
      const second = transaction(2, 'before');
      const { name } = topics().changes;
      await leave(second.records, ({ topic, partition }) => topic === name && partition === 1, 'commit');

      await acquire();
      expect(await shown()).toEqual(shapesOf(first, second));
    });

    it('is aborted everywhere when nobody saw any of it', async () => {
      const first = await begin();
      await leave(transaction(2, 'before').records, nowhere);

      const session = await acquire();
      expect(await shown()).toEqual(shapesOf(first));
      const again = await commit(session, 2);
      expect(await shown()).toEqual(shapesOf(first, again));
    });

    it('is aborted everywhere when its source offset is, and the next commit does not show it', async () => {
      const first = await begin();
      await leave(transaction(2, 'before', 'aborted').records, isOffset, 'abort');

      const session = await acquire();
      expect(await shown()).toEqual(shapesOf(first));
      const second = await commit(session, 2);
      expect(await shown()).toEqual(shapesOf(first, second));
    });

    it('is aborted everywhere when a part of it is, and its source offset hangs', async () => {
      const first = await begin();
      const { name } = topics().changes;
      await leave(transaction(2, 'before', 'aborted').records, ({ topic }) => topic === name, 'abort');

      const session = await acquire();
      const second = await commit(session, 2);
      expect(await shown()).toEqual(shapesOf(first, second));
    });

    it('is ended by what it was itself, not by the last one', async () => {
      const first = await begin();
      const [second, third] = [transaction(2, 'before'), transaction(3, 'before', 'aborted')];
      const before = await predecessor();
      const of = (batch: PlainBatch, ...names: string[]) =>
        batch.records.filter(({ topic }) => names.includes(topic));
      const { changes, current, sourceOffset } = topics();
      await before.write(of(second, changes.name, sourceOffset.name), isOffset);
      await before.end('commit');
      await before.write(of(third, current.name, sourceOffset.name), isOffset);
      await before.end('abort');

      const session = await acquire();
      const fourth = await commit(session, 4);
      const whole = { ...second, records: of(second, changes.name, sourceOffset.name) };
      expect(await shown()).toEqual(shapesOf(first, whole, fourth));
    });

    it('is written again where it ran into the next one, which is aborted', async () => {
      const first = await begin();
      const [second, third] = [transaction(2, 'before'), transaction(3, 'before', 'aborted')];
      const before = await predecessor();
      const { name } = topics().changes;
      // Readers saw the changes of one partition; all else of it hangs.
      await before.write(second.records, ({ topic, partition }) => topic === name && partition === 1);
      await before.end('commit');
      await before.write(third.records, ({ topic }) => topic !== topics().deadLetters.name);

      const session = await acquire();
      expect(await shown()).toEqual(shapesOf(first, second));
      expect((await restored(session, topics().current.name))['key 0']).toBe('x 13');
      const fourth = await commit(session, 3);
      expect(await shown()).toEqual(shapesOf(first, second, fourth));
      expect(await valuesOf(name, 'key 0')).toEqual(['x 1', 'x 13', 'x 25']);
    });
  });

  describe('of a commit of which an owner learns the outcome: it', () => {
    it('has it whole when it was committed, and markers were left out', async () => {
      const session = await acquire();
      const [first, second] = [transaction(1, session.ownerEpoch), transaction(2, session.ownerEpoch)];
      await session.commit(first);
      await leave(second.records, isOffset, 'commit');

      // Its own producer is refused, and it finds the records that it was about to write.
      await session.commit(second);
      expect(await shown()).toEqual(shapesOf(first, second));
      await session.commit(transaction(3, session.ownerEpoch));
      expect(await shown()).toEqual(shapesOf(first, second, transaction(3, session.ownerEpoch)));
    });

    it('writes it again when it was aborted, and markers were left out', async () => {
      const session = await acquire();
      const [first, second] = [transaction(1, session.ownerEpoch), transaction(2, session.ownerEpoch)];
      await session.commit(first);
      await leave(
        second.records,
        ({ partition, topic }) => isOffset({ partition, topic }) || partition === 2,
        'abort',
      );

      await session.commit(second);
      expect(await shown()).toEqual(shapesOf(first, second));
    });

    it.each([
      ['hangs everywhere', nowhere],
      ['was aborted with the next one', () => true],
    ])('keeps what it knows to be committed, which %s', async (_, isMarked) => {
      const first = await begin();
      const second = transaction(2, 'before');
      await leave(second.records, isMarked);

      const transactionalId = `test:${prefix}ipos`;
      const cluster = readingCluster(kafka);
      await cluster.connect();
      await cluster.addMultipleTargetTopics([...partitions().keys()]);
      const { producer, lost } = await connectToWholeLog(
        {
          kafka,
          cluster,
          ownerEpoch: 'before',
          transactionalId,
          maxRecordBytes: 1_000_000,
          compression: CompressionTypes.None,
          logger,
          topics: topics(),
          partitions: partitions(),
          signal: deadline(),
          target: { brokers: servers.bootstrap.split(','), ssl: null, sasl: null },
        },
        () => connectProducer(readingCluster(kafka), transactionalId, [...partitions().keys()], deadline()),
        markOf(second.records.at(-1)!),
      );
      await Promise.all([producer.disconnect(), cluster.disconnect()]);

      expect([...(await shown()), ...lost.map(shape)].sort()).toEqual(shapesOf(first, second));
    });
  });
});

describe('a broker that is away when a transaction ends', () => {
  // One replica each: without its broker a partition has no leader, and Kafka 4.3 takes it for deleted.
  beforeAll(
    () => start({ brokers: 3, properties: { 'default.replication.factor': 1, 'min.insync.replicas': 1 } }),
    120_000,
  );
  afterAll(stop);

  it.each(['commit', 'abort'] as const)('gets the end of its part of it: %s', async (how) => {
    const first = await begin();
    const second = transaction(2, 'before', how);
    const before = await predecessor();
    await before.write(second.records, () => true);
    const admin = kafka.admin();
    await admin.connect();
    const coordinator = await before.coordinatorId();
    const leaders = async (): Promise<number[]> => {
      const described = await admin.fetchTopicMetadata({ topics: [...partitions().keys()] });
      return described.topics.flatMap((one) => one.partitions.map(({ leader }) => leader));
    };
    // The request may go to the broker that is gone, which proves nothing.
    const isWithoutLeader = (error: unknown) => protocolType(error) === 'LEADER_NOT_AVAILABLE';
    const leader = (await leaders()).find((one) => one !== coordinator)!;
    const broker = servers.brokers.find(({ id }) => id === leader)!;
    await broker.kill();
    // Its session has to end: then its partitions have no leader.
    await until(async () => (await leaders().catch((e) => (isWithoutLeader(e) ? [-1] : []))).includes(-1));
    await before.end(how);
    await broker.restart();
    await until(async () => {
      const all = await leaders().catch(() => [-1]);
      return !all.includes(-1);
    });
    await admin.disconnect();

    const session = await acquire();
    const whole = how === 'commit' ? [first, second] : [first];
    expect(await shown()).toEqual(shapesOf(...whole));
    const next = await commit(session, whole.length + 1);
    expect(await shown()).toEqual(shapesOf(...whole, next));
  });
});
