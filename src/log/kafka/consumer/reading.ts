import type { Kafka } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { CommandTarget } from '../connection/admin-commands';
import type { Cluster } from '../connection/cluster';
import { kafkaFailure, protocolType } from '../connection/kafka-failure';
import { isLeaderless } from '../reader/leaderless';
import { type PartitionPosition, partitionOffsets } from '../reader/partition-reader';

export interface ReadingDeps {
  readonly kafka: Kafka;
  /** For the commands in remedies. */
  readonly target: CommandTarget;
  readonly logger: Logger;
}

/** A failure to read topics, as a person meets it. */
export function readFailure(error: unknown, topics: readonly string[], target: CommandTarget): unknown {
  const names = [...new Set(topics)];
  const asked = { operation: 'READ', topics: names, cluster: target } as const;
  return kafkaFailure(error, `reading ${names.join(', ')}`, asked);
}

/** Has a cluster know a topic. @returns false: there is no such topic */
export async function knowTopic(cluster: Cluster, topic: string): Promise<boolean> {
  try {
    await cluster.addMultipleTargetTopics([topic]);
    return true;
  } catch (error) {
    if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
    throw error;
  }
}

/**
 * Why a position is out of its partition.
 * @returns LOG_POSITION_LOST; null: it is not, by now, or nobody can be asked: the partition has no leader
 * @throws errors of kafkajs
 */
export async function positionLost(
  cluster: Cluster,
  { topic, partition, next }: Pick<PartitionPosition, 'topic' | 'partition' | 'next'>,
): Promise<HighwaterError | null> {
  const [firsts, ends] = await Promise.all([
    partitionOffsets(cluster, [topic], 'beginning'),
    partitionOffsets(cluster, [topic], 'written'),
  ]);
  if (isLeaderless(cluster, { topic, partition })) return null;
  const of = (positions: readonly PartitionPosition[]) =>
    positions.find((one) => one.partition === partition)?.next ?? 0n;
  const [first, end] = [of(firsts), of(ends)];
  if (next >= first && next <= end) return null;
  const what = `offset ${next} of partition ${partition} of ${topic} was to be read next, and it holds ${first} to ${end}`;
  return new HighwaterError('LOG_POSITION_LOST', what);
}
