import type { Logger } from '../../../logging/logger';
import { assignFeeds, type Member } from './assignment';
import type { GroupProtocol, JoinedMember } from './group-protocol';
import { hasEnded } from './process-identity';
import {
  decodeAssignment,
  decodeMember,
  encodeAssignment,
  encodeMember,
  PROTOCOL,
  type TopicOf,
} from './protocol';

/** What an instance was given. It holds until the next one. */
export interface OwnersAssignment {
  readonly memberId: string;
  readonly generation: number;
  readonly feeds: readonly string[];
  /** Every feed of the group → the instance that has it. */
  readonly owners: Readonly<Record<string, string>>;
}

export interface OwnersProtocolDeps {
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  readonly logger: Logger;
  readonly topicOf: TopicOf;
  /** Asked at every join. */
  introduction(): Omit<Member, 'memberId'>;
  /** The group has settled. */
  placed(place: OwnersAssignment): void;
}

/** How instances share feeds. Nothing waits for what they have in hand: the fence of the log ends it. */
export function ownersProtocol(deps: OwnersProtocolDeps): GroupProtocol {
  const { groupId, logger, topicOf } = deps;

  /** One that cannot be understood gets nothing, and does not keep the others from theirs. */
  function readMember({ memberId, memberMetadata }: JoinedMember): Member {
    try {
      return decodeMember(memberId, memberMetadata);
    } catch (error) {
      logger.warn(
        `The member ${memberId} of group ${groupId} is of another program or version; it gets no feeds.`,
        { error },
      );
      return {
        ...deps.introduction(),
        memberId,
        instance: memberId,
        feeds: [],
        claims: { memberId: '', feeds: {} },
      };
    }
  }

  return {
    name: PROTOCOL,
    rebalanceTimeoutMs: deps.sessionTimeoutMs,
    introduction: () => encodeMember(deps.introduction(), topicOf),
    async divide(members) {
      const known = members.map(readMember);
      const instances = new Map(known.map(({ memberId, instance }) => [memberId, instance]));
      const given = assignFeeds(known);
      const owners = Object.fromEntries(
        [...given].flatMap(([id, feeds]) => feeds.map((feed) => [feed, instances.get(id)!])),
      );
      return [...given].map(([memberId, feeds]) => ({
        memberId,
        memberAssignment: encodeAssignment({ feeds, owners }, topicOf),
      }));
    },
    placed({ assignment, ...place }) {
      deps.placed({ ...place, ...decodeAssignment(assignment) });
    },
    isGhost({ memberId, memberMetadata }) {
      try {
        return hasEnded(decodeMember(memberId, memberMetadata).process);
      } catch {
        // A member of another program, or one that has not joined yet, has nothing to read.
        return false;
      }
    },
    isPassing: () => deps.introduction().isGuest,
  };
}
