import type { Logger } from '../../../logging/logger';
import type { Cluster } from '../connection/cluster';
import { isLeaderless } from './fetch-partitions';

export interface Partition {
  readonly topic: string;
  readonly partition: number;
}

/** A partition that changes its leader may have none for a moment, in ms. */
const MOMENT_MS = 3_000;
/** Records carry the time at which their writer made them. It may have tried for so long to write them, in ms. */
const LATE_MS = 60_000;

/**
 * From when on to read a partition whose end could not be asked for, because it had no leader. Some records that were written shortly
 * before are read too: to begin later could lose records that were written while the partition had its leader back.
 * @param nowMs when the reader began
 */
export function leaderlessSince(nowMs: number): number {
  return nowMs - LATE_MS;
}

/** The partitions of topics, by what the cluster heard last. */
export function partitionsOf(cluster: Cluster, topics: readonly string[]): Partition[] {
  return topics.flatMap((topic) =>
    cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
  );
}

/** Those that have no leader. */
export function leaderlessOf(cluster: Cluster, topics: readonly string[]): Partition[] {
  return partitionsOf(cluster, topics).filter((partition) => isLeaderless(cluster, partition));
}

/** Tells people once of each partition that is not read because it has no leader. */
export interface LeaderlessNotes {
  /** A partition has no leader now. */
  without(partition: Partition): void;
  /** A partition has a leader. */
  led(partition: Partition): void;
  /** Both, for all partitions of topics. */
  look(cluster: Cluster, topics: readonly string[]): void;
}

export function leaderlessNotes(logger: Logger): LeaderlessNotes {
  const noted = new Map<string, { readonly sinceMs: number; isTold: boolean }>();
  const notes: LeaderlessNotes = {
    without({ topic, partition }) {
      const name = `${topic} ${partition}`;
      const note = noted.get(name) ?? { sinceMs: performance.now(), isTold: false };
      noted.set(name, note);
      if (note.isTold || performance.now() - note.sinceMs < MOMENT_MS) return;
      note.isTold = true;
      logger.warn(
        `Partition ${partition} of topic ${topic} has no leader. The other partitions are read on; it is read again once it has one. If that takes long, look whether a broker is down.`,
      );
    },
    led({ topic, partition }) {
      const note = noted.get(`${topic} ${partition}`);
      noted.delete(`${topic} ${partition}`);
      if (note?.isTold === true)
        logger.info(`Partition ${partition} of topic ${topic} has a leader again and is read on.`);
    },
    look(cluster, topics) {
      for (const partition of partitionsOf(cluster, topics)) {
        if (isLeaderless(cluster, partition)) notes.without(partition);
        else notes.led(partition);
      }
    },
  };
  return notes;
}
