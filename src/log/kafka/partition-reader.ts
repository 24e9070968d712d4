import { HighwaterError } from '../../errors';
import type { LogRecord } from '../commit-log';
import type { Cluster } from './cluster';
import { committedBatches, nextOffset } from './committed';
import { type FetchedPartition, fetchBatches } from './fetch';
import { type RecordBatch, recordsOf } from './record-batch';

/** One partition that is being read, and how far it has been. */
export interface PartitionPosition {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the record to come. */
  next: bigint;
  /** Reading ends here; null: never. */
  end: bigint | null;
}

const BYTES_PER_PARTITION = 4 * 1_048_576;
const BYTES_PER_ANSWER = 32 * 1_048_576;

/**
 * One round over all positions that have not come to their end. What has been committed since is returned, in log order per
 * partition, and the positions move on. Records are decoded one at a time, when they are asked for.
 * @param maxWaitMs how long a broker waits for records where there are none
 * @param maxBytes of one partition; the first batch comes even so
 * @throws errors of kafkajs; no position has moved then, whatever other leaders answered: the round can be tried again
 */
export async function fetchRound(
  cluster: Cluster,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
  maxBytes = BYTES_PER_PARTITION,
): Promise<Iterable<LogRecord>> {
  const byLeader = new Map<string, PartitionPosition[]>();
  for (const position of positions) {
    if (isAtEnd(position)) continue;
    const leaders = cluster.findLeaderForPartitions(position.topic, [position.partition]);
    const [leader] = Object.keys(leaders);
    if (leader === undefined) throw missingPartition(position);
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), position]);
  }
  const rounds = await Promise.all(
    [...byLeader].map(([nodeId, own]) => fetchFrom(cluster, nodeId, own, maxWaitMs, maxBytes)),
  );
  for (const { moved } of rounds) for (const [position, next] of moved) position.next = next;
  return inOrder(rounds.flatMap(({ records }) => records));
}

function* inOrder(parts: readonly Iterable<LogRecord>[]): Generator<LogRecord> {
  for (const part of parts) yield* part;
}

export function isAtEnd({ next, end }: PartitionPosition): boolean {
  return end !== null && next >= end;
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
  maxBytes: number,
): Promise<{ records: Iterable<LogRecord>[]; moved: Map<PartitionPosition, bigint> }> {
  const fetched = await fetchPartitions(cluster, nodeId, positions, maxWaitMs, maxBytes);
  const records: Iterable<LogRecord>[] = [];
  const moved = new Map<PartitionPosition, bigint>();
  for (const position of positions) {
    const { topic, partition, next } = position;
    let answer = fetched.get(`${topic} ${partition}`);
    if (answer !== undefined && isBehind(answer, next) && positions.length > 1) {
      // Left out of a full answer: asked for alone, it cannot be.
      const alone = await fetchPartitions(cluster, nodeId, [position], maxWaitMs, maxBytes);
      answer = alone.get(`${topic} ${partition}`);
    }
    if (answer === undefined) continue;
    if (isBehind(answer, next) && answer.recordBytes > 0) throw notWhole(position, answer);
    records.push(committedRecordsOf(answer, position, next));
    // Where compaction took all batches up to an open transaction: without this step its reader would stand still.
    moved.set(position, isBehind(answer, next) ? next + 1n : nextOffset(answer, next));
  }
  return { records, moved };
}

/** Something stable is there, and none of it came. */
function isBehind({ lastStableOffset, batches }: FetchedPartition, next: bigint): boolean {
  return batches.length === 0 && lastStableOffset > next;
}

/** Brokers send the first batch whole, however large: what is taken for its length is not. To step on would lose its records. */
function notWhole(
  { topic, partition, next }: PartitionPosition,
  { recordBytes }: FetchedPartition,
): HighwaterError {
  const what = `of ${topic}/${partition} from offset ${next} on came ${recordBytes} bytes, which are no whole batch`;
  return new HighwaterError('LOG_UNREADABLE', what);
}

/** From an offset on, which may lie within the first batch, up to the position's end. */
function* committedRecordsOf(
  fetched: FetchedPartition,
  { topic, partition, end }: PartitionPosition,
  from: bigint,
): Generator<LogRecord> {
  const [first, behind] = [Number(from), end === null ? Number.POSITIVE_INFINITY : Number(end)];
  for (const batch of committedBatches(fetched)) {
    for (const record of recordsOf(topic, partition, batch)) {
      if (record.logOffset >= behind) return;
      if (record.logOffset >= first) yield record;
    }
  }
}

async function fetchPartitions(
  cluster: Cluster,
  nodeId: string,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
  maxBytes: number,
): Promise<Map<string, FetchedPartition>> {
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await fetchBatches(broker, {
    isolationLevel: READ_COMMITTED,
    maxWaitTime: maxWaitMs,
    minBytes: 1,
    maxBytes: BYTES_PER_ANSWER,
    topics: positions.map(({ topic, partition, next }) => ({
      topic,
      partitions: [{ partition, fetchOffset: String(next), maxBytes }],
    })),
  });
  const found = new Map<string, FetchedPartition>();
  for (const { topicName, partitions } of responses) {
    for (const fetched of partitions) found.set(`${topicName} ${fetched.partition}`, fetched);
  }
  return found;
}

/**
 * What readers are shown of one partition, through an end that they are shown.
 * @throws HighwaterError LOG_RESTORE_STALLED when it takes longer than `withinMs`; errors of kafkajs
 */
export async function committedRecords(
  cluster: Cluster,
  place: PartitionPosition & { end: bigint },
  withinMs: number,
): Promise<LogRecord[]> {
  const position = { ...place };
  const records: LogRecord[] = [];
  const giveUpAt = performance.now() + withinMs;
  while (!isAtEnd(position)) {
    for (const record of await fetchRound(cluster, [position], 500)) records.push(record);
    if (performance.now() > giveUpAt) {
      const { topic, partition, next, end } = position;
      const what = `${topic}/${partition} could not be read beyond offset ${next} of ${end}`;
      throw new HighwaterError('LOG_RESTORE_STALLED', what);
    }
  }
  return records;
}

/**
 * Offsets of records of any program in partition 0 of a topic, of open and aborted transactions too, without markers.
 * @param from inclusive
 * @param to exclusive
 */
export async function dataBetween(
  cluster: Cluster,
  topic: string,
  from: bigint,
  to: bigint,
): Promise<readonly bigint[]> {
  const found: bigint[] = [];
  for await (const batch of batchesBetween(cluster, { topic, partition: 0 }, from, to)) {
    if (batch.isControl) continue;
    for (const { logOffset } of recordsOf(topic, 0, batch)) {
      const offset = BigInt(logOffset);
      if (offset >= from && offset < to) found.push(offset);
    }
  }
  return found;
}

/**
 * All that is written in a partition, of open and aborted transactions too, and their markers.
 * @param from inclusive; the first batch may begin before it
 * @param to exclusive; the last batch may end behind it
 */
export async function* batchesBetween(
  cluster: Cluster,
  place: Pick<PartitionPosition, 'topic' | 'partition'>,
  from: bigint,
  to: bigint,
): AsyncGenerator<RecordBatch> {
  const { topic, partition } = place;
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  if (nodeId === undefined) throw missingPartition(place);
  const broker = await cluster.findBroker({ nodeId });
  for (let next = from; next < to; ) {
    const { responses } = await fetchBatches(broker, {
      ...{ isolationLevel: READ_UNCOMMITTED, maxWaitTime: 0, minBytes: 0, maxBytes: BYTES_PER_PARTITION },
      topics: [
        {
          topic,
          partitions: [{ partition, fetchOffset: String(next), maxBytes: BYTES_PER_PARTITION }],
        },
      ],
    });
    const batches = responses[0]?.partitions[0]?.batches ?? [];
    if (batches.length === 0) break;
    for (const batch of batches) if (batch.baseOffset < to && batch.lastOffset >= from) yield batch;
    next = nextOffset({ batches }, next);
  }
}

function missingPartition({
  topic,
  partition,
}: Pick<PartitionPosition, 'topic' | 'partition'>): HighwaterError {
  const what = `partition ${partition} of topic ${topic} has no leader, or is not there any more`;
  return new HighwaterError('LOG_FAILED', what, {
    remedy: 'Nothing, when it passes. Else look into the log of the brokers.',
  });
}

/**
 * Offsets of the partitions of topics: of the first retained record (`beginning`), after the last one that readers are shown
 * (`end`), or after the last one there is, in open transactions too (`written`).
 */
export async function partitionOffsets(
  cluster: Cluster,
  topics: readonly string[],
  at: 'beginning' | 'end' | 'written' | { readonly sinceMs: number },
): Promise<PartitionPosition[]> {
  const byLeader = new Map<
    string,
    { topic: string; partitions: { partition: number; timestamp: number }[] }[]
  >();
  const timestamp = typeof at === 'object' ? at.sinceMs : at === 'beginning' ? FIRST_RETAINED : LAST;
  for (const topic of topics) {
    const all = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
    for (const [leader, led] of Object.entries(cluster.findLeaderForPartitions(topic, all))) {
      const asked = { topic, partitions: led.map((partition) => ({ partition, timestamp })) };
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), asked]);
    }
  }
  const isolationLevel = at === 'written' ? READ_UNCOMMITTED : READ_COMMITTED;
  const answers = await Promise.all(
    [...byLeader].map(async ([nodeId, asked]) => {
      const broker = await cluster.findBroker({ nodeId });
      const { responses } = await broker.listOffsets({ isolationLevel, topics: asked });
      return responses;
    }),
  );
  return answers
    .flat()
    .flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => ({ topic, partition, next: BigInt(offset), end: null })),
    );
}

/** Of Kafka's protocol. */
const [READ_UNCOMMITTED, READ_COMMITTED] = [0, 1] as const;
const [FIRST_RETAINED, LAST] = [-2, -1] as const;
