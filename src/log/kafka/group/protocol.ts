import { AssignerProtocol } from 'kafkajs';
import { z } from 'zod';
import type { Claims, Member } from './assignment';

/**
 * What members and their leader send each other through the coordinator. To the outside it is the protocol of consumers, so
 * that `kafka-consumer-groups.sh` shows who has which source offset topic; what counts is the user data, as JSON.
 */
const { MemberMetadata, MemberAssignment } = AssignerProtocol;

/** Name of the protocol: members that speak none in common cannot be in one group. */
export const PROTOCOL = 'highwater';

/** A feed's topic in the eyes of tools. */
export type TopicOf = (feed: string) => string;

const claims = z.object({ memberId: z.string(), feeds: z.record(z.string(), z.number()) });
/** What a later version adds has a default: instances of both are in one group while one replaces the other. */
const memberData = z.object({
  instance: z.string(),
  feeds: z.array(z.string()),
  isGuest: z.boolean().default(false),
  declined: z.array(z.string()).default([]),
  process: z.object({ place: z.string().nullable(), pid: z.number() }).default({ place: null, pid: 0 }),
  claims: claims.default({ memberId: '', feeds: {} }),
});
const owners = z.record(z.string(), z.string());

/** What a member gets back. */
export interface Assignment {
  readonly feeds: readonly string[];
  /** Every feed of the group → the instance that has it. */
  readonly owners: Readonly<Record<string, string>>;
}

const assignmentData = z.object({ feeds: z.array(z.string()), owners });

export function encodeMember(member: Omit<Member, 'memberId'>, topicOf: TopicOf): Buffer {
  const topics = member.feeds.map(topicOf);
  return MemberMetadata.encode({ version: 1, topics, userData: json(member) });
}

/** @throws Error when it is of another program */
export function decodeMember(memberId: string, metadata: Buffer): Member {
  // kafkajs reads as many topics as the bytes claim to hold, and stands still over what are none.
  const topics = metadata.length < 6 ? 0 : metadata.readInt32BE(2);
  if (topics < 0 || topics > metadata.length) throw new Error(`member ${memberId} speaks another protocol`);
  const decoded = MemberMetadata.decode(metadata);
  if (decoded === null) throw new Error(`member ${memberId} says nothing`);
  const data = memberData.parse(JSON.parse(decoded.userData.toString('utf8')));
  return { memberId, ...data, claims: data.claims satisfies Claims };
}

export function encodeAssignment(assignment: Assignment, topicOf: TopicOf): Buffer {
  const topics = Object.fromEntries(assignment.feeds.map((feed) => [topicOf(feed), [0]]));
  return MemberAssignment.encode({ version: 1, assignment: topics, userData: json(assignment) });
}

/** @throws Error when it is of another program */
export function decodeAssignment(bytes: Buffer): Assignment {
  const decoded = MemberAssignment.decode(bytes);
  if (decoded === null) return { feeds: [], owners: {} };
  return assignmentData.parse(JSON.parse(decoded.userData.toString('utf8')));
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}
