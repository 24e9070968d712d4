import { z } from 'zod';
import type { Logger } from '../../../logging/logger';
import type { GroupProtocol } from '../group/group-protocol';
import {
  decodeMetadata,
  encodeAssignment,
  encodeMetadata,
  type JoinedMember,
  memberData,
  type TopicPartitions,
} from '../group/member-data';
import { ownIdentity } from '../group/process-identity';
import { assignPartitions, type Claims, type Subscriber } from './partition-assignment';

/** Members that speak no protocol in common cannot be in one group. */
const CONSUMER_PROTOCOL = 'highwater-sticky';

const NO_CLAIMS: Claims = { generation: -1, partitions: {} };

const subscriberData = memberData.extend({
  claims: z
    .object({ generation: z.number(), partitions: z.record(z.string(), z.array(z.number())) })
    .default({ generation: -1, partitions: {} }),
});

export interface SubscriptionDeps {
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  readonly topics: readonly string[];
  readonly logger: Logger;
  /** The present assignment; null: none yet. */
  claims(): Claims | null;
  /** The partitions of topics that there are. Asked if this member leads the group. */
  partitions(topics: readonly string[]): Promise<TopicPartitions>;
}

/** How the members of a consumer group share partitions. */
export function subscription(deps: SubscriptionDeps): Omit<GroupProtocol, 'placed' | 'work'> {
  const { groupId, sessionTimeoutMs, topics, logger } = deps;

  /** A member that cannot be understood gets nothing, and does not keep the others from their partitions. */
  function readSubscriber(member: JoinedMember): Subscriber {
    const { memberId } = member;
    try {
      const { topics: wanted, data } = decodeMetadata(member, subscriberData);
      return { memberId, topics: wanted, claims: data.claims };
    } catch (error) {
      const what = `The member ${memberId} of group ${groupId} is of another program; it gets no partitions.`;
      logger.warn(what, { error });
      return { memberId, topics: [], claims: NO_CLAIMS };
    }
  }

  return {
    name: CONSUMER_PROTOCOL,
    // Members first finish the work in hand, which may take one session timeout. The rest is a reserve for the steps before and
    // after.
    rebalanceTimeoutMs: 2 * sessionTimeoutMs,
    introduction() {
      const { generation, partitions } = deps.claims() ?? NO_CLAIMS;
      return encodeMetadata(topics, { process: ownIdentity(), claims: { generation, partitions } });
    },
    async divide(members) {
      const known = members.map(readSubscriber);
      const found = await deps.partitions([...new Set(known.flatMap((one) => one.topics))]);
      return [...assignPartitions(known, found)].map(([memberId, partitions]) => ({
        memberId,
        memberAssignment: encodeAssignment(partitions),
      }));
    },
    isPassing: () => false,
  };
}
