import type { ProcessIdentity } from './process-identity';
import { assign, byText, idOf } from './sticky-assignor';

/** Data that an instance sends to the others when it joins. */
export interface Member {
  /** Given by the coordinator; another one after an expulsion. */
  readonly memberId: string;
  readonly instance: string;
  readonly isGuest: boolean;
  /** Names of the feeds that it can publish. */
  readonly feeds: readonly string[];
  /** The feeds that it could not take over lately: others come first. */
  readonly declined: readonly string[];
  /** Lets a later process on the same machine see whether this one has ended. */
  readonly process: ProcessIdentity;
  /** Its earlier assignment, and its member id at that time. */
  readonly claims: Claims;
}

export interface Claims {
  readonly memberId: string;
  /** Feed → generation of the group in which it was given. */
  readonly feeds: Readonly<Record<string, number>>;
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
