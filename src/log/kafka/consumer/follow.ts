import { HighwaterError } from '../../../errors';
import { Outage } from '../../../logging/outage';
import type { LogRecord } from '../../commit-log';
import { readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { protocolType } from '../connection/kafka-failure';
import { persistently } from '../connection/persistently';
import { topicIds } from '../protocol/topic-ids';
import { isFence } from '../reader/fence';
import { LeaderlessNotes, leaderlessSince } from '../reader/leaderless';
import { isSamePartition, offsetsSince, partitionOffsets, positionLost, strays } from '../reader/offsets';
import type { PartitionPosition } from '../reader/partition-reader';
import { readRounds } from '../reader/read-rounds';
import { knowTopic, type ReadingDeps, readingTopics } from './reading';

/** How long a broker holds a request when nothing is new, in ms. */
const MAX_WAIT_MS = 250;

/** As `ConsumerLog.follow`. */
export async function* follow(
  topic: string,
  from: ReadonlyMap<number, number | null>,
  signal: AbortSignal,
  ofId: string | null,
  { kafka, target, logger }: ReadingDeps,
): AsyncGenerator<LogRecord> {
  const cluster = acceptLeaderless(readingCluster(kafka));
  const notes = new LeaderlessNotes(logger);
  const calledAt = Date.now();
  const positions: PartitionPosition[] = [];
  /** Null while it is not known, and where the brokers know no ids. */
  let topicId = ofId;

  async function look(): Promise<void> {
    await cluster.connect();
    if (!(await knowTopic(cluster, topic))) return;
    await cluster.refreshMetadata();
    // The id is asked for before the offsets. If the topic is recreated in between, reading at these offsets is refused.
    const id = (await topicIds(cluster, [topic])).get(topic) ?? null;
    topicId ??= id;
    if (id !== null && id !== topicId)
      throw new HighwaterError('LOG_POSITION_LOST', `the topic ${topic} was deleted and created again`);
    notes.look(cluster, [topic]);
    const beginnings = await partitionOffsets(cluster, [topic], 'beginning');
    const added = beginnings.filter((one) => !positions.some((position) => isSamePartition(position, one)));
    const hasLate = added.some(({ partition }) => from.get(partition) === null);
    const late = hasLate ? await offsetsSince(cluster, [topic], leaderlessSince(calledAt)) : [];
    for (const beginning of added) {
      const asked = from.get(beginning.partition);
      const next = typeof asked === 'number' ? BigInt(asked) : beginning.next;
      const position = { ...beginning, topicId, next, isUnread: typeof asked !== 'number' };
      const since = late.find((one) => isSamePartition(one, position));
      if (asked === null && since !== undefined) position.next = since.next;
      positions.push(position);
    }
  }

  async function recover(error: unknown): Promise<void> {
    logger.debug('reading is tried again', { topic, error });
    if (protocolType(error) !== 'OFFSET_OUT_OF_RANGE') return;
    for (const stray of await strays(cluster, positions)) {
      // Retention may pass the beginning of a partition before it is read: then the partition begins elsewhere.
      if (!stray.position.isUnread) throw positionLost(stray);
      stray.position.next = stray.first;
    }
  }

  const reading = {
    ...readingTopics([topic], target),
    outage: new Outage(`Reading the topic ${topic}`, logger),
    cluster,
    signal,
    forMs: Number.POSITIVE_INFINITY,
    maxWaitMs: MAX_WAIT_MS,
    positions: () => positions,
    isOver: () => false,
    look,
    recover,
  };
  try {
    await persistently(look, reading);
    for await (const records of readRounds(reading)) {
      for (const record of records) {
        if (isFence(record)) continue;
        yield record;
        if (signal.aborted) return;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    cluster.disconnect().catch(() => undefined);
  }
}
