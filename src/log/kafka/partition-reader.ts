import { HighwaterError } from '../../errors';
import type { LogRecord } from '../commit-log';
import type { Cluster, FetchedMessage, FetchedPartition } from './cluster';
import { committedMessages, logRecord, nextOffset } from './committed';

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
 * partition, and the positions move on.
 * @param maxWaitMs how long a broker waits for records where there are none
 * @param maxBytes of one partition; the first batch comes even so
 * @throws errors of kafkajs; no position has moved then, whatever other leaders answered: the round can be tried again
 */
export async function fetchRound(
  cluster: Cluster,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
  maxBytes = BYTES_PER_PARTITION,
): Promise<LogRecord[]> {
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
  return rounds.flatMap(({ records }) => records);
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
): Promise<{ records: LogRecord[]; moved: Map<PartitionPosition, bigint> }> {
  const fetched = await fetchPartitions(cluster, nodeId, positions, maxWaitMs, maxBytes);
  const records: LogRecord[] = [];
  const moved = new Map<PartitionPosition, bigint>();
  for (const position of positions) {
    const { topic, partition, next } = position;
    let answer = fetched.get(`${topic} ${partition}`);
    if (answer !== undefined && isBehind(answer, next) && positions.length > 1) {
      // Left out of a full answer, or a batch that compaction has emptied: asked for alone, it cannot be left out.
      const alone = await fetchPartitions(cluster, nodeId, [position], maxWaitMs, maxBytes);
      answer = alone.get(`${topic} ${partition}`);
    }
    if (answer === undefined) continue;
    for (const message of committedMessages(answer, next)) {
      if (position.end !== null && BigInt(message.offset) >= position.end) break;
      records.push(logRecord(topic, partition, message));
    }
    // A batch without records tells nothing of its size: step through it. Without this step its reader would stand still.
    moved.set(position, isBehind(answer, next) ? next + 1n : nextOffset(answer, next));
  }
  return { records, moved };
}

/** Something stable is there, and no record of it came. */
function isBehind({ lastStableOffset, messages }: FetchedPartition, next: bigint): boolean {
  return messages.length === 0 && BigInt(lastStableOffset) > next;
}

async function fetchPartitions(
  cluster: Cluster,
  nodeId: string,
  positions: readonly PartitionPosition[],
  maxWaitMs: number,
  maxBytes: number,
): Promise<Map<string, FetchedPartition>> {
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
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
    records.push(...(await fetchRound(cluster, [position], 500)));
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
  for await (const { offset, isControlRecord } of everythingBetween(
    cluster,
    { topic, partition: 0 },
    from,
    to,
  )) {
    if (!isControlRecord) found.push(BigInt(offset));
  }
  return found;
}

/**
 * All that is written in a partition, of open and aborted transactions too, and their markers.
 * @param from inclusive
 * @param to exclusive
 */
export async function* everythingBetween(
  cluster: Cluster,
  place: Pick<PartitionPosition, 'topic' | 'partition'>,
  from: bigint,
  to: bigint,
): AsyncGenerator<FetchedMessage> {
  const { topic, partition } = place;
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  if (nodeId === undefined) throw missingPartition(place);
  const broker = await cluster.findBroker({ nodeId });
  for (let next = from; next < to; ) {
    const { responses } = await broker.fetch({
      ...{ isolationLevel: READ_UNCOMMITTED, maxWaitTime: 0, minBytes: 0, maxBytes: BYTES_PER_PARTITION },
      topics: [
        { topic, partitions: [{ partition, fetchOffset: String(next), maxBytes: BYTES_PER_PARTITION }] },
      ],
    });
    const messages = responses[0]?.partitions[0]?.messages ?? [];
    const last = messages.at(-1);
    if (last === undefined) break;
    for (const message of messages) {
      const offset = BigInt(message.offset);
      if (offset >= from && offset < to) yield message;
    }
    next = BigInt(last.offset) + 1n;
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
