import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { AssignerProtocol, type Assignment, type TopicPartition } from 'kafkajs';
import { z } from 'zod';
import { byTopic } from '../connection/cluster';
import type { Joined } from './coordinator';

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

/** The numbers are sorted. */
export function partitionNumbers(partitions: readonly TopicPartition[]): TopicPartitions {
  const numbered = byTopic(partitions, ({ partition }) => partition);
  return Object.fromEntries(
    numbered.map(({ topic, partitions: own }) => [topic, own.toSorted((a, b) => a - b)]),
  );
}

/**
 * The machine and process of an instance. Another process on the same machine can check whether it still runs. A publisher that is
 * killed and started again on the same machine has its feeds back after 1.4 s, and without this after 9.7 s: it waits for the
 * session timeout (10 s). In another container it waits all the same.
 */
const processIdentity = z.object({
  /**
   * Identifies the boot of the machine and the container: a pid means the same process in one place only. Null: not
   * known.
   */
  place: z.string().nullable(),
  pid: z.number(),
});

/**
 * Data of every member. Anything that a later version adds needs a default: members of both versions are in one group while one
 * version replaces the other.
 */
export const memberData = z.object({ process: processIdentity.default({ place: null, pid: 0 }) });

export function encodeMetadata(topics: readonly string[], data: object): Buffer {
  return MemberMetadata.encode({ version: VERSION, topics: [...topics], userData: json(data) });
}

/** @throws Error if the member is of another program */
export function decodeMetadata<Data>({ memberId, memberMetadata }: JoinedMember, schema: z.ZodType<Data>) {
  // kafkajs reads as many topics as the bytes claim to hold, and hangs if they hold none.
  const claimed = memberMetadata.length < 6 ? 0 : memberMetadata.readInt32BE(2);
  if (claimed < 0 || claimed > memberMetadata.length)
    throw new Error(`member ${memberId} speaks another protocol`);
  const { topics, userData } = MemberMetadata.decode(memberMetadata)!;
  return { topics, data: schema.parse(JSON.parse(userData.toString('utf8'))) };
}

/** Whether a member will never join again: its process ran on this machine and has ended. False if another has its pid by now. */
export function isGhost(member: JoinedMember): boolean {
  try {
    const { place, pid } = decodeMetadata(member, memberData).data.process;
    if (place === null || place !== ownIdentity().place) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    // The data of a foreign member, or of a member that has not joined yet, cannot be read: that is another error.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** @param data left out: none */
export function encodeAssignment(partitions: TopicPartitions, data?: object): Buffer {
  const userData = data === undefined ? Buffer.alloc(0) : json(data);
  return MemberAssignment.encode({ version: VERSION, assignment: partitions as Assignment, userData });
}

/** @returns null if the leader gave nothing. @throws Error if the assignment is of another program */
export function decodeAssignment(bytes: Buffer) {
  const decoded = MemberAssignment.decode(bytes);
  return decoded && { partitions: decoded.assignment as TopicPartitions, userData: decoded.userData };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}

export function ownIdentity(): z.infer<typeof processIdentity> {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { place: `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`, pid: process.pid };
  } catch {
    // Only Linux has these files. Elsewhere two machines may have one name.
    return { place: null, pid: process.pid };
  }
}

/** The assignment of a member. It holds until the next one. */
export interface MemberPlace {
  readonly memberId: string;
  readonly generation: number;
  readonly assignment: Buffer;
}

export interface Assigned {
  readonly memberId: string;
  readonly memberAssignment: Buffer;
}
