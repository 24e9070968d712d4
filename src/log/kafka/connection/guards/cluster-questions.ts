import type { Broker } from '../cluster';
import { taking } from './each-broker';

/**
 * Error codes of Kafka's protocol: the partition has no leader now, or its leader cannot be reached from here.
 * https://kafka.apache.org/protocol#protocol_error_codes
 */
const NO_LEADER = new Set([5, 9, 72]);

interface Metadata {
  readonly topicMetadata: readonly {
    readonly partitionMetadata: readonly { partitionErrorCode: number }[];
  }[];
}

/** Clusters that accept an answer about named topics too when a partition in it has no leader. */
const accepting = new WeakSet<object>();

/**
 * Makes a broker accept an answer about all topics when a partition in it has no leader. kafkajs throws such an answer away, and asks
 * about all topics when it needs only the list of brokers, to find a coordinator or the controller. One foreign topic whose only broker
 * is dead would keep every member from joining its group. A question that names topics still fails, because whoever names a topic needs its leaders, unless `acceptLeaderless` was called.
 */
export function tolerateLeaderless(broker: Broker, cluster: object): void {
  const ask = broker.metadata;
  const lenient = taking(broker, async ({ topicMetadata }: Metadata, parse) => {
    for (const { partitionMetadata } of topicMetadata) {
      for (const partition of partitionMetadata) {
        if (NO_LEADER.has(partition.partitionErrorCode)) partition.partitionErrorCode = 0;
      }
    }
    return parse();
  });
  broker.metadata = (topics = []) =>
    ask.call(topics.length === 0 || acceptsLeaderless(cluster) ? lenient : broker, topics);
}

/**
 * Makes one cluster accept an answer about the topics that it names when a partition in it has no leader: for readers, who read the
 * other partitions meanwhile. kafkajs then gives -1 as the leader of that partition.
 * @param cluster whose brokers `tolerateLeaderless` has adapted
 */
export function acceptLeaderless<T extends object>(cluster: T): T {
  accepting.add(cluster);
  return cluster;
}

export function acceptsLeaderless(cluster: object): boolean {
  return accepting.has(cluster);
}
