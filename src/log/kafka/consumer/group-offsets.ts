import type { TopicPartition } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { unlessLate } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { GroupPlace } from '../../consumer-log';
import type { CommandTarget } from '../connection/admin-commands';
import { byTopic, partitionName } from '../connection/cluster';
import { isOfMissingTopic, isProtocolError, kafkaFailure, passesByItself } from '../connection/kafka-failure';
import type { Coordinator } from '../group/coordinator';
import type { GroupMember } from '../group/member';
import type { MemberPlace, TopicPartitions } from '../group/member-data';
import { HEARS_MS } from '../reader/reading';

const AGAIN_MS = 100;
const ANSWER_MS = 10_000;

export interface CommittedOffset {
  /** Offset of the record to come. */
  readonly next: number;
  /** The id of the topic that was read. Null when the brokers know no ids, or when another program or an older version committed. */
  readonly topicId: string | null;
  /** Why the group stands there; empty: nothing to say. */
  readonly note: string;
}

/**
 * The id stands in the metadata of the offset, which is text that other programs show, or ignore. Brokers remove offsets with
 * their topic, but they keep an offset that was committed when the topic was gone already, or while the coordinator moved.
 */
const METADATA = /^(?:topic-id=([\w-]{22}))? ?(.*)$/s;
/** Brokers take 4,096 bytes (offset.metadata.max.bytes). Characters. */
const LONGEST_NOTE = 1_000;

/** Offsets of a group. They are requested from its coordinator, over the connection of the member's heartbeats. */
export class GroupOffsets {
  /** @param limits `patienceMs`: how long a commit may take while the coordinator is away. A fetch may take any time */
  constructor(
    private readonly groupId: string,
    private readonly member: Pick<GroupMember, 'coordinator' | 'ask'>,
    private readonly limits: { readonly target: CommandTarget; readonly patienceMs: number },
  ) {}

  /**
   * @returns by `topic/partition`, without partitions for which the group never committed
   * @throws HighwaterError KAFKA_*, LOG_*; the signal's reason
   */
  async fetch(partitions: TopicPartitions, signal: AbortSignal) {
    const { groupId } = this;
    const topics = Object.entries(partitions).map(([topic, numbers]) => ({
      topic,
      partitions: numbers.map((partition) => ({ partition })),
    }));
    const doing = `asking where the group ${groupId} stands`;
    const fetch = (coordinator: Coordinator) => coordinator.offsetFetch({ groupId, topics });
    const { responses } = await this.ask(doing, topics, fetch, Number.POSITIVE_INFINITY, signal);
    const found = responses.flatMap(({ topic, partitions: own }) =>
      own.map(({ partition, offset, metadata }) => {
        const committed = { next: Number(offset), ...readMetadata(metadata) };
        return [partitionName({ topic, partition }), committed] as const;
      }),
    );
    return new Map(found.filter(([, { next }]) => next >= 0));
  }

  /** @param holder the member that commits @throws HighwaterError GROUP_LOST, KAFKA_*, LOG_*; the signal's reason */
  async commit(
    { memberId, generation }: Pick<MemberPlace, 'memberId' | 'generation'>,
    offset: CommittedOffset & TopicPartition,
    signal: AbortSignal,
  ): Promise<void> {
    const { groupId } = this;
    const topics = byTopic([offset], offsetToCommit);
    const request = { groupId, groupGenerationId: generation, memberId, topics };
    const commit = (coordinator: Coordinator) => coordinator.offsetCommit(request);
    await this.ask(`committing for the group ${groupId}`, topics, commit, this.limits.patienceMs, signal);
  }

  private ask<T>(
    doing: string,
    of: readonly { readonly topic: string }[],
    work: (coordinator: Coordinator) => Promise<T>,
    forMs: number,
    signal: AbortSignal,
  ): Promise<T> {
    const { groupId, member } = this;
    const away = () => new Error(`Connection timeout: the coordinator of group ${groupId} is away`);
    const tried = async () => {
      signal.throwIfAborted();
      try {
        const coordinator = member.coordinator();
        if (coordinator === null) throw away();
        return await unlessLate(work(coordinator), ANSWER_MS, signal, away);
      } catch (error) {
        signal.throwIfAborted();
        if (hasOtherMembers(error)) throw groupLost(groupId, error);
        // A sign of life finds out that another broker keeps the group by now.
        member.ask();
        const topics = of.map(({ topic }) => topic);
        throw kafkaFailure(error, doing, { operation: 'READ', topics, groupId, cluster: this.limits.target });
      }
    };
    const beganAt = performance.now();
    const isWorthIt = (failure: unknown) =>
      passesByItself(failure) &&
      failure.code !== 'GROUP_LOST' &&
      !(isOfMissingTopic(failure) && Number.isFinite(forMs) && performance.now() - beganAt > HEARS_MS);
    return retrying(tried, { signal, isWorthIt, pauseMs: AGAIN_MS, forMs });
  }
}

export function readMetadata(metadata: string | null): Pick<CommittedOffset, 'topicId' | 'note'> {
  const [, topicId = null, note = ''] = METADATA.exec(metadata ?? '') ?? [];
  return { topicId, note };
}

export function groupLost(groupId: string, cause?: unknown): HighwaterError {
  return new HighwaterError('GROUP_LOST', `the group ${groupId} went on without this member`, { cause });
}

export function offsetToCommit(place: GroupPlace & Pick<CommittedOffset, 'topicId'>) {
  const { topicId, partition, next, note = '' } = place;
  const id = topicId === null ? '' : `topic-id=${topicId}`;
  const metadata = `${id} ${note.slice(0, LONGEST_NOTE)}`.trim() || null;
  return { partition, offset: String(next), metadata };
}

/** Whether the coordinator refused a commit because the members of the group are others. */
export function hasOtherMembers(error: unknown): boolean {
  return isProtocolError(
    error,
    'ILLEGAL_GENERATION',
    'UNKNOWN_MEMBER_ID',
    'FENCED_INSTANCE_ID',
    'REBALANCE_IN_PROGRESS',
  );
}
