import { z } from 'zod';
import {
  decodeMetadata,
  type JoinedMember,
  memberData,
  partitionNumbers,
  type TopicPartitions,
} from '../group/member-data';
import { assign, byText, type Item, idOf } from '../group/sticky-assignor';

/** Members that speak no protocol in common cannot be in one group. */
export const CONSUMER_PROTOCOL = 'highwater-sticky';

/** The last assignment of a member, and the generation of the group in which it was given. */
const claimsData = z
  .object({ generation: z.number(), partitions: z.record(z.string(), z.array(z.number()).readonly()) })
  .default({ generation: -1, partitions: {} });

export const NO_CLAIMS: z.infer<typeof claimsData> = { generation: -1, partitions: {} };

const subscriberData = memberData.extend({ claims: claimsData });

/** A member of a consumer group, and what it sends to the others when it joins. */
export interface Subscriber extends Pick<z.infer<typeof subscriberData>, 'claims'> {
  /** Given by the coordinator; another one after an expulsion. */
  readonly memberId: string;
  readonly topics: readonly string[];
}

/** @throws Error if the member is of another program */
export function decodeSubscriber(member: JoinedMember): Subscriber {
  const { topics, data } = decodeMetadata(member, subscriberData);
  return { memberId: member.memberId, topics, claims: data.claims };
}

/**
 * Gives each partition to one member that subscribes to its topic. If two members claim a partition, the member with the later
 * assignment has it, because the other member was away.
 * @param partitions number for each existing topic
 * @returns assignments of all members, by member id
 */
export function assignPartitions(members: readonly Subscriber[], partitions: TopicPartitions) {
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
  return new Map([...given].map(([memberId, own]) => [memberId, partitionNumbers(own)]));
}
