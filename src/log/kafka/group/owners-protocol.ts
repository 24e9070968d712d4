import { z } from 'zod';
import type { Logger } from '../../../logging/logger';
import { assignFeeds, type Member } from './feed-assignment';
import type { GroupProtocol } from './group-protocol';
import {
  decodeAssignment,
  decodeMetadata,
  encodeAssignment,
  encodeMetadata,
  type JoinedMember,
  memberData,
} from './member-data';

/** Members that speak no protocol in common cannot be in one group. */
export const OWNERS_PROTOCOL = 'highwater';

/** The group in which the instances of an installation find each other. Feeds and prefixes have no colon. */
export function ownersGroup(appId: string, topicPrefix: string): string {
  return `${appId}:${topicPrefix}owners`;
}

/** A feed's topic in the eyes of tools: its source offsets. */
export type TopicOf = (feed: string) => string;

const instanceData = memberData.extend({
  instance: z.string(),
  feeds: z.array(z.string()),
  isGuest: z.boolean().default(false),
  declined: z.array(z.string()).default([]),
  claims: z
    .object({ memberId: z.string(), feeds: z.record(z.string(), z.number()) })
    .default({ memberId: '', feeds: {} }),
});

const sharedFeeds = z.object({
  feeds: z.array(z.string()),
  /** Every feed of the group → the instance that has it. */
  owners: z.record(z.string(), z.string()),
});

/** The feeds assigned to one instance. */
export type SharedFeeds = z.infer<typeof sharedFeeds>;

/** The assignment of an instance. It holds until the next one. */
export interface OwnersAssignment extends SharedFeeds {
  readonly memberId: string;
  readonly generation: number;
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

/** How instances share feeds. Nothing waits for work that an instance is in the middle of: the fence of the log ends it. */
export function ownersProtocol(deps: OwnersProtocolDeps): GroupProtocol {
  const { groupId, logger, topicOf } = deps;

  /** A member that cannot be understood gets nothing, and does not keep the others from their feeds. */
  function readMember(member: JoinedMember): Member {
    try {
      return decodeInstance(member);
    } catch (error) {
      const { memberId } = member;
      const what = `The member ${memberId} of group ${groupId} is of another program or version; it gets no feeds.`;
      logger.warn(what, { error });
      return { ...deps.introduction(), memberId, instance: memberId, feeds: [] };
    }
  }

  return {
    name: OWNERS_PROTOCOL,
    rebalanceTimeoutMs: deps.sessionTimeoutMs,
    introduction() {
      const own = deps.introduction();
      return encodeMetadata(own.feeds.map(topicOf), own);
    },
    async divide(members) {
      const known = members.map(readMember);
      const instances = new Map(known.map(({ memberId, instance }) => [memberId, instance]));
      const given = assignFeeds(known);
      const owners = Object.fromEntries(
        [...given].flatMap(([id, feeds]) => feeds.map((feed) => [feed, instances.get(id)!])),
      );
      return [...given].map(([memberId, feeds]) => {
        const topics = Object.fromEntries(feeds.map((feed) => [topicOf(feed), [0]]));
        return { memberId, memberAssignment: encodeAssignment(topics, { feeds, owners }) };
      });
    },
    placed({ assignment, ...place }) {
      deps.placed({ ...place, ...decodeFeeds(assignment) });
    },
    isPassing: () => deps.introduction().isGuest,
  };
}

/** @throws Error if the member is of another program */
export function decodeInstance(member: JoinedMember): Member {
  return { memberId: member.memberId, ...decodeMetadata(member, instanceData).data };
}

/** @throws Error if the assignment is of another program */
export function decodeFeeds(assignment: Buffer): SharedFeeds {
  const given = decodeAssignment(assignment);
  return given === null
    ? { feeds: [], owners: {} }
    : sharedFeeds.parse(JSON.parse(given.userData.toString('utf8')));
}
