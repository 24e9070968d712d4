import { pause, unlessAborted } from '../../../async/wait';
import type { LogRecord } from '../../commit-log';
import { type Cluster, readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { passesByItself, protocolType } from '../connection/kafka-failure';
import { isFence } from '../reader/fence';
import { leaderlessNotes, leaderlessSince } from '../reader/leaderless';
import {
  fetchRound,
  offsetsSince,
  type PartitionPosition,
  partitionOffsets,
} from '../reader/partition-reader';
import { knowTopic, positionLost, type ReadingDeps, readFailure } from './reading';

/** How long a broker holds a question where nothing is new, in ms. */
const MAX_WAIT_MS = 250;
/** How often it is looked whether the topic has come to be, or has more partitions, in ms. */
const LOOK_INTERVAL_MS = 1_000;

/** As `ConsumerLog.follow`. */
export async function* follow(
  topic: string,
  from: ReadonlyMap<number, number | null>,
  signal: AbortSignal,
  { kafka, target, logger }: ReadingDeps,
): AsyncGenerator<LogRecord> {
  const cluster = acceptLeaderless(readingCluster(kafka));
  const notes = leaderlessNotes(logger);
  const calledAt = Date.now();
  const positions: PartitionPosition[] = [];
  /** That their position is there nobody has said: it is where the partition began when it was looked up. */
  const unread = new Set<PartitionPosition>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isConnected = false;

  async function look(): Promise<void> {
    if (!isConnected) await cluster.connect();
    isConnected = true;
    if (!(await knowTopic(cluster, topic))) return;
    await cluster.refreshMetadata();
    notes.look(cluster, [topic]);
    const isNew = ({ partition }: PartitionPosition) =>
      !positions.some((position) => position.partition === partition);
    const added = (await partitionOffsets(cluster, [topic], 'beginning', 'skip')).filter(isNew);
    const hasLate = added.some(({ partition }) => from.get(partition) === null);
    const late = hasLate ? await offsetsSince(cluster, [topic], leaderlessSince(calledAt)) : [];
    for (const position of added) {
      const next = from.get(position.partition);
      if (typeof next === 'number') {
        positions.push({ ...position, next: BigInt(next) });
        continue;
      }
      const since = late.find(({ partition }) => partition === position.partition);
      if (next === null && since !== undefined) position.next = since.next;
      unread.add(position);
      positions.push(position);
    }
  }

  async function round(): Promise<Iterable<LogRecord>> {
    if (performance.now() - lookedAt >= LOOK_INTERVAL_MS) {
      await look();
      lookedAt = performance.now();
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
    if (protocolType(error) === 'OFFSET_OUT_OF_RANGE') await settlePositions(cluster);
  }

  async function settlePositions(asked: Cluster): Promise<void> {
    for (const position of positions) {
      const lost = await positionLost(asked, position);
      if (lost === null) continue;
      if (!unread.has(position)) throw lost;
      // Retention passed its beginning before it was read: it begins elsewhere now.
      const beginnings = await partitionOffsets(asked, [topic], 'beginning', 'skip');
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
