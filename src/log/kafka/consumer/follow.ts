import { pause, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { LogRecord } from '../../commit-log';
import { readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { passesByItself, protocolType } from '../connection/kafka-failure';
import { topicIds } from '../protocol/topic-ids';
import { isFence } from '../reader/fence';
import { leaderlessNotes, leaderlessSince } from '../reader/leaderless';
import {
  fetchRound,
  offsetsSince,
  type PartitionPosition,
  partitionOffsets,
} from '../reader/partition-reader';
import { knowTopic, positionLost, type ReadingDeps, readFailure } from './reading';

/** How long a broker holds a request when nothing is new, in ms. */
const MAX_WAIT_MS = 250;
/** How often to look whether the topic exists by now, is another one, or has more partitions, in ms. */
const LOOK_INTERVAL_MS = 1_000;

/** What `follow` reads, and how far it has come. */
interface Followed {
  /** Null while it is not known, and where the brokers know no ids. */
  topicId: string | null;
  readonly positions: PartitionPosition[];
  /** Positions that nobody asked for: where their partitions began when they were looked up, and not read since. */
  readonly unread: Set<PartitionPosition>;
  /** Own clock, ms. */
  lookedAt: number;
}

/** As `ConsumerLog.follow`. */
export async function* follow(
  topic: string,
  from: ReadonlyMap<number, number | null>,
  signal: AbortSignal,
  topicId: string | null,
  { kafka, target, logger }: ReadingDeps,
): AsyncGenerator<LogRecord> {
  const cluster = acceptLeaderless(readingCluster(kafka));
  const notes = leaderlessNotes(logger);
  const calledAt = Date.now();
  const followed: Followed = {
    topicId,
    positions: [],
    unread: new Set(),
    lookedAt: Number.NEGATIVE_INFINITY,
  };
  const { positions, unread } = followed;

  async function look(): Promise<void> {
    await cluster.connect();
    if (!(await knowTopic(cluster, topic))) return;
    await cluster.refreshMetadata();
    // Before the offsets: those of a topic that is recreated in between are then refused when they are read.
    const id = (await topicIds(cluster, [topic])).get(topic) ?? null;
    followed.topicId ??= id;
    if (id !== null && id !== followed.topicId)
      throw new HighwaterError('LOG_POSITION_LOST', `the topic ${topic} was deleted and created again`);
    notes.look(cluster, [topic]);
    const isNew = ({ partition }: PartitionPosition) =>
      !positions.some((position) => position.partition === partition);
    const added = (await partitionOffsets(cluster, [topic], 'beginning')).filter(isNew);
    const hasLate = added.some(({ partition }) => from.get(partition) === null);
    const late = hasLate ? await offsetsSince(cluster, [topic], leaderlessSince(calledAt)) : [];
    for (const beginning of added) {
      const position = { ...beginning, topicId: followed.topicId };
      const next = from.get(position.partition);
      const since = late.find(({ partition }) => partition === position.partition);
      if (typeof next === 'number') position.next = BigInt(next);
      else unread.add(position);
      if (next === null && since !== undefined) position.next = since.next;
      positions.push(position);
    }
  }

  async function round(): Promise<Iterable<LogRecord>> {
    if (performance.now() - followed.lookedAt >= LOOK_INTERVAL_MS) {
      await look();
      followed.lookedAt = performance.now();
    }
    const found = await fetchRound(cluster, positions, MAX_WAIT_MS);
    if (positions.length > 0) unread.clear();
    return found;
  }

  /** Throws what will not pass by waiting. */
  async function recover(error: unknown): Promise<void> {
    const failure = readFailure(error, [topic], target);
    if (!passesByItself(failure)) throw failure;
    logger.debug('reading is tried again', { topic, error: failure });
    await pause(MAX_WAIT_MS, signal);
    await cluster.refreshMetadata();
    if (protocolType(error) === 'OFFSET_OUT_OF_RANGE') await settlePositions();
  }

  async function settlePositions(): Promise<void> {
    for (const position of positions) {
      const lost = await positionLost(cluster, position);
      if (lost === null) continue;
      if (!unread.has(position)) throw lost;
      // Retention passed its beginning before it was read: the partition begins elsewhere now.
      const beginnings = await partitionOffsets(cluster, [topic], 'beginning');
      const begin = beginnings.find(({ partition }) => partition === position.partition);
      if (begin !== undefined) position.next = begin.next;
    }
  }

  try {
    while (!signal.aborted) {
      let found: Iterable<LogRecord>;
      try {
        found = await unlessAborted(round(), signal);
      } catch (error) {
        if (signal.aborted) return;
        await recover(error).catch((failure: unknown) => {
          const named = readFailure(failure, [topic], target);
          if (!passesByItself(named)) throw named;
        });
        continue;
      }
      if (positions.length === 0) await pause(MAX_WAIT_MS, signal);
      for (const record of found) {
        if (isFence(record)) continue;
        yield record;
        if (signal.aborted) return;
      }
    }
  } finally {
    cluster.disconnect().catch(() => undefined);
  }
}
