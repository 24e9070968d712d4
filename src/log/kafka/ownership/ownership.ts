import { CompressionTypes } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import { type BatchPosition, FENCE_KEY, positionHeaders } from '../../commit-log';
import { readingCluster } from '../connection/cluster';
import { persistently } from '../connection/persistently';
import { PartitionedRecords } from '../producer/partitioned-records';
import { connectProducer, type TransactionalProducer } from '../producer/producer';
import { type WrittenOffsets, writeTransaction } from '../producer/transaction';
import { recordsOf } from '../protocol/record-batch';
import { RecordsEncoder } from '../protocol/record-format';
import { isFence, OWNER_EPOCH } from '../reader/fence';
import { partitionOffsets } from '../reader/offsets';
import { batchesBetween } from '../reader/partition-reader';
import { committedRecords } from '../reader/restore';
import type { CommitMark, FeedLog } from './hanging-transactions/committed-through';
import { connectToWholeLog } from './hanging-transactions/hanging-transactions';

/**
 * Becomes the only producer of the feed, ends the hanging transactions of its predecessors, and writes a fence to each partition. This
 * order must not change: a fence proves nothing if another producer can still write behind it, and its marker would decide on
 * transactions that hang.
 * @param topics that get fences
 * @param written takes the offsets of the fences and of later records of the same topics
 * @param acknowledged the last transaction that this ownership knows to be committed
 * @param limits those of the producer
 * @throws HighwaterError LOG_TOPIC_LOST if a topic was made anew or lost records; KAFKA_*, LOG_FAILED; what kafkajs throws
 */
export async function takeOver(
  deps: FeedLog,
  topics: readonly string[],
  written: WrittenOffsets,
  acknowledged: CommitMark | null,
  limits: Parameters<typeof connectProducer>[4],
): Promise<TransactionalProducer> {
  const { kafka, transactionalId, ownerEpoch, signal, maxRecordBytes } = deps;
  for (const topic of topics) if (!written.has(topic)) written.set(topic, new Map());
  const connect = () =>
    connectProducer(readingCluster(kafka), transactionalId, [...deps.partitions.keys()], signal, limits);
  const { producer, lost } = await connectToWholeLog(deps, connect, acknowledged);
  if (lost.length > 0) {
    const again = new PartitionedRecords((topic) => deps.partitions.get(topic)!, maxRecordBytes);
    again.add(lost);
    await writeTransaction(producer, again.sends(), deps.compression, written);
  }
  const fence = (topic: string, partition: number) => {
    const batch = new RecordsEncoder(maxRecordBytes);
    const headers = { [OWNER_EPOCH]: ownerEpoch };
    batch.add({ topic, key: FENCE_KEY, value: null, headers, timestamp: Date.now() });
    return { topic, partition, sends: [batch.finish()] };
  };
  const fences = topics.flatMap((topic) =>
    Array.from({ length: deps.partitions.get(topic)! }, (_, partition) => fence(topic, partition)),
  );
  await writeTransaction(producer, fences, CompressionTypes.None, written);
  return producer;
}

/**
 * Whether a batch was committed last. Only a fence of this ownership proves that it will not be committed later.
 * @param from offset in the source offset topic, behind the last record that this ownership knows of there
 * @param through the offset of the fence; null: the end of what is committed by now
 * @throws HighwaterError LOG_FENCED when another ownership has written there since
 */
export async function isCommitted(
  deps: FeedLog,
  position: BatchPosition,
  from: bigint,
  through: bigint | null,
): Promise<boolean> {
  const { cluster, ownerEpoch, signal } = deps;
  const { feed, sourceOffset } = deps.topics;
  const topic = sourceOffset.name;
  const wanted = JSON.stringify(positionHeaders(position));
  const once = { cluster, doing: `reading ${topic}`, forMs: 0, signal };
  const records = await persistently(async () => {
    const [last] = await partitionOffsets(cluster, [topic], 'end');
    const end = through === null ? (last?.next ?? 0n) : through + 1n;
    return committedRecords(cluster, { topic, partition: 0, next: from, end }, signal);
  }, once);
  let found = false;
  for (const record of records) {
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
 * Asserts that no other publisher has written to the source offset topic since this owner last did. The brokers do not refuse a
 * publisher under another transactional id (another app id on the same topics). Each of two such publishers checks this before it
 * commits. The one whose record comes later in the partition sees the other's record, committed or not, and ends. Its own records,
 * left behind, tell the other publisher.
 * @param from offset behind the last record of this owner, where the marker of its transaction lies
 * @param to offset of the record that is about to be committed
 * @throws HighwaterError LOG_FENCED; what kafkajs throws
 */
export async function assertAlone(deps: FeedLog, from: bigint, to: bigint): Promise<void> {
  const { feed, sourceOffset } = deps.topics;
  const topic = sourceOffset.name;
  // Nearly always only one marker lies in between.
  if (to <= from + 1n) return;
  for await (const batch of batchesBetween(deps.cluster, { topic, partition: 0 }, from, to)) {
    if (batch.isControl) continue;
    const others = [...recordsOf(topic, 0, batch)].find(
      ({ logOffset }) => logOffset >= from && logOffset < to,
    );
    if (others === undefined) continue;
    const what = `another publisher writes to topic ${topic} of feed ${feed} (offset ${others.logOffset}), under another transactional id than ${deps.transactionalId}`;
    throw new HighwaterError('LOG_FENCED', what, {
      remedy:
        'Give both publishers the same app id (HIGHWATER_APP_ID), or topics of their own (HIGHWATER_TOPIC_PREFIX).',
    });
  }
}
