import type { Kafka } from 'kafkajs';
import { joinSignals, pause, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import { kafkaFailure, protocolType } from '../connection/kafka-failure';
import { connectGroup } from './coordinator';

/** How long a group may take to settle, and its coordinator to be found, in ms. */
const SETTLE_MS = 15_000;
const AGAIN_MS = 100;

/** One of a group, as its coordinator tells of it: of whatever program. */
export interface DescribedMember {
  readonly memberId: string;
  /** What its client calls itself. */
  readonly clientId: string;
  /** `/10.0.0.7` */
  readonly clientHost: string;
  readonly memberMetadata: Buffer;
  readonly memberAssignment: Buffer;
}

/**
 * Who is in a group, once it has settled. Asks without joining; where the coordinator is away or moves, asks its successor.
 * @throws what kafkajs throws; LOG_FAILED when the group does not settle; the signal's reason
 */
export async function settledMembers(
  kafka: Kafka,
  groupId: string,
  signal: AbortSignal,
): Promise<readonly DescribedMember[]> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), SETTLE_MS);
  const { signal: inTime, leave } = joinSignals([signal, timeout.signal]);
  let connection = connectGroup(kafka, groupId);
  let last: unknown = unsettled(groupId, 'its coordinator does not answer');
  try {
    while (!inTime.aborted) {
      try {
        const coordinator = await unlessAborted(connection.coordinator(), inTime);
        const { groups } = await unlessAborted(coordinator.describeGroups({ groupIds: [groupId] }), inTime);
        const { state, members } = groups[0]!;
        // The answer has more than who keeps a place needs of it.
        if (members.length === 0 || state === 'Stable') return members as readonly DescribedMember[];
        last = unsettled(groupId, state);
      } catch (error) {
        if (inTime.aborted) break;
        if (!passes(error)) throw error;
        last = error;
        connection.drop();
        connection = connectGroup(kafka, groupId);
      }
      await pause(AGAIN_MS, inTime);
    }
  } finally {
    clearTimeout(timer);
    leave();
    connection.drop();
  }
  signal.throwIfAborted();
  throw last;
}

/** Whether a broker says that it does not coordinate a group: another one does, or none does by now. */
export function isElsewhere(error: unknown): boolean {
  return elsewhere.has(protocolType(error) ?? '');
}

const elsewhere = new Set(['NOT_COORDINATOR_FOR_GROUP', 'GROUP_COORDINATOR_NOT_AVAILABLE']);

function passes(error: unknown): boolean {
  if (isElsewhere(error) || protocolType(error) === 'GROUP_LOAD_IN_PROGRESS') return true;
  const failure = kafkaFailure(error, '');
  return failure instanceof HighwaterError && failure.code === 'KAFKA_UNREACHABLE';
}

function unsettled(groupId: string, state: string): HighwaterError {
  const what = `the group ${groupId} has not settled within ${SETTLE_MS / 1_000} s (${state})`;
  return new HighwaterError('LOG_FAILED', what, {
    now: 'Nothing was changed.',
    remedy:
      'Try again: instances may be coming and going. When that does not help, look into the logs of those, and of the brokers.',
  });
}
