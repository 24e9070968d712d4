import { ConfigResourceTypes, type TopicPartition } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import type { LogRecord } from '../../commit-log';
import { configOf } from '../admin/topic-admin';
import { type Cluster, partitionName } from '../connection/cluster';
import { isForbidden } from '../connection/kafka-failure';
import { type FetchAnswer, type FetchedPartition, fetchBatches } from '../protocol/fetch';
import { type RecordBatch, recordsOf } from '../protocol/record-batch';
import { askLeaders, byLeader, leaderOf, missingPartition, tryUnreachable } from './leaderless';

/** One partition that is being read, and how far it has been. */
export interface PartitionPosition extends TopicPartition {
  /** The id of the topic to read. Null or left out: the topic that has the name now. */
  readonly topicId?: string | null;
  /** Offset of the record to come. */
  next: bigint;
  /** Reading ends here; null: never. */
  end: bigint | null;
  /** Whether compaction takes records from the topic. Left out: not known yet; the broker is asked when it matters. */
  isCompacted?: boolean | undefined;
  /** In the last answer, the offset behind the last record that readers are shown. */
  latest?: bigint;
  /** In the last round nothing came, although something was there for readers, or the partition was leaderless. */
  isHeldBack?: boolean;
  /** `next` is where the partition began when it was found, and no round has read it since. */
  isUnread?: boolean;
}

type FetchPosition = Omit<PartitionPosition, 'end'>;

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
    position.latest = answer.lastStableOffset;
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
    const policy = (await configOf(broker, ConfigResourceTypes.TOPIC, topic)).get('cleanup.policy');
    return policy?.split(',').includes('compact') ?? false;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
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
 * Limits of an answer. It is copied and checked in one piece, so a larger one would stop the process for long: 12 MB took 146 ms. Java's
 * consumer asks for as much of a partition.
 */
const [BYTES_PER_PARTITION, BYTES_PER_ANSWER] = [1_048_576, 8 * 1_048_576];

/** Isolation levels of Kafka's protocol. */
export const [READ_UNCOMMITTED, READ_COMMITTED] = [0, 1] as const;

/**
 * One answer of a broker, in the order of the positions; undefined: not in the answer. Takes as long as a quota of the broker holds the answer back.
 * @throws errors of kafkajs; HighwaterError LOG_UNREADABLE; LOG_FAILED when a quota holds everything back for a minute
 */
async function fetchPartitions(
  cluster: Cluster,
  nodeId: string,
  positions: readonly FetchPosition[],
  { isolationLevel, maxWaitMs, maxBytes = BYTES_PER_PARTITION }: Wanted,
): Promise<readonly (FetchedPartition | undefined)[]> {
  const broker = await cluster.findBroker({ nodeId });
  // Brokers serve partitions in the order of the request and may leave out the last ones.
  const first = turns++ % positions.length;
  const request = {
    isolationLevel,
    maxWaitTime: maxWaitMs,
    minBytes: maxWaitMs === 0 ? 0 : 1,
    maxBytes: BYTES_PER_ANSWER,
    topics: [...positions.slice(first), ...positions.slice(0, first)].map(
      ({ topic, topicId, partition, next }) => ({
        topic,
        topicId: topicId ?? null,
        partitions: [{ partition, fetchOffset: String(next), maxBytes }],
      }),
    ),
  };
  let answer = await fetchBatches(broker, request);
  const giveUpAt = performance.now() + HELD_BACK_MS;
  while (isHeldBack(answer)) {
    if (performance.now() > giveUpAt) throw heldBack(positions);
    answer = await fetchBatches(broker, request);
  }
  const found = new Map<string, FetchedPartition>();
  for (const { topicName: topic, partitions } of answer.responses) {
    for (const one of partitions) found.set(partitionName({ topic, partition: one.partition }), one);
  }
  return positions.map((position) => found.get(partitionName(position)));
}

/**
 * Whether a quota holds the answer back: it then has no partition at all, which callers would take for the end of the records. The
 * connection keeps the next request until the broker reads again.
 */
function isHeldBack({ responses, clientSideThrottleTime = 0 }: FetchAnswer): boolean {
  return clientSideThrottleTime > 0 && responses.length === 0;
}

/** A quota that allows any records at all allows them within seconds. In ms. */
const HELD_BACK_MS = 60_000;

function heldBack(positions: readonly FetchPosition[]): HighwaterError {
  const where = positions.map(partitionName).join(', ');
  const what = `a fetch quota of the brokers held back every record of ${where} for ${HELD_BACK_MS / 1_000} s`;
  return new HighwaterError('LOG_FAILED', what, {
    now: 'Reading is tried again.',
    remedy:
      'Raise the quota of this user or client id: in ten seconds consumer_byte_rate must allow at least one batch of records, usually up to 1 MB. A request_percentage that is too low does the same.',
  });
}

interface Wanted {
  /** Isolation level of Kafka's protocol. */
  readonly isolationLevel: 0 | 1;
  /** How long the broker waits for records if there are none, in ms. */
  readonly maxWaitMs: number;
  /** For each partition. The first batch comes even if it is larger. */
  readonly maxBytes?: number;
}

let turns = 0;

/** Brokers send the first batch whole, however large, so its length must be damaged. A reader that stepped over it would lose records. */
function notWhole(position: FetchPosition, { recordBytes }: FetchedPartition): HighwaterError {
  const what = `a broker sent ${recordBytes} bytes of ${partitionName(position)} from offset ${position.next} on, which are not a whole batch`;
  return new HighwaterError('LOG_UNREADABLE', what);
}

/**
 * The committed batches of a fetched partition, in order: without markers, and without batches of aborted transactions. The id of a
 * producer is enough to tell transactions apart: a producer begins none before its last one has ended.
 */
export function committedBatches({ batches, abortedTransactions }: FetchedPartition): RecordBatch[] {
  const aborted = [...abortedTransactions].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const open = new Set<bigint>();
  return batches.filter(({ producerId, lastOffset, isControl, inTransaction }) => {
    while (aborted.length > 0 && aborted[0]!.firstOffset <= lastOffset) open.add(aborted.shift()!.producerId);
    // A marker of either kind ends the producer's transaction. Committed transactions are not in the list.
    if (isControl) open.delete(producerId);
    return !isControl && !(inTransaction && open.has(producerId));
  });
}

/**
 * Where to fetch from next. The end of a batch counts, not its last record: compaction removes records and keeps the range.
 * @returns the same offset when nothing was fetched
 */
export function nextOffset({ batches }: Pick<FetchedPartition, 'batches'>, from: bigint): bigint {
  const last = batches.at(-1);
  if (last === undefined) return from;
  return last.lastOffset >= from ? last.lastOffset + 1n : from + 1n;
}

/** Time for which a broker may send none of the existing records, in ms: because of a quota, or as a new leader. */
const PATIENCE_MS = 10_000;
const MAX_WAIT_MS = 100;

/**
 * All batches that are written in a partition, also of open and aborted transactions, and their markers.
 * @param from inclusive; the first batch may begin before it
 * @param to exclusive, at most the end of the partition; the last batch may end behind it
 * @throws HighwaterError LOG_FAILED, LOG_UNREADABLE; errors of kafkajs
 */
export async function* batchesBetween(
  cluster: Cluster,
  { topic, partition }: TopicPartition,
  from: bigint,
  to: bigint,
): AsyncGenerator<RecordBatch> {
  let emptySince: number | null = null;
  for (let next = from; next < to; ) {
    const place = { topic, partition, next };
    const maxWaitMs = emptySince === null ? 0 : MAX_WAIT_MS;
    const wanted = { isolationLevel: READ_UNCOMMITTED, maxWaitMs };
    const [answer] = await fetchPartitions(cluster, leaderOf(cluster, place), [place], wanted);
    if (answer !== undefined && answer.batches.length > 0) {
      const { batches } = answer;
      for (const batch of batches) if (batch.baseOffset < to && batch.lastOffset >= from) yield batch;
      next = nextOffset({ batches }, next);
      emptySince = null;
      continue;
    }
    if (answer !== undefined && answer.recordBytes > 0) throw notWhole(place, answer);
    // Compaction has removed the rest.
    if (answer !== undefined && answer.highWatermark >= to) return;
    emptySince ??= performance.now();
    if (performance.now() - emptySince > PATIENCE_MS) {
      const what = `${partitionName(place)} could not be read beyond offset ${next} of ${to}`;
      throw new HighwaterError('LOG_FAILED', what);
    }
  }
}
