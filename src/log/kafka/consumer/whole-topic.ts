import type { LogRecord } from '../../commit-log';
import type { EndsAt, TopicEnds } from '../../consumer-log';
import { type Cluster, readingCluster, withCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { persistently } from '../connection/persistently';
import { topicIds } from '../protocol/topic-ids';
import { isLeaderless, partitionsOf } from '../reader/leaderless';
import { partitionOffsets } from '../reader/offsets';
import type { PartitionPosition } from '../reader/partition-reader';
import { knowTopic, type ReadingDeps, readingTopics } from '../reader/reading';
import { readThrough } from '../reader/restore';

/** How long brokers may be away, or a transaction open, in ms. */
const PATIENCE_MS = 60_000;

/** As `ConsumerLog.ends`. */
export async function topicEnds(
  topic: string,
  at: EndsAt,
  signal: AbortSignal,
  { kafka, target }: ReadingDeps,
): Promise<TopicEnds> {
  return withCluster(kafka, async (cluster) => {
    if (at === 'reachable') acceptLeaderless(cluster);
    const askId = async () => {
      await cluster.connect();
      return (await topicIds(cluster, [topic])).get(topic) ?? null;
    };
    // The id is asked for before the ends. If the topic is recreated in between, the ends do not count for the new topic.
    const asking = { ...readingTopics([topic], target), cluster, forMs: PATIENCE_MS, signal };
    const topicId = await persistently(askId, asking);
    const found = await endsOf(cluster, topic, at === 'written' ? 'written' : 'end', signal, target);
    const known = found === null ? [] : partitionsOf(cluster, [topic]);
    const leaderless = known.filter((one) => isLeaderless(cluster, one));
    const ends = new Map<number, number | null>(leaderless.map(({ partition }) => [partition, null]));
    for (const { partition, next } of found ?? []) ends.set(partition, Number(next));
    return { topicId, ends };
  });
}

/** As `ConsumerLog.load`. */
export async function* load(
  topic: string,
  signal: AbortSignal,
  { kafka, target }: ReadingDeps,
): AsyncGenerator<LogRecord> {
  const cluster = readingCluster(kafka);
  try {
    const ends = await endsOf(cluster, topic, 'written', signal, target);
    if (ends === null) return;
    const through = new Map(ends.map(({ partition, next }) => [partition, next - 1n]));
    const { asked } = readingTopics([topic], target);
    yield* readThrough(cluster, topic, { through, signal, stallMs: PATIENCE_MS, asked });
  } finally {
    cluster.disconnect().catch(() => undefined);
  }
}

/** Null if there is no such topic. */
async function endsOf(
  cluster: Cluster,
  topic: string,
  at: 'end' | 'written',
  signal: AbortSignal,
  target: ReadingDeps['target'],
): Promise<readonly PartitionPosition[] | null> {
  const ask = async () => {
    await cluster.connect();
    if (!(await knowTopic(cluster, topic))) return null;
    return partitionOffsets(cluster, [topic], at);
  };
  return persistently(ask, { ...readingTopics([topic], target), cluster, forMs: PATIENCE_MS, signal });
}
