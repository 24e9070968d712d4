import { z } from 'zod';
import {
  type Assigned,
  decodeAssignment,
  decodeMetadata,
  encodeAssignment,
  type JoinedMember,
  memberData,
} from './member-data';
import { assign, byText, idOf } from './sticky-assignor';

/** Members that speak no protocol in common cannot be in one group. */
export const OWNERS_PROTOCOL = 'highwater';

/** The group in which the instances of an installation find each other. Feeds and prefixes have no colon. */
export function ownersGroup(appId: string, topicPrefix: string): string {
  return `${appId}:${topicPrefix}owners`;
}

/** Data that an instance sends to the others when it joins. */
const instanceData = memberData.extend({
  instance: z.string(),
  /** Names of the feeds that it can publish. */
  feeds: z.array(z.string()).readonly(),
  isGuest: z.boolean().default(false),
  /** The feeds that it could not take over lately: others come first. */
  declined: z.array(z.string()).readonly().default([]),
  /** Its member id at its earlier assignment. Feed → generation of the group in which it was given. */
  claims: z
    .object({ memberId: z.string(), feeds: z.record(z.string(), z.number()) })
    .default({ memberId: '', feeds: {} }),
});

export interface Member extends z.infer<typeof instanceData> {
  /** Given by the coordinator; another one after an expulsion. */
  readonly memberId: string;
}

const sharedFeeds = z.object({
  feeds: z.array(z.string()),
  /** Every feed of the group → the instance that has it. */
  owners: z.record(z.string(), z.string()),
});

/** The feeds assigned to one instance. */
export type SharedFeeds = z.infer<typeof sharedFeeds>;

/** @param topicOf a feed's topic in the eyes of tools: its source offsets */
export function divideFeeds(members: readonly Member[], topicOf: (feed: string) => string): Assigned[] {
  const instances = new Map(members.map(({ memberId, instance }) => [memberId, instance]));
  const given = assignFeeds(members);
  const owners = Object.fromEntries(
    [...given].flatMap(([id, feeds]) => feeds.map((feed) => [feed, instances.get(id)!])),
  );
  return [...given].map(([memberId, feeds]) => {
    const topics = Object.fromEntries(feeds.map((feed) => [topicOf(feed), [0]]));
    return { memberId, memberAssignment: encodeAssignment(topics, { feeds, owners }) };
  });
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

/**
 * Gives each feed to one member. A guest keeps its feeds, and otherwise gets only feeds that no other member can have. A member
 * that declines a feed has it only if all that could have it decline it.
 * @returns feeds by member id; every member is there
 */
export function assignFeeds(members: readonly Member[]): ReadonlyMap<string, readonly string[]> {
  const feeds = [...new Set(members.flatMap((member) => member.feeds))];
  const items = feeds.map((feed) => {
    const candidates = candidatesOf(feed, members);
    const claimants = claimantsOf(feed, candidates);
    return { topic: feed, partition: 0, candidates: candidates.map(idOf), claimants: claimants.map(idOf) };
  });
  const given = assign(members.map(idOf), items);
  return new Map([...given].map(([memberId, own]) => [memberId, own.map(({ topic }) => topic)]));
}

function candidatesOf(feed: string, members: readonly Member[]): readonly Member[] {
  const able = members.filter(({ feeds }) => feeds.includes(feed));
  const [holder] = claimantsOf(feed, able);
  if (holder?.isGuest && isValid(holder)) return [holder];
  const regulars = able.filter(({ isGuest }) => !isGuest);
  const willing = regulars.filter(({ declined }) => !declined.includes(feed));
  return [willing, regulars].find(({ length }) => length > 0) ?? able;
}

/** If two claims are valid, one member missed a generation: the later claim is of the member that had the feed last. */
function claimantsOf(feed: string, members: readonly Member[]): readonly Member[] {
  const since = ({ claims }: Member): number => claims.feeds[feed]!;
  return members
    .filter(({ claims }) => Object.hasOwn(claims.feeds, feed))
    .sort(
      (a, b) =>
        Number(isValid(b)) - Number(isValid(a)) || since(b) - since(a) || byText(a.memberId, b.memberId),
    );
}

/**
 * A claim that was made under another member id is of a member that the group has gone on without. It counts only if
 * no other member has the feed by now, or a process that was stopped for a while would take its feeds back.
 */
function isValid({ claims, memberId }: Member): boolean {
  return claims.memberId === memberId;
}
