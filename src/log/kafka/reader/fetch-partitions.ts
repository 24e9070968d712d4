import type { TopicPartition } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import type { CommandTarget } from '../connection/admin-commands';
import { type Cluster, knownLeader, partitionName } from '../connection/cluster';
import { forbidden, isForbidden } from '../connection/kafka-failure';
import { type FetchAnswer, type FetchedPartition, fetchBatches } from '../protocol/fetch';
import type { RecordBatch } from '../protocol/record-batch';
import { leaderOf } from './leaderless';

/** Where to read from. */
export interface FetchPosition {
  readonly topic: string;
  /** The id of the topic to read. Null or left out: the topic that has the name now. */
  readonly topicId?: string | null;
  readonly partition: number;
  /** Offset of the record to come. */
  readonly next: bigint;
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
export async function fetchPartitions(
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
      'Raise the quota of this user or client id (consumer_byte_rate): in ten seconds it must allow at least one batch of records, usually up to 1 MB.',
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

/**
 * Whether topics may be read, asked one by one: of several at once, brokers do not say which they refuse.
 * @param cluster that knows them
 * @throws HighwaterError KAFKA_FORBIDDEN that names every topic; other errors of kafkajs as they are
 */
export async function assertReadable(
  cluster: Cluster,
  topics: readonly string[],
  doing: string,
  target: CommandTarget,
): Promise<void> {
  const refused = await Promise.all(topics.map((topic) => refusal(cluster, topic)));
  const names = topics.filter((_, i) => refused[i] !== null);
  if (names.length === 0) return;
  const cause = refused.find((one) => one !== null);
  throw forbidden(doing, { operation: 'READ', resource: 'topic', names }, target, cause);
}

/** The error of the brokers that refuse it; null if they allow it. */
async function refusal(cluster: Cluster, topic: string): Promise<unknown> {
  const nodeId = knownLeader(cluster, { topic, partition: 0 });
  // A leader that is missing says nothing of permissions, nor does an offset that is there no more.
  if (nodeId === undefined) return null;
  const broker = await cluster.findBroker({ nodeId });
  try {
    await fetchBatches(broker, {
      isolationLevel: READ_COMMITTED,
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes: 1,
      topics: [{ topic, partitions: [{ partition: 0, fetchOffset: '0', maxBytes: 1 }] }],
    });
    return null;
  } catch (error) {
    return isForbidden(error) ? error : null;
  }
}

/** Brokers send the first batch whole, however large, so its length must be damaged. A reader that stepped over it would lose records. */
export function notWhole(position: FetchPosition, { recordBytes }: FetchedPartition): HighwaterError {
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
