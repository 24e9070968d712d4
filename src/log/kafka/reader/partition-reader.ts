import { ConfigResourceTypes } from 'kafkajs';
import type { LogRecord } from '../../commit-log';
import type { Cluster } from '../connection/cluster';
import { isForbidden } from '../connection/kafka-failure';
import type { FetchedPartition } from '../protocol/fetch';
import { recordsOf } from '../protocol/record-batch';
import {
  committedBatches,
  type FetchPosition,
  fetchPartitions,
  nextOffset,
  notWhole,
  READ_COMMITTED,
  READ_UNCOMMITTED,
} from './fetch-partitions';
import { askLeaders, byLeader, missingPartition, tryUnreachable } from './leaderless';

/** One partition that is being read, and how far it has been. */
export interface PartitionPosition extends FetchPosition {
  next: bigint;
  /** Reading ends here; null: never. */
  end: bigint | null;
  /** Whether compaction takes records from the topic. Left out: not known yet; the broker is asked when it matters. */
  isCompacted?: boolean | undefined;
  /** In the last round nothing came, although something was there for readers, or the partition was leaderless. */
  isHeldBack?: boolean;
  /** `next` is where the partition began when it was found, and no round has read it since. */
  isUnread?: boolean;
}

/**
 * One round over all positions that have not come to their end. It returns the records committed since, in log order per partition,
 * and advances the positions. Records are decoded one at a time, when the caller asks for them. Leaderless partitions are left out,
 * unless all are leaderless.
 * @param maxWaitMs how long a broker waits for records if there are none
 * @throws errors of kafkajs, HighwaterError LOG_UNREADABLE, LOG_FAILED (all are leaderless): no position has moved then, whatever
 * other leaders answered, and the round can be tried again. LOG_UNREADABLE also when a record that the caller asks for cannot be
 * decoded; the positions have moved then
 */
export async function fetchRound(
  cluster: Cluster,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
): Promise<Iterable<LogRecord>> {
  tryUnreachable(cluster);
  const left = positions.filter((position) => !isAtEnd(position));
  // Until an answer says otherwise: its leader may turn out to be unreachable.
  for (const position of left) position.isHeldBack = true;
  const rounds = await askLeaders(cluster, byLeader(cluster, left), (nodeId, own) =>
    fetchFrom(cluster, nodeId, own, maxWaitMs),
  );
  if (left[0] !== undefined && rounds.length === 0) throw missingPartition(left[0]);
  for (const { position, next } of rounds.flat()) {
    position.next = next;
    position.isUnread = false;
  }
  return inOrder(rounds.flat().map(({ records }) => records));
}

/**
 * The same, decoded.
 * @throws the same, and HighwaterError LOG_UNREADABLE: no position has moved then
 */
export async function fetchDecoded(
  cluster: Cluster,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
): Promise<LogRecord[]> {
  const before = positions.map(({ next }) => next);
  const records = await fetchRound(cluster, positions, maxWaitMs);
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

/** `next`: where the position is to go on. */
interface Fetched extends Pick<PartitionPosition, 'next'> {
  readonly position: PartitionPosition;
  readonly records: Iterable<LogRecord>;
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
): Promise<Fetched[]> {
  const wanted = { isolationLevel: READ_COMMITTED, maxWaitMs };
  const fetched = await fetchPartitions(cluster, nodeId, positions, wanted);
  const found: Fetched[] = [];
  for (const [i, position] of positions.entries()) {
    const { next: from } = position;
    let answer = fetched[i];
    if (answer !== undefined && isBehind(answer, from) && positions.length > 1) {
      // A full answer may leave it out, but not if it is the only partition that was asked for.
      [answer] = await fetchPartitions(cluster, nodeId, [position], wanted);
    }
    if (answer === undefined) continue;
    const isEmpty = isBehind(answer, from);
    const next = isEmpty
      ? await behindGap(cluster, nodeId, position, answer, maxWaitMs)
      : nextOffset(answer, from);
    position.isHeldBack = isEmpty && next === from;
    found.push({ position, next, records: committedRecordsOf(answer, position, from) });
  }
  return found;
}

/** Whether the partition has stable records and none of them came. */
function isBehind({ lastStableOffset, batches }: FetchedPartition, next: bigint): boolean {
  return batches.length === 0 && lastStableOffset > next;
}

/**
 * Where to go on if an answer for only this partition was empty, although the partition has stable records. Compaction may have
 * removed all records up to an open transaction, whose first batch an uncommitted fetch shows. But a broker answers like that, too,
 * while its remote storage is slow: a reader that stepped on would lose records. Compacted topics are never kept in remote storage
 * (KIP-405), so an empty answer is believed only for them.
 */
async function behindGap(
  cluster: Cluster,
  nodeId: string,
  position: PartitionPosition,
  answer: FetchedPartition,
  maxWaitMs: number,
): Promise<bigint> {
  const { topic, next, end } = position;
  if (answer.recordBytes > 0) throw notWhole(position, answer);
  const wanted = { isolationLevel: READ_UNCOMMITTED, maxWaitMs, maxBytes: 1 };
  const [any] = await fetchPartitions(cluster, nodeId, [position], wanted);
  const first = any?.batches[0];
  if (first === undefined) {
    // Later records lead over the gap. Without any, a reader that has an end would never come to it.
    if (end === null) return next;
    position.isCompacted ??= await isCompacted(cluster, nodeId, topic);
    return position.isCompacted ? next + 1n : next;
  }
  if (first.baseOffset <= next) return next;
  if (first.baseOffset > answer.lastStableOffset) return answer.lastStableOffset;
  return first.baseOffset;
}

/** Also false if this user may not see the settings: the reader waits rather than lose records. @throws errors of kafkajs */
async function isCompacted(cluster: Cluster, nodeId: string, topic: string): Promise<boolean> {
  const broker = await cluster.findBroker({ nodeId });
  try {
    const { resources } = await broker.describeConfigs({
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: [CLEANUP_POLICY] }],
    });
    const entries = resources.flatMap(({ configEntries }) => configEntries);
    const policy = entries.find(({ configName }) => configName === CLEANUP_POLICY)?.configValue;
    return policy?.split(',').includes('compact') ?? false;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}

const CLEANUP_POLICY = 'cleanup.policy';

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
