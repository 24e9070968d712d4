import type { Kafka } from 'kafkajs';
import { type Cluster, readingCluster } from '../connection/cluster';
import { isForbidden } from '../connection/kafka-failure';
import type { TopicPartitions } from './partition-assignment';
import { knowTopic } from './reading';

/** Looks which partitions topics have, again and again over one connection. */
export interface TopicLook {
  /**
   * Those that there are, and that may be seen.
   * @throws errors of kafkajs, TOPIC_AUTHORIZATION_FAILED too where one of the own topics may not be seen
   */
  partitions(topics: readonly string[]): Promise<TopicPartitions>;
  close(): void;
}

/**
 * @param own topics of this consumer. Other members of its group may ask for topics that it may not see
 * @param hidden is called once for each such topic
 */
export function topicLook(
  kafka: Kafka,
  own: readonly string[],
  hidden: (topic: string, error: unknown) => void,
): TopicLook {
  let cluster: Cluster | null = null;
  /** Of topics that are missing: may also be hidden from who has no permission, which is told only when it is asked by name. */
  const askedByName = new Set<string>();

  function close(): void {
    cluster?.disconnect().catch(() => undefined);
    cluster = null;
  }

  async function look(topics: readonly string[]): Promise<TopicPartitions> {
    if (cluster === null) {
      cluster = readingCluster(kafka);
      await cluster.connect();
    }
    const looking = cluster;
    // Of all topics there are: one that is named and missing would fail the question for the others.
    await looking.refreshMetadata();
    const found: Record<string, number[]> = {};
    for (const topic of topics) {
      const known = looking.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      if (known.length > 0) found[topic] = known.sort((a, b) => a - b);
    }
    const missing = topics.filter((topic) => found[topic] === undefined && !askedByName.has(topic));
    for (const topic of missing) {
      await knowTopic(looking, topic).catch((error: unknown) => {
        if (own.includes(topic) || !isForbidden(error)) throw error;
        hidden(topic, error);
      });
      askedByName.add(topic);
    }
    // From now on this one would ask for that topic alone.
    if (missing.length > 0) close();
    return found;
  }

  return {
    async partitions(topics) {
      try {
        return await look(topics);
      } catch (error) {
        close();
        throw error;
      }
    },
    close,
  };
}
