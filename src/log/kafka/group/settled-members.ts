import type { Kafka, MemberDescription } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { joinSignals, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import { isUnreachable, protocolType } from '../connection/kafka-failure';
import { CoordinatorLink } from './coordinator';

/** How long a group may take to settle, and its coordinator to be found, in ms. */
const SETTLE_MS = 15_000;
const AGAIN_MS = 100;

/**
 * The members of a group, once it has settled. Asks without joining. If the coordinator is away or moves, asks its successor.
 * @throws what kafkajs throws; LOG_FAILED when the group does not settle; the signal's reason
 */
export async function settledMembers(
  kafka: Kafka,
  groupId: string,
  signal: AbortSignal,
): Promise<readonly MemberDescription[]> {
  const either = joinSignals([signal, AbortSignal.timeout(SETTLE_MS)]);
  const link = new CoordinatorLink(kafka, groupId);
  let last: unknown = unsettled(groupId, 'its coordinator does not answer');
  const ask = async () => {
    const coordinator = await unlessAborted(link.connect(), either.signal);
    const answer = await unlessAborted(coordinator.describeGroups({ groupIds: [groupId] }), either.signal);
    const { state, members } = answer.groups[0]!;
    if (members.length > 0 && state !== 'Stable') throw unsettled(groupId, state);
    return members;
  };
  try {
    return await retrying(ask, {
      signal: either.signal,
      forMs: SETTLE_MS,
      pauseMs: AGAIN_MS,
      isWorthIt: (error) => error instanceof HighwaterError || passes(error),
      recover(error) {
        last = error;
        if (!(error instanceof HighwaterError)) link.drop();
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    throw either.signal.aborted ? last : error;
  } finally {
    either.leave();
    link.drop();
  }
}

/** Whether a broker says that it does not coordinate a group: another broker does, or none does by now. */
export function isElsewhere(error: unknown): boolean {
  return elsewhere.has(protocolType(error) ?? '');
}

const elsewhere = new Set(['NOT_COORDINATOR_FOR_GROUP', 'GROUP_COORDINATOR_NOT_AVAILABLE']);

function passes(error: unknown): boolean {
  return isElsewhere(error) || protocolType(error) === 'GROUP_LOAD_IN_PROGRESS' || isUnreachable(error);
}

function unsettled(groupId: string, state: string): HighwaterError {
  const what = `the group ${groupId} has not settled within ${SETTLE_MS / 1_000} s (${state})`;
  return new HighwaterError('LOG_FAILED', what, {
    now: 'Nothing was changed.',
    remedy:
      'Try again: instances may be coming and going. If that does not help, look into the logs of the instances and of the brokers.',
  });
}
