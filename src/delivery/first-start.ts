import { deadLetterTopic } from '../consumer/handling/dead-letters';
import { HighwaterError } from '../errors';
import type { ConsumerLog } from '../log/consumer-log';

/**
 * Brokers forget all positions of a group that was stopped for a while (offsets.retention.minutes, a week by default), and nothing is
 * left of it: it looks like a new one. So the topic of its dead letters is made once the group has a position. If it is there, and the
 * group has no position in the log, the position was lost.
 */

/**
 * Whether a group looks as if it had lost its position.
 * @param hasSign whether the topic of its dead letters was there before the groups were asked for: it is made after the first position
 */
export function isForgotten(
  group: string,
  hasSign: boolean,
  groups: Awaited<ReturnType<ConsumerLog['groups']>>,
): boolean {
  return hasSign && !groups.some(({ groupId }) => groupId === group);
}

/** @throws HighwaterError KAFKA_*, LOG_*; the signal's reason */
export async function hasLostPosition(
  group: string,
  log: Pick<ConsumerLog, 'ends' | 'groups'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { ends } = await log.ends(deadLetterTopic(group).name, 'reachable', signal);
  return ends.size > 0 && isForgotten(group, true, await log.groups(group, signal));
}

/** The same log, but its groups make that topic after the first position that they commit. @param failed is told if they may not */
export function leavingSigns(
  log: ConsumerLog,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): ConsumerLog {
  const joinGroup: ConsumerLog['joinGroup'] = ({ work, ...group }) => {
    let isLeft = false;
    const leave = (): void => {
      if (isLeft) return;
      isLeft = true;
      log.append(deadLetterTopic(group.groupId), [], signal).catch((error: unknown) => {
        // The next commit tries again.
        if (error instanceof HighwaterError && error.kind.retriable) isLeft = false;
        else if (!signal.aborted) failed(error);
      });
    };
    const leaving: typeof work = (place) =>
      work({
        ...place,
        async commit(next, note) {
          await place.commit(next, note);
          leave();
        },
      });
    return log.joinGroup({ ...group, work: leaving });
  };
  return { ...log, joinGroup };
}
