import { AssignerProtocol, type Assignment } from 'kafkajs';
import { z } from 'zod';
import type { Joined } from './coordinator';
import { hasEnded } from './process-identity';

/**
 * Data that the members of a group and their leader exchange. It is Kafka's own protocol of consumers, so Kafka's tools show the
 * assignments. Anything that members need beyond it is JSON in the user data.
 */
const { MemberMetadata, MemberAssignment } = AssignerProtocol;

/** Later versions say more than these bytes have. */
const VERSION = 0;

export type JoinedMember = Joined['members'][number];

/** Topic → numbers of partitions. */
export type TopicPartitions = Readonly<Record<string, readonly number[]>>;

/**
 * Data of every member. Anything that a later version adds needs a default: members of both versions are in one group while one
 * version replaces the other.
 */
export const memberData = z.object({
  process: z.object({ place: z.string().nullable(), pid: z.number() }).default({ place: null, pid: 0 }),
});

export function encodeMetadata(topics: readonly string[], data: object): Buffer {
  return MemberMetadata.encode({ version: VERSION, topics: [...topics], userData: json(data) });
}

/** @throws Error if the member is of another program */
export function decodeMetadata<Data>(
  { memberId, memberMetadata }: JoinedMember,
  schema: z.ZodType<Data>,
): { readonly topics: readonly string[]; readonly data: Data } {
  // kafkajs reads as many topics as the bytes claim to hold, and hangs if they hold none.
  const claimed = memberMetadata.length < 6 ? 0 : memberMetadata.readInt32BE(2);
  if (claimed < 0 || claimed > memberMetadata.length)
    throw new Error(`member ${memberId} speaks another protocol`);
  const { topics, userData } = MemberMetadata.decode(memberMetadata)!;
  return { topics, data: schema.parse(JSON.parse(userData.toString('utf8'))) };
}

/** Whether a member will never join again: its process ran on this machine and has ended. */
export function isGhost(member: JoinedMember): boolean {
  try {
    return hasEnded(decodeMetadata(member, memberData).data.process);
  } catch {
    // The data of a foreign member, or of a member that has not joined yet, cannot be read.
    return false;
  }
}

/** @param data left out: none */
export function encodeAssignment(partitions: TopicPartitions, data?: object): Buffer {
  const userData = data === undefined ? Buffer.alloc(0) : json(data);
  return MemberAssignment.encode({ version: VERSION, assignment: partitions as Assignment, userData });
}

/** @returns null if the leader gave nothing. @throws Error if the assignment is of another program */
export function decodeAssignment(
  bytes: Buffer,
): { readonly partitions: TopicPartitions; readonly userData: Buffer } | null {
  const decoded = MemberAssignment.decode(bytes);
  return decoded && { partitions: decoded.assignment, userData: decoded.userData };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}
