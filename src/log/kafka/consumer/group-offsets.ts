import { HighwaterError } from '../../../errors';
import { pause, unlessLate } from '../../../wait';
import type { CommandTarget } from '../admin-commands';
import type { Coordinator } from '../group/coordinator';
import type { GroupMember } from '../group/member';
import { kafkaFailure, protocolType } from '../kafka-failure';
import type { TopicPartitions } from './partition-assignment';
import { passesByItself } from './reading';

const AGAIN_MS = 100;
const ANSWER_MS = 10_000;

/** In whose name offsets are committed. */
export interface Holder {
  readonly memberId: string;
  readonly generation: number;
}

/** How far a group is, asked of its coordinator over the connection on which the member gives its signs of life. */
export interface GroupOffsets {
  /** `topic partition` → offset of the record to come; not there where the group never committed. @throws HighwaterError KAFKA_*, LOG_*; the signal's reason */
  fetch(partitions: TopicPartitions, signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** @throws HighwaterError GROUP_LOST, KAFKA_*, LOG_*; the signal's reason */
  commit(
    holder: Holder,
    place: { readonly topic: string; readonly partition: number; readonly next: number },
    signal: AbortSignal,
  ): Promise<void>;
}

/** @param patienceMs how long a commit may take while the coordinator is away; where a group is, is asked as long as it takes */
export function groupOffsets(
  groupId: string,
  member: Pick<GroupMember, 'coordinator' | 'ask'>,
  { target, patienceMs }: { readonly target: CommandTarget; readonly patienceMs: number },
): GroupOffsets {
  async function persistently<T>(
    work: (coordinator: Coordinator) => Promise<T>,
    { doing, topics, forMs }: { doing: string; topics: readonly string[]; forMs: number },
    signal: AbortSignal,
  ): Promise<T> {
    const away = `Connection timeout: the coordinator of group ${groupId} is away`;
    const giveUpAt = performance.now() + forMs;
    for (;;) {
      signal.throwIfAborted();
      let failure: unknown;
      try {
        const coordinator = member.coordinator();
        if (coordinator === null) throw new Error(away);
        return await unlessLate(work(coordinator), ANSWER_MS, signal, () => new Error(away));
      } catch (error) {
        signal.throwIfAborted();
        if (lost.has(protocolType(error) ?? '')) throw groupLost(groupId, error);
        failure = kafkaFailure(error, doing, { operation: 'READ', topics, groupId, cluster: target });
      }
      if (!passesByItself(failure) || performance.now() >= giveUpAt) throw failure;
      // A sign of life finds out that another broker keeps the group by now.
      member.ask();
      await pause(AGAIN_MS, signal);
    }
  }

  return {
    async fetch(partitions, signal) {
      const topics = Object.entries(partitions).map(([topic, numbers]) => ({
        topic,
        partitions: numbers.map((partition) => ({ partition })),
      }));
      const { responses } = await persistently(
        (coordinator) => coordinator.offsetFetch({ groupId, topics }),
        {
          doing: `asking where the group ${groupId} stands`,
          topics: Object.keys(partitions),
          forMs: Number.POSITIVE_INFINITY,
        },
        signal,
      );
      const found = responses.flatMap(({ topic, partitions: own }) =>
        own.map(({ partition, offset }) => [`${topic} ${partition}`, Number(offset)] as const),
      );
      return new Map(found.filter(([, offset]) => offset >= 0));
    },
    async commit({ memberId, generation }, { topic, partition, next }, signal) {
      const topics = [{ topic, partitions: [{ partition, offset: String(next) }] }];
      await persistently(
        (coordinator) =>
          coordinator.offsetCommit({ groupId, groupGenerationId: generation, memberId, topics }),
        { doing: `committing for the group ${groupId}`, topics: [topic], forMs: patienceMs },
        signal,
      );
    },
  };
}

export function groupLost(groupId: string, cause?: unknown): HighwaterError {
  return new HighwaterError('GROUP_LOST', `the group ${groupId} went on without this member`, { cause });
}

const lost = new Set([
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'FENCED_INSTANCE_ID',
  'REBALANCE_IN_PROGRESS',
]);
