import type { Kafka } from 'kafkajs';
import { type Assignment, decodeAssignment } from './protocol';
import { type DescribedMember, settledMembers } from './settled-members';

/**
 * Which instance has each feed, as the coordinator of the group knows it. Asks without joining.
 * @throws what kafkajs throws; LOG_FAILED when the group does not settle; the signal's reason
 */
export async function groupOwners(
  kafka: Kafka,
  groupId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const members = await settledMembers(kafka, groupId, signal);
  // Each member was told all of it.
  return new Map(members.flatMap((member) => Object.entries(assignmentOf(member)?.owners ?? {})));
}

/** What a member was given; null of another program. */
export function assignmentOf({ memberAssignment }: DescribedMember): Assignment | null {
  try {
    return decodeAssignment(memberAssignment);
  } catch {
    return null;
  }
}
