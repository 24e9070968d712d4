import type { Kafka } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { joinSignals, unlessAborted } from '../../../async/wait';
import { Outage } from '../../../logging/outage';
import type { LogRecord, ReadOptions } from '../../commit-log';
import { drop, partitionName, readingCluster, withCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { kafkaFailure, passesByItself, protocolType } from '../connection/kafka-failure';
import { type Persistence, persistently } from '../connection/persistently';
import { isFence } from './fence';
import type { LeaderlessNotes } from './leaderless';
import { type Reading, type ReadingDeps, readingTopics, readRounds } from './reading';
import { GIVE_UP_MS, namesOf, TopicPositions, type TopicReading } from './topic-positions';

export interface ReadDeps extends ReadingDeps {
  /** Aborted with LOG_CLOSED when the log is closed. */
  readonly closing: AbortSignal;
  readonly notes: LeaderlessNotes;
}

/** How long a broker holds a request when nothing is new, in ms: at most this late a reader learns that it is to end. */
const MAX_WAIT_MS = 250;

/**
 * Names of all topics of the cluster, sorted, Kafka's own left out.
 * @param outage tells people if that takes long. It is the same for each call, since the caller may try again
 */
export async function topicNames(kafka: Kafka, outage: Outage): Promise<string[]> {
  outage.began();
  try {
    const names = await withCluster(kafka, async (cluster) => {
      await cluster.connect();
      return namesOf(cluster);
    });
    outage.over();
    return names;
  } catch (error) {
    const failure = kafkaFailure(error, 'listing the topics');
    outage.failed(failure);
    throw failure;
  }
}

/**
 * Reads committed records of topics without a consumer group. The call settles where reading begins; a topic or a partition that
 * appears later is read from its beginning.
 *
 * A reader that follows goes on while a partition is leaderless, and reads it once it has a leader. Without `follow` it fails instead,
 * since part of the records must not pass for all, unless the caller accepts a part (`canBePartial`).
 */
export function read(
  topics: readonly string[],
  { exact, ...options }: ReadOptions & Pick<TopicReading, 'exact'>,
  { kafka, target, closing, logger, notes }: ReadDeps,
): AsyncIterable<LogRecord> {
  const names = [...new Set(topics)];
  const what = `the topic${names.length === 1 ? '' : 's'} ${names.join(', ')}`;
  const { doing, asked } = readingTopics(names, target);
  const { signal, leave } = joinSignals([options.signal, closing]);
  const isPartial = options.follow || options.canBePartial === true;
  const cluster = isPartial ? acceptLeaderless(readingCluster(kafka)) : readingCluster(kafka);
  const positions = new TopicPositions(cluster, names, { ...options, exact, notes, logger });
  const reading: Persistence & Pick<Reading, 'cluster'> = {
    cluster,
    doing,
    signal,
    forMs: options.follow ? Number.POSITIVE_INFINITY : GIVE_UP_MS,
    recover: (error) => positions.recover(error),
    ...(exact !== undefined && { asked }),
    ...(options.follow && { outage: new Outage(`Reading ${what}`, logger) }),
  };
  const began = begin();
  // The reader of the records gets its failure.
  began.catch(() => undefined);
  return records();

  function begin(): Promise<void> {
    if (exact !== undefined) return persistently(() => positions.begin(), reading);
    if (!isPartial) return positions.begin();
    // While leaders move, brokers may refuse to say where a partition ends.
    return retrying(() => positions.begin(), {
      signal,
      pauseMs: MAX_WAIT_MS,
      forMs: GIVE_UP_MS,
      // If no broker can be reached, the caller is told at once.
      isWorthIt: (error) => protocolType(error) !== null && passesByItself(kafkaFailure(error, '')),
      async recover(error) {
        logger.debug('reading is begun again', { topics: names, error });
        await cluster.refreshMetadata().catch(() => undefined);
        positions.noteDelay();
      },
    });
  }

  async function* records(): AsyncGenerator<LogRecord> {
    try {
      await unlessAborted(began, signal);
      const rounds = readRounds({
        ...reading,
        maxWaitMs: MAX_WAIT_MS,
        positions: () => positions.present(),
        isOver: (emptyMs) => positions.isOver(emptyMs),
        ...(isPartial && { look: () => positions.look() }),
      });
      for await (const found of rounds) {
        for (const record of exact === undefined ? inTime([...found]) : found) {
          if (isFence(record)) continue;
          yield record;
          if (signal.aborted) return;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw kafkaFailure(error, doing);
    } finally {
      leave();
      drop(cluster);
    }
  }
}

/**
 * Merges the records of several partitions by their time. The records of one partition keep their order even if their times differ.
 */
function inTime(records: readonly LogRecord[]): LogRecord[] {
  const latest = new Map<string, number>();
  const timed = records.map((record) => {
    const partition = partitionName(record);
    const time = Math.max(record.timestamp, latest.get(partition) ?? record.timestamp);
    latest.set(partition, time);
    return { record, time };
  });
  return timed.sort((a, b) => a.time - b.time).map(({ record }) => record);
}
