import type { Kafka } from 'kafkajs';
import { type Cluster, drop, readingCluster } from '../connection/cluster';
import { isForbidden } from '../connection/kafka-failure';
import { partitionNumbers, type TopicPartitions } from '../group/member-data';
import { partitionsOf } from '../reader/leaderless';
import { knowTopic } from '../reader/reading';

/** The partitions of topics, asked again and again over one connection. */
export class TopicWatch {
  private cluster: Cluster | null = null;
  private watched: TopicPartitions | null = null;
  /** A missing topic may be hidden from this user. Brokers say so only if the topic is asked for by name. */
  private readonly askedByName = new Set<string>();

  /**
   * @param own topics of this consumer. Other members of its group may ask for topics that it may not see
   * @param hidden is called once for each such topic
   */
  constructor(
    private readonly kafka: Kafka,
    private readonly own: readonly string[],
    private readonly hidden: (topic: string, error: unknown) => void,
  ) {}

  /**
   * The partitions that exist and may be seen; their topics are watched from now on.
   * @throws errors of kafkajs, TOPIC_AUTHORIZATION_FAILED too if one of the own topics may not be seen
   */
  async watch(topics: readonly string[]): Promise<TopicPartitions> {
    const found = await this.look(topics);
    this.watched = Object.fromEntries(topics.map((topic) => [topic, found[topic] ?? []]));
    return found;
  }

  /** @returns whether partitions of the watched topics came or went since `watch` */
  async hasChanged(): Promise<boolean> {
    const before = this.watched;
    if (before === null) return false;
    const found = await this.look(Object.keys(before));
    const isSame = Object.keys(before).every((topic) => `${found[topic] ?? []}` === `${before[topic]}`);
    return !isSame && this.watched === before;
  }

  unwatch(): void {
    this.watched = null;
  }

  close(): void {
    if (this.cluster !== null) drop(this.cluster);
    this.cluster = null;
  }

  private async look(topics: readonly string[]): Promise<TopicPartitions> {
    try {
      if (this.cluster === null) {
        this.cluster = readingCluster(this.kafka);
        await this.cluster.connect();
      }
      return await this.ask(this.cluster, topics);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private async ask(cluster: Cluster, topics: readonly string[]): Promise<TopicPartitions> {
    // Asks about all topics that exist: a topic that is named and missing would fail the question for the others.
    await cluster.refreshMetadata();
    const found = partitionNumbers(partitionsOf(cluster, topics));
    const missing = topics.filter((topic) => found[topic] === undefined && !this.askedByName.has(topic));
    for (const topic of missing) {
      await knowTopic(cluster, topic).catch((error: unknown) => {
        if (this.own.includes(topic) || !isForbidden(error)) throw error;
        this.hidden(topic, error);
      });
      this.askedByName.add(topic);
    }
    // From now on this cluster would ask about the missing topics only.
    if (missing.length > 0) this.close();
    return found;
  }
}
