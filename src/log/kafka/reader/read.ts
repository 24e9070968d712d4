import type { Kafka } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { joinSignals, unlessAborted } from '../../../async/wait';
import type { Logger } from '../../../logging/logger';
import type { LogRecord, ReadOptions } from '../../commit-log';
import { readingCluster, withCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { kafkaFailure, passesByItself, protocolType } from '../connection/kafka-failure';
import { isFence } from './fence';
import type { LeaderlessNotes } from './leaderless';
import { readRounds } from './read-rounds';
import { GIVE_UP_MS, namesOf, TopicPositions } from './topic-positions';

export interface ReadDeps {
  readonly closing: AbortSignal;
  readonly logger: Logger;
  readonly notes: LeaderlessNotes;
}

/** How long a broker holds a request when nothing is new, in ms: at most this late a reader learns that it is to end. */
const MAX_WAIT_MS = 250;

/** Names of all topics of the cluster, sorted, Kafka's own left out. */
export async function topicNames(kafka: Kafka): Promise<string[]> {
  const ask = withCluster(kafka, async (cluster) => {
    await cluster.connect();
    return namesOf(cluster);
  });
  return ask.catch((error: unknown) => {
    throw kafkaFailure(error, 'listing the topics');
  });
}

/**
 * Reads committed records of topics without a consumer group. The call settles where reading begins; a topic or a partition that
 * appears later is read from its beginning.
 *
 * A reader that follows goes on while a partition is leaderless, and reads it once it has a leader. Without `follow` it fails instead,
 * since part of the records must not pass for all, unless the caller accepts a part (`canBePartial`).
 */
export function read(
  kafka: Kafka,
  topics: readonly string[],
  options: ReadOptions,
  { closing, logger, notes }: ReadDeps,
): AsyncIterable<LogRecord> {
  const { follow, fromBeginning } = options;
  const names = [...new Set(topics)];
  const doing = `reading ${names.join(', ')}`;
  const { signal, leave } = joinSignals([options.signal, closing]);
  const isPartial = follow || options.canBePartial === true;
  const cluster = isPartial ? acceptLeaderless(readingCluster(kafka)) : readingCluster(kafka);
  const positions = new TopicPositions(names, options, cluster, notes, logger);
  const began = isPartial ? beginPersistently() : positions.begin();
  // The reader of the records gets its failure.
  began.catch(() => undefined);
  return records();

  /** While leaders move, brokers may refuse to say where a partition ends. */
  function beginPersistently(): Promise<void> {
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
      if (!follow && !fromBeginning) return;
      const rounds = readRounds({
        cluster,
        doing,
        signal,
        forMs: follow ? Number.POSITIVE_INFINITY : GIVE_UP_MS,
        maxWaitMs: MAX_WAIT_MS,
        positions: () => positions.present(),
        isOver: (emptyMs) => positions.isOver(emptyMs),
        ...(isPartial && { look: () => positions.look() }),
        async recover(error) {
          logger.debug('reading is tried again', { topics: names, error });
          await positions.recover(error);
        },
      });
      for await (const found of rounds) {
        for (const record of inTime([...found])) {
          if (isFence(record)) continue;
          yield record;
          if (signal.aborted) return;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw kafkaFailure(error, doing);
    } finally {
      leave();
      cluster.disconnect().catch(() => undefined);
    }
  }
}

/**
 * Merges the records of several partitions by their time. The records of one partition keep their order even if their times differ.
 */
function inTime(records: readonly LogRecord[]): LogRecord[] {
  const latest = new Map<string, number>();
  const timed = records.map((record) => {
    const partition = `${record.topic} ${record.partition}`;
    const time = Math.max(record.timestamp, latest.get(partition) ?? record.timestamp);
    latest.set(partition, time);
    return { record, time };
  });
  return timed.sort((a, b) => a.time - b.time).map(({ record }) => record);
}
