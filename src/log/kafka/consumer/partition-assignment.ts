import type { TopicPartitions } from '../group/member-data';
import { assign, byText, type Item, idOf } from '../group/sticky-assignor';

/** Data that a member of a consumer group sends to the others when it joins. */
export interface Subscriber {
  /** Given by the coordinator; another one after an expulsion. */
  readonly memberId: string;
  readonly topics: readonly string[];
  /** Its last assignment, and the generation of the group in which it was given. */
  readonly claims: Claims;
}

export interface Claims {
  readonly generation: number;
  readonly partitions: TopicPartitions;
}

/**
 * Gives each partition to one member that subscribes to its topic. If two members claim a partition, the member with the later
 * assignment has it, because the other member was away.
 * @param partitions number for each existing topic
 * @returns assignments of all members, by member id
 */
export function assignPartitions(
  members: readonly Subscriber[],
  partitions: TopicPartitions,
): ReadonlyMap<string, TopicPartitions> {
  const latestFirst = [...members].sort(
    (a, b) => b.claims.generation - a.claims.generation || byText(a.memberId, b.memberId),
  );
  const items = Object.entries(partitions).flatMap(([topic, numbers]) => {
    const subscribers = latestFirst.filter(({ topics }) => topics.includes(topic));
    if (subscribers.length === 0) return [];
    return numbers.map((partition): Item => {
      const claimants = subscribers.filter(({ claims }) => claims.partitions[topic]?.includes(partition));
      return { topic, partition, candidates: subscribers.map(idOf), claimants: claimants.map(idOf) };
    });
  });
  const given = assign(members.map(idOf), items);
  return new Map([...given].map(([memberId, own]) => [memberId, byTopic(own)]));
}

function byTopic(items: readonly Item[]): TopicPartitions {
  const found: Record<string, number[]> = {};
  for (const { topic, partition } of [...items].sort((a, b) => a.partition - b.partition)) {
    found[topic] ??= [];
    found[topic].push(partition);
  }
  return found;
}
