import { HighwaterError } from '../../errors';
import type { LogRecord } from '../commit-log';
import type { Cluster } from './cluster';
import { committedBatches, nextOffset } from './committed';
import type { FetchedPartition } from './fetch';
import {
  BYTES_PER_PARTITION,
  fetchPartitions,
  leaderOf,
  notWhole,
  type Place,
  READ_COMMITTED,
  READ_UNCOMMITTED,
} from './fetch-partitions';
import { recordsOf } from './record-batch';

/** One partition that is being read, and how far it has been. */
export interface PartitionPosition extends Place {
  next: bigint;
  /** Reading ends here; null: never. */
  end: bigint | null;
}

/**
 * One round over all positions that have not come to their end. What has been committed since is returned, in log order per
 * partition, and the positions move on. Records are decoded one at a time, when they are asked for.
 * @param maxWaitMs how long a broker waits for records where there are none
 * @param maxBytes of one partition; the first batch comes even so
 * @throws errors of kafkajs, HighwaterError LOG_UNREADABLE; no position has moved then, whatever other leaders answered: the round
 * can be tried again. Where records that are asked for cannot be decoded, LOG_UNREADABLE too, and the positions have moved
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
    const leader = leaderOf(cluster, position);
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), position]);
  }
  const rounds = await Promise.all(
    [...byLeader].map(([nodeId, own]) => fetchFrom(cluster, nodeId, own, maxWaitMs, maxBytes)),
  );
  for (const { moved } of rounds) for (const [position, next] of moved) position.next = next;
  return inOrder(rounds.flatMap(({ records }) => records));
}

/**
 * The same, decoded.
 * @throws the same, and HighwaterError LOG_UNREADABLE: no position has moved then
 */
export async function fetchDecoded(
  cluster: Cluster,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
  maxBytes: number,
): Promise<LogRecord[]> {
  const before = positions.map(({ next }) => next);
  const records = await fetchRound(cluster, positions, maxWaitMs, maxBytes);
  try {
    return [...records];
  } catch (error) {
    for (const [i, position] of positions.entries()) position.next = before[i]!;
    throw error;
  }
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
  const wanted = { isolationLevel: READ_COMMITTED, maxWaitMs, maxBytes };
  const fetched = await fetchPartitions(cluster, nodeId, positions, wanted);
  const records: Iterable<LogRecord>[] = [];
  const moved = new Map<PartitionPosition, bigint>();
  for (const position of positions) {
    const { topic, partition, next } = position;
    let answer = fetched.get(`${topic} ${partition}`);
    if (answer !== undefined && isBehind(answer, next) && positions.length > 1) {
      // Left out of a full answer: asked for alone, it cannot be.
      const alone = await fetchPartitions(cluster, nodeId, [position], wanted);
      answer = alone.get(`${topic} ${partition}`);
    }
    if (answer === undefined) continue;
    records.push(committedRecordsOf(answer, position, next));
    moved.set(
      position,
      isBehind(answer, next)
        ? await behindGap(cluster, nodeId, position, answer, maxWaitMs)
        : nextOffset(answer, next),
    );
  }
  return { records, moved };
}

/** Something stable is there, and none of it came. */
function isBehind({ lastStableOffset, batches }: FetchedPartition, next: bigint): boolean {
  return batches.length === 0 && lastStableOffset > next;
}

/**
 * Where to go on when an answer for this partition alone had nothing, though there ought to be something. Compaction may have
 * taken all up to an open transaction, of which the first batch is seen then by who asks for any. But a broker that gets
 * records from elsewhere answers so as well when that takes long: whoever stepped on would lose them.
 */
async function behindGap(
  cluster: Cluster,
  nodeId: string,
  position: PartitionPosition,
  answer: FetchedPartition,
  maxWaitMs: number,
): Promise<bigint> {
  const { topic, partition, next, end } = position;
  if (answer.recordBytes > 0) throw notWhole(position, answer);
  const wanted = { isolationLevel: READ_UNCOMMITTED, maxWaitMs, maxBytes: 1 };
  const any = await fetchPartitions(cluster, nodeId, [position], wanted);
  const first = any.get(`${topic} ${partition}`)?.batches[0];
  if (first === undefined) {
    // What is to come leads over the gap; without it, a reader that has an end would never come to it.
    return end === null ? next : next + 1n;
  }
  if (first.baseOffset <= next) return next;
  if (first.baseOffset > answer.lastStableOffset) return answer.lastStableOffset;
  return first.baseOffset;
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
const [FIRST_RETAINED, LAST] = [-2, -1] as const;
