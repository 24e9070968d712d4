import type { Kafka } from 'kafkajs';
import type { Logger } from '../../../logging/logger';
import type { CommandTarget } from '../connection/admin-commands';
import type { Cluster } from '../connection/cluster';
import { type Asked, kafkaFailure, protocolType } from '../connection/kafka-failure';

export interface ReadingDeps {
  readonly kafka: Kafka;
  /** For the commands in remedies. */
  readonly target: CommandTarget;
  readonly logger: Logger;
}

/** Reading topics, as failures name it. */
export function readingTopics(
  topics: readonly string[],
  target: CommandTarget,
): { readonly doing: string; readonly asked: Asked } {
  const names = [...new Set(topics)];
  const asked = { operation: 'READ', topics: names, cluster: target } as const;
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
    if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
    throw error;
  }
}
