import { oneAhead } from '../../../async/one-ahead';
import { HighwaterError } from '../../../errors';
import type { LogRecord } from '../../commit-log';
import type { EndsAt, TopicEnds } from '../../consumer-log';
import { topicLost } from '../../topics';
import { type Cluster, drop, partitionName, readingCluster, withCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { type Asked, isOfMissingTopic } from '../connection/kafka-failure';
import { type Persistence, persistently } from '../connection/persistently';
import { topicIds } from '../protocol/newer-requests';
import { isFence } from './fence';
import { isLeaderless, partitionsOf } from './leaderless';
import { offsetsSince, partitionOffsets } from './offsets';
import { isAtEnd, type PartitionPosition } from './partition-reader';
import { HEARS_MS, knowTopic, type Reading, type ReadingDeps, readingTopics, readRounds } from './reading';

const MAX_WAIT_MS = 500;

export interface RestoreOptions {
  /** By partition: the offset of the last record to be read, such as the fence. Compaction may have removed this record. */
  readonly through: ReadonlyMap<number, bigint>;
  /** By partition: the offset to begin at; default: the beginning. */
  readonly from?: readonly number[] | undefined;
  /** As `PartitionPosition.isCompacted`. */
  readonly isCompacted?: boolean | undefined;
  readonly signal: AbortSignal;
  /** Restoring is given up after this long without any progress, in ms. */
  readonly stallMs: number;
  /** As `kafkaFailure` takes it. */
  readonly asked?: Asked;
}

/**
 * All committed records of a topic through given offsets. Positions decide when it ends, not the records it meets:
 * transaction markers, compaction and records of other programs cannot hide the end from it.
 * @throws HighwaterError LOG_RESTORE_STALLED, KAFKA_*; LOG_TOPIC_LOST if the topic, or records behind `from`, are gone; the signal's reason
 */
export async function* readThrough(
  cluster: Cluster,
  topic: string,
  { through, from, isCompacted, stallMs, ...options }: RestoreOptions,
): AsyncGenerator<LogRecord> {
  const { signal } = options;
  const reading = { ...options, cluster, doing: `reading ${topic}`, forMs: stallMs };
  const beganAt = performance.now();
  const begin = () =>
    partitionOffsets(cluster, [topic], 'beginning').catch((error: unknown) => {
      if (isOfMissingTopic(error) && performance.now() - beganAt > HEARS_MS) return null;
      throw error;
    });
  const found = await persistently(begin, reading);
  if (found === null) throw topicLost(topic);
  const positions = found.map((position): PartitionPosition => {
    const end = (through.get(position.partition) ?? -1n) + 1n;
    const next = BigInt(from?.[position.partition] ?? position.next);
    if (next < position.next)
      throw new HighwaterError('LOG_TOPIC_LOST', `Topic ${topic} has no records before ${position.next}.`);
    const isUnread = from === undefined;
    return { ...position, next, end, isUnread, isCompacted };
  });
  const rounds = (stop: AbortSignal) => roundsToEnd(positions, { ...reading, signal: stop }, stallMs);
  for await (const { value: records } of oneAhead(rounds, signal)) {
    for (const record of records) {
      if (isFence(record)) continue;
      signal.throwIfAborted();
      yield record;
    }
  }
  if (!positions.every(isAtEnd)) throw stalled(positions, stallMs);
}

/** @param giveUpMs how long rounds in a row may bring nothing */
function roundsToEnd(
  positions: readonly PartitionPosition[],
  reading: Persistence & Pick<Reading, 'cluster'>,
  giveUpMs: number,
): ReturnType<typeof readRounds> {
  return readRounds({
    ...reading,
    maxWaitMs: MAX_WAIT_MS,
    positions: () => positions,
    isOver: (emptyMs) => emptyMs >= giveUpMs || positions.every(isAtEnd),
  });
}

function stalled(positions: readonly PartitionPosition[], stallMs: number): HighwaterError {
  const where = positions
    .filter((position) => !isAtEnd(position))
    .map((one) => `${partitionName(one)} stands at offset ${one.next} of ${one.end}`);
  const what = `Nothing could be read for ${stallMs / 1000} s although there is more: ${where.join('; ')}. A transaction of another program is open there.`;
  return new HighwaterError('LOG_RESTORE_STALLED', what);
}

const READ_MS = 20_000;

/**
 * The records of one partition of a compacted topic that readers are shown, through an end that they are shown. It lies
 * before the last committed record, so a broker that is well answers at once.
 * @throws HighwaterError LOG_RESTORE_STALLED when it takes too long; KAFKA_*, LOG_*; the signal's reason
 */
export async function committedRecords(
  cluster: Cluster,
  place: PartitionPosition & { readonly end: bigint },
  signal: AbortSignal,
): Promise<LogRecord[]> {
  const { topic, partition, end } = place;
  const position = { ...place, isCompacted: true };
  const records: LogRecord[] = [];
  const rounds = roundsToEnd([position], { cluster, doing: `reading ${topic}`, forMs: 0, signal }, READ_MS);
  for await (const round of rounds) for (const record of round) records.push(record);
  if (isAtEnd(position)) return records;
  const what = `${topic}/${partition} could not be read beyond offset ${position.next} of ${end}`;
  throw new HighwaterError('LOG_RESTORE_STALLED', what);
}

/** How long brokers may be away, or a transaction open, in ms. */
const PATIENCE_MS = 60_000;

/** As `ConsumerLog.ends`. */
export function topicEnds(
  topic: string,
  at: EndsAt,
  signal: AbortSignal,
  { kafka, target }: ReadingDeps,
): Promise<TopicEnds> {
  return withCluster(kafka, async (cluster) => {
    if (at === 'reachable') acceptLeaderless(cluster);
    const ask = async () => {
      await cluster.connect();
      // The id is asked for before the ends. If the topic is recreated in between, the ends do not count for the new topic.
      const topicId = (await topicIds(cluster, [topic])).get(topic) ?? null;
      return { topicId, ends: await endsOf(cluster, topic, at) };
    };
    return persistently(ask, { ...readingTopics([topic], target), cluster, forMs: PATIENCE_MS, signal });
  });
}

/** As `ConsumerLog.load`. */
export async function* load(
  topic: string,
  signal: AbortSignal,
  isCompacted: boolean,
  { kafka, target }: ReadingDeps,
): AsyncGenerator<LogRecord> {
  const cluster = readingCluster(kafka);
  const reading = { ...readingTopics([topic], target), signal };
  const ask = () => cluster.connect().then(() => endsOf(cluster, topic, 'written'));
  try {
    const ends = await persistently(ask, { ...reading, cluster, forMs: PATIENCE_MS });
    const through = new Map([...ends].map(([partition, end]) => [partition, BigInt(end ?? 0) - 1n]));
    if (through.size === 0) return;
    const options = { ...reading, through, stallMs: PATIENCE_MS, isCompacted: isCompacted || undefined };
    yield* readThrough(cluster, topic, options);
  } finally {
    drop(cluster);
  }
}

/** By partition. Null: it has no leader. Empty if there is no such topic. */
async function endsOf(cluster: Cluster, topic: string, at: EndsAt): Promise<Map<number, number | null>> {
  if (!(await knowTopic(cluster, topic))) return new Map();
  const ofReaders = at === 'committed' || at === 'reachable';
  const found =
    typeof at === 'object'
      ? await offsetsSince(cluster, [topic], at.sinceMs)
      : await partitionOffsets(cluster, [topic], ofReaders ? 'end' : at);
  const leaderless = partitionsOf(cluster, [topic]).filter((one) => isLeaderless(cluster, one));
  const ends = new Map<number, number | null>(leaderless.map(({ partition }) => [partition, null]));
  for (const { partition, next } of found) ends.set(partition, Number(next));
  return ends;
}
