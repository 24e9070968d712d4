import { CompressionTypes, type Kafka, type Message, type Producer } from 'kafkajs';
import { HighwaterError } from '../../errors';
import type { BatchPosition, LogRecord } from '../commit-log';
import { positionHeaders } from '../commit-log';
import type { Cluster } from './cluster';
import { FENCE_KEY, isFence, OWNER_EPOCH } from './fence';
import { dataBetween, fetchRound, isAtEnd, partitionOffsets } from './partition-reader';
import { connectProducer } from './producer';
import { persistently } from './restore';
import { type WrittenOffsets, writeTransaction } from './transaction';

/** What one ownership of a feed is made of, on the side of the brokers. */
export interface OwnershipDeps {
  readonly kafka: Kafka;
  readonly cluster: Cluster;
  readonly transactionalId: string;
  readonly feed: string;
  readonly ownerEpoch: string;
  /** One partition: the feed's position and its fences lie in one order. */
  readonly sourceOffsetTopic: string;
  readonly signal: AbortSignal;
}

/**
 * Becomes the one producer of the feed, and writes a fence to each partition named: two steps whose order must not change,
 * since a fence that another producer could still write behind would prove nothing.
 * @param written takes the offsets of the fences, and those of later records of the same topics
 * @throws HighwaterError LOG_TOPIC_LOST where a topic is not what it was; what kafkajs throws
 */
export async function takeOver(
  { kafka, transactionalId, ownerEpoch }: OwnershipDeps,
  partitions: ReadonlyMap<string, number>,
  written: WrittenOffsets,
): Promise<Producer> {
  for (const topic of partitions.keys()) if (!written.has(topic)) written.set(topic, new Map());
  const producer = await connectProducer(kafka, transactionalId);
  const message = (partition: number): Message => ({
    ...{ key: FENCE_KEY, value: null, partition },
    headers: { [OWNER_EPOCH]: ownerEpoch },
    timestamp: String(Date.now()),
  });
  const fences = [...partitions].flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, partition) => ({ topic, partition, sends: [[message(partition)]] })),
  );
  await writeTransaction(producer, fences, CompressionTypes.None, written);
  return producer;
}

/**
 * Whether a batch is the last one committed. To be asked behind a fence of this ownership, when nothing of it can come any more.
 * @param from offset in the source offset topic, behind the last record that this ownership knows of there
 * @param through the offset of the fence; null: as far as is committed by now
 * @throws HighwaterError LOG_FENCED when another ownership has written there since
 */
export async function isCommitted(
  deps: OwnershipDeps,
  position: BatchPosition,
  from: bigint,
  through: bigint | null,
): Promise<boolean> {
  const { feed, ownerEpoch } = deps;
  const wanted = JSON.stringify(positionHeaders(position));
  let found = false;
  for (const record of await recordsSince(deps, from, through)) {
    const { headers } = record;
    if (headers[OWNER_EPOCH] !== ownerEpoch) {
      throw new HighwaterError('LOG_FENCED', `another publisher has taken over feed ${feed}`);
    }
    if (isFence(record) || record.key !== feed) continue;
    const { incarnation, owner_epoch, commit } = headers;
    found = JSON.stringify({ incarnation, owner_epoch, commit }) === wanted;
  }
  return found;
}

/**
 * That nobody else has written to the source offset topic since this owner last did. A publisher under another
 * transactional id (another app id on the same topics) is not refused by the brokers. Each of two such transactions looks
 * before it commits, and the later one in the partition sees the earlier one, committed or not: so it is that one which ends; its remains
 * tell the other one.
 * @param from offset behind the last record of this owner, where the marker of its transaction lies
 * @param to offset of the record that is about to be committed
 * @throws HighwaterError LOG_FENCED; what kafkajs throws
 */
export async function assertAlone(deps: OwnershipDeps, from: bigint, to: bigint): Promise<void> {
  const { cluster, sourceOffsetTopic: topic, feed } = deps;
  // Nothing but one marker in between: nearly always.
  if (to <= from + 1n) return;
  const [others] = await dataBetween(cluster, topic, from, to);
  if (others === undefined) return;
  throw new HighwaterError(
    'LOG_FENCED',
    `another publisher writes to topic ${topic} of feed ${feed} (offset ${others}), under another transactional id than ${deps.transactionalId}`,
    {
      remedy:
        'Give both publishers the same app id (HIGHWATER_APP_ID), or topics of their own (HIGHWATER_TOPIC_PREFIX).',
    },
  );
}

async function recordsSince(
  { cluster, sourceOffsetTopic: topic, signal }: OwnershipDeps,
  from: bigint,
  through: bigint | null,
): Promise<LogRecord[]> {
  const persistence = { cluster, doing: `reading ${topic}`, forMs: 0, signal };
  return persistently(async () => {
    const [last] = await partitionOffsets(cluster, [topic], 'end');
    const end = through === null ? (last?.next ?? 0n) : through + 1n;
    const position = { topic, partition: 0, next: from, end };
    const records: LogRecord[] = [];
    const giveUpAt = performance.now() + READ_MS;
    while (!isAtEnd(position)) {
      records.push(...(await fetchRound(cluster, [position], 500)));
      if (performance.now() > giveUpAt) {
        throw new HighwaterError(
          'LOG_RESTORE_STALLED',
          `${topic}/0 could not be read beyond offset ${position.next} of ${end}`,
        );
      }
    }
    return records;
  }, persistence);
}

const READ_MS = 20_000;
