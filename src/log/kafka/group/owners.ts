import type { Kafka } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import { pause, unlessAborted } from '../../../wait';
import { connectGroup } from './coordinator';
import { decodeAssignment } from './protocol';

/** How long a group may take to settle, in ms. */
const SETTLE_MS = 15_000;

/**
 * Which instance has each feed, as the coordinator of the group knows it. Asks without joining.
 * @throws what kafkajs throws; LOG_FAILED when the group does not settle; the signal's reason
 */
export async function groupOwners(
  kafka: Kafka,
  groupId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const connection = connectGroup(kafka, groupId);
  const giveUpAt = performance.now() + SETTLE_MS;
  try {
    const coordinator = await unlessAborted(connection.coordinator(), signal);
    for (;;) {
      const { groups } = await unlessAborted(coordinator.describeGroups({ groupIds: [groupId] }), signal);
      const { state, members } = groups[0]!;
      if (members.length === 0) return new Map();
      if (state === 'Stable') {
        // Each member was told all of it.
        const told = members.map(({ memberAssignment }) => decodeAssignment(memberAssignment).owners);
        return new Map(told.flatMap((owners) => Object.entries(owners)));
      }
      if (performance.now() >= giveUpAt) {
        const what = `the group ${groupId} has not settled within ${SETTLE_MS / 1_000} s (${state})`;
        throw new HighwaterError('LOG_FAILED', what);
      }
      await pause(100, signal);
      signal.throwIfAborted();
    }
  } finally {
    connection.drop();
  }
}
