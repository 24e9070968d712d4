import { type Admin, Kafka, logLevel } from 'kafkajs';
import { until } from './until';

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Partitions of each of the brokers' own topics: `startKafka` makes as many as there are brokers. */
const INTERNAL_PARTITIONS = 3;

/** Whoever leads this partition coordinates the transactions of the id. */
export function transactionPartition(transactionalId: string): TopicPartition {
  return { topic: '__transaction_state', partition: javaHash(transactionalId) % INTERNAL_PARTITIONS };
}

/** Whoever leads this partition coordinates the group. */
export function groupPartition(groupId: string): TopicPartition {
  return { topic: '__consumer_offsets', partition: javaHash(groupId) % INTERNAL_PARTITIONS };
}

/** As the brokers look up where an id belongs: Java's hash of a string without its sign. */
function javaHash(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash & 0x7fffffff;
}

/** Leaders of the partitions of a cluster of three, from the brokers' metadata at each call. */
export interface PartitionLeaders {
  /** @returns the id of the broker */
  leaderOf(of: TopicPartition): Promise<number>;
  /** Makes another broker the leader of a partition, whose replicas are all there again afterwards. @returns its id */
  move(of: TopicPartition): Promise<number>;
  /** Resolves when no replica of any partition lags behind: any one broker may go away then. */
  inSync(): Promise<void>;
}

export function partitionLeaders(brokers: string): PartitionLeaders {
  const client = new Kafka({
    brokers: brokers.split(','),
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    logLevel: logLevel.NOTHING,
    retry: { retries: 8, initialRetryTime: 100, maxRetryTime: 1_000 },
  });

  async function ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = client.admin();
    try {
      await admin.connect();
      return await question(admin);
    } finally {
      await admin.disconnect();
    }
  }

  async function partitionOf(admin: Admin, { topic, partition }: TopicPartition) {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition);
    if (found === undefined) throw new Error(`there is no ${topic}/${partition}`);
    return found;
  }

  return {
    leaderOf: (of) =>
      ask(async (admin) => {
        let leader = -1;
        await until(async () => {
          ({ leader } = await partitionOf(admin, of));
          return leader >= 0;
        });
        return leader;
      }),
    move: (of) =>
      ask(async (admin) => {
        const { leader, replicas } = await partitionOf(admin, of);
        const others = replicas.filter((id) => id !== leader);
        const place = (ids: number[]) =>
          admin.alterPartitionReassignments({
            topics: [
              {
                topic: of.topic,
                partitionAssignment: [{ partition: of.partition, replicas: ids }],
              },
            ],
          });
        // A leader that is not a replica any more steps down.
        await place(others);
        let next = leader;
        await until(async () => {
          const now = await partitionOf(admin, of);
          next = now.leader;
          return next >= 0 && next !== leader && now.replicas.length === others.length;
        });
        await place([next, ...replicas.filter((id) => id !== next)]);
        return next;
      }),
    inSync: () =>
      until(() =>
        ask(async (admin) => {
          const { topics } = await admin.fetchTopicMetadata();
          return topics.every(({ partitions }) =>
            partitions.every(({ isr, replicas }) => isr.length === replicas.length && replicas.length === 3),
          );
        }).catch(() => false),
      ),
  };
}
