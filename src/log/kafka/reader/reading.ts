import type { Kafka } from 'kafkajs';
import { pause } from '../../../async/wait';
import type { Logger } from '../../../logging/logger';
import type { LogRecord } from '../../commit-log';
import type { CommandTarget } from '../connection/admin-commands';
import type { Cluster } from '../connection/cluster';
import { type Asked, isOfMissingTopic, kafkaFailure } from '../connection/kafka-failure';
import { type Persistence, persistently } from '../connection/persistently';
import { fetchRound, type PartitionPosition } from './partition-reader';

export interface ReadingDeps {
  readonly kafka: Kafka;
  /** For the commands in remedies. */
  readonly target: CommandTarget;
  readonly logger: Logger;
}

/** How long a broker may be behind in hearing of a topic. To wait longer for a deleted topic would hold up the others. In ms. */
export const HEARS_MS = 1_000;

/** How often a reader looks around, in ms. */
const LOOK_INTERVAL_MS = 1_000;

/** Its signal ends reading, its `forMs` is the longest time without an answer. */
export interface Reading extends Persistence {
  readonly cluster: Cluster;
  /** How long a broker holds a request when nothing is new, in ms. */
  readonly maxWaitMs: number;
  /** The partitions to read now. */
  positions(): readonly PartitionPosition[];
  /** Asked before each round. @param emptyMs how long rounds in a row have brought nothing. An outage does not count */
  isOver(emptyMs: number): boolean;
  /** Looks for partitions that came or went. Called before a round, once a second. */
  look?(): Promise<void>;
}

/**
 * The loop of every reader: one round after the other, and again when a round fails. Rounds that bring nothing are not returned.
 * @throws HighwaterError KAFKA_*, LOG_*; the signal's reason
 */
export async function* readRounds(reading: Reading): AsyncGenerator<Iterable<LogRecord>> {
  const { cluster, signal, maxWaitMs, positions, isOver, look, outage } = reading;
  let lookedAt = performance.now();

  /** @returns null: reading is over */
  async function nextRound(): Promise<Iterable<LogRecord> | null> {
    let emptySince: number | null = null;
    for (;;) {
      signal.throwIfAborted();
      if (look !== undefined && performance.now() - lookedAt >= LOOK_INTERVAL_MS) {
        lookedAt = performance.now();
        await look();
      }
      if (isOver(emptySince === null ? 0 : performance.now() - emptySince)) return null;
      const places = positions();
      const before = progressOf(places);
      const found = await fetchRound(cluster, places, maxWaitMs);
      outage?.over();
      if (progressOf(places) > before) return found;
      emptySince ??= performance.now();
      // A round without partitions waits for nothing, not even for the rest of the process.
      if (places.length === 0) await pause(maxWaitMs, signal);
    }
  }

  for (;;) {
    const found = await persistently(nextRound, reading);
    if (found === null) return;
    yield found;
  }
}

function progressOf(positions: readonly PartitionPosition[]): bigint {
  return positions.reduce((sum, { next }) => sum + next, 0n);
}

/** Reading topics, as failures name it. */
export function readingTopics(topics: readonly string[], target: CommandTarget) {
  const names = [...new Set(topics)];
  const asked: Asked = { operation: 'READ', topics: names, cluster: target };
  return { doing: `reading ${names.join(', ')}`, asked };
}

export function readFailure(error: unknown, topics: readonly string[], target: CommandTarget): unknown {
  const { doing, asked } = readingTopics(topics, target);
  return kafkaFailure(error, doing, asked);
}

/** Makes a cluster load the metadata of a topic. @returns false: the topic does not exist */
export async function knowTopic(cluster: Cluster, topic: string): Promise<boolean> {
  try {
    await cluster.addMultipleTargetTopics([topic]);
    return true;
  } catch (error) {
    if (isOfMissingTopic(error)) return false;
    throw error;
  }
}
