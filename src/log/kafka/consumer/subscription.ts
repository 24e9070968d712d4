import { AssignerProtocol } from 'kafkajs';
import { z } from 'zod';
import type { ProcessIdentity } from '../group/process-identity';
import type { Subscriber, TopicPartitions } from './partition-assignment';

/**
 * What members of a consumer group and their leader send each other: Kafka's own protocol of consumers, so that its tools show
 * who has which partitions, and any consumer can go on with the group. What they need beyond it is JSON in the user data.
 */
const { MemberMetadata, MemberAssignment } = AssignerProtocol;

/** Name of the protocol: members that speak none in common cannot be in one group. */
export const CONSUMER_PROTOCOL = 'highwater-sticky';

/** Later ones say more than these bytes have. */
const VERSION = 0;

/** What a later version adds has a default: members of both are in one group while one replaces the other. */
const subscriberData = z.object({
  process: z.object({ place: z.string().nullable(), pid: z.number() }).default({ place: null, pid: 0 }),
  claims: z
    .object({ generation: z.number(), partitions: z.record(z.string(), z.array(z.number())) })
    .default({ generation: -1, partitions: {} }),
});

export interface JoinedSubscriber extends Subscriber {
  /** For who comes after it on the same machine. */
  readonly process: ProcessIdentity;
}

export function encodeSubscriber({ topics, ...data }: Omit<JoinedSubscriber, 'memberId'>): Buffer {
  const userData = Buffer.from(JSON.stringify(data), 'utf8');
  return MemberMetadata.encode({ version: VERSION, topics: [...topics], userData });
}

/** @throws Error when it is of another program */
export function decodeSubscriber(memberId: string, metadata: Buffer): JoinedSubscriber {
  // kafkajs reads as many topics as the bytes claim to hold, and stands still over what are none.
  const claimed = metadata.length < 6 ? 0 : metadata.readInt32BE(2);
  if (claimed < 0 || claimed > metadata.length) throw new Error(`member ${memberId} speaks another protocol`);
  const decoded = MemberMetadata.decode(metadata);
  if (decoded === null) throw new Error(`member ${memberId} says nothing`);
  const data = subscriberData.parse(JSON.parse(decoded.userData.toString('utf8')));
  return { memberId, topics: decoded.topics, ...data };
}

export function encodePartitions(partitions: TopicPartitions): Buffer {
  const assignment = Object.fromEntries(
    Object.entries(partitions).map(([topic, numbers]) => [topic, [...numbers]]),
  );
  return MemberAssignment.encode({ version: VERSION, assignment, userData: Buffer.alloc(0) });
}

/** None where the leader gave none. */
export function decodePartitions(assignment: Buffer): TopicPartitions {
  return MemberAssignment.decode(assignment)?.assignment ?? {};
}
