import type { TopicPartition } from 'kafkajs';
import type { Logger } from '../../../logging/logger';

/** How far a member has read a partition. */
interface Progress {
  /** Offset of the record to come. */
  readonly next: number;
  /** The partition holds records up to here, as far as this member has heard. */
  readonly end: number;
}

interface KnownTopic {
  readonly id: string;
  /** By partition; only partitions that this member reads. */
  readonly progress: Map<number, Progress>;
  isGone: boolean;
}

/**
 * The topics that a member of a group reads or has read. Warns when such a topic is deleted, and when it is created again. The member
 * remembers their ids, because brokers remove the offsets of a group together with a topic.
 */
export class KnownTopics {
  private readonly topics = new Map<string, KnownTopic>();

  constructor(
    private readonly groupId: string,
    private readonly logger: Logger,
  ) {}

  names(): string[] {
    return [...this.topics.keys()];
  }

  /**
   * @param assigned topics of which the member has partitions from now on. They exist
   * @param ids of these and of all known topics, as the brokers tell them now
   */
  look(assigned: readonly string[], ids: ReadonlyMap<string, string>): void {
    for (const topic of new Set([...assigned, ...this.names()])) {
      const [known, id] = [this.topics.get(topic), ids.get(topic)];
      if (id !== undefined) {
        if (known !== undefined && known.id !== id) this.warnOfNew(topic, known);
        this.topics.set(topic, { id, progress: new Map(), isGone: false });
      } else if (known !== undefined && !known.isGone && !assigned.includes(topic)) {
        known.isGone = true;
        this.warnOfGone(topic);
      }
    }
  }

  /** Notes how far a partition of the topic with this id has been read, or what it holds. */
  note({ topic, partition }: TopicPartition, topicId: string | null, news: Partial<Progress>): void {
    const known = this.topics.get(topic);
    if (known === undefined || known.id !== topicId) return;
    const { next = 0, end = 0 } = known.progress.get(partition) ?? {};
    const merged = { next: Math.max(next, news.next ?? 0), end: Math.max(end, news.end ?? 0) };
    known.progress.set(partition, merged);
  }

  private warnOfGone(topic: string): void {
    this.logger.warn(`The topic ${topic} was deleted.`, {
      now: `The group ${this.groupId} reads its other topics on. It reads ${topic} from its beginning once it is created again.`,
      remedy: 'Find out who deletes topics. A publisher that runs creates the topics of its feeds again.',
    });
  }

  private warnOfNew(topic: string, { progress }: KnownTopic): void {
    const unread = [...progress.values()].reduce((sum, { next, end }) => sum + Math.max(end - next, 0), 0);
    // Offsets count markers of transactions too.
    const lost = unread > 0 ? ` About ${unread} of its events were not read.` : '';
    const what = `The topic ${topic} was deleted and created again.${lost} The group ${this.groupId} reads it from its beginning.`;
    this.logger.warn(what, {
      remedy:
        'Find out who deletes topics. `highwater snapshot FEED` publishes every record of a feed again; transitions do not come again.',
    });
  }
}
