import { createHash } from 'node:crypto';
import type { ProcessIdentity } from './process-identity';

/** What a member tells the others when it joins. */
export interface Member {
  /** Given by the coordinator; another one after an expulsion. */
  readonly memberId: string;
  readonly instance: string;
  readonly isGuest: boolean;
  /** Names of the feeds that it can publish. */
  readonly feeds: readonly string[];
  /** Of these feeds, those that it could not take over lately: others come first. */
  readonly declined: readonly string[];
  /** For who comes after it on the same machine. */
  readonly process: ProcessIdentity;
  /** What it was given before, and under which member id. */
  readonly claims: Claims;
}

export interface Claims {
  readonly memberId: string;
  /** Feed → generation of the group in which it was given. */
  readonly feeds: Readonly<Record<string, number>>;
}

/**
 * Gives each feed to one member. Members keep what they have, up to a fair share; the rest goes to those with least, the same
 * way whoever computes it.
 *
 * A claim made under another member id than the present one is of a member that the group has gone on without: it counts
 * only where nobody else has the feed by now, or a process that was stopped for a while would take its feeds back. A guest
 * keeps what it has, whatever its share, and is given only what no other member can have. Who declines a feed has it only
 * where all who could have it decline it.
 *
 * @returns feeds by member id; every member is there
 */
export function assignFeeds(members: readonly Member[]): ReadonlyMap<string, readonly string[]> {
  const given = new Map(members.map(({ memberId }) => [memberId, [] as string[]]));
  const regulars = members.filter(({ isGuest }) => !isGuest);
  const able = new Map<string, readonly Member[]>();
  for (const feed of new Set(members.flatMap(({ feeds }) => feeds))) able.set(feed, ableOf(feed, members));
  const rest = new Set(
    // Those that few can have first: the others fit in around them.
    // Stryker disable next-line EqualityOperator: any order will do that is the same for all
    [...able.keys()].sort((a, b) => able.get(a)!.length - able.get(b)!.length || (a < b ? -1 : 1)),
  );
  const give = (feed: string, { memberId }: Member): void => {
    given.get(memberId)!.push(feed);
    rest.delete(feed);
  };

  for (const feed of [...rest]) {
    const guest = firstClaimant(feed, able.get(feed)!, isValid);
    if (guest?.isGuest) give(feed, guest);
  }
  const share = Math.ceil(rest.size / Math.max(1, regulars.length));
  const hasRoom = ({ memberId }: Member): boolean => given.get(memberId)!.length < share;
  for (const counts of [isValid, isStale]) {
    for (const feed of [...rest]) {
      const claimant = firstClaimant(
        feed,
        able.get(feed)!.filter((one) => !one.isGuest && hasRoom(one)),
        counts,
      );
      if (claimant !== undefined) give(feed, claimant);
    }
  }
  for (const feed of [...rest]) {
    const [...candidates] = able.get(feed)!;
    const count = ({ memberId }: Member): number => given.get(memberId)!.length;
    candidates.sort(
      (a, b) =>
        Number(a.isGuest) - Number(b.isGuest) ||
        count(a) - count(b) ||
        // Stryker disable next-line EqualityOperator: any order will do that is the same for all
        (weight(a, feed) < weight(b, feed) ? -1 : 1),
    );
    give(feed, candidates[0]!);
  }
  return given;
}

function ableOf(feed: string, members: readonly Member[]): readonly Member[] {
  const able = members.filter(({ feeds }) => feeds.includes(feed));
  const willing = able.filter(({ declined }) => !declined.includes(feed));
  return willing.some(({ isGuest }) => !isGuest) ? willing : able;
}

function isValid({ claims, memberId }: Member): boolean {
  return claims.memberId === memberId;
}

function isStale(member: Member): boolean {
  return !isValid(member);
}

/** Two claims are both valid where one member missed a generation: the later one is of who had it last. */
function firstClaimant(
  feed: string,
  members: readonly Member[],
  counts: (member: Member) => boolean,
): Member | undefined {
  const since = ({ claims }: Member): number => claims.feeds[feed] ?? Number.NEGATIVE_INFINITY;
  const claimants = members.filter((member) => counts(member) && Object.hasOwn(member.claims.feeds, feed));
  // Stryker disable next-line EqualityOperator: any order will do that is the same for all
  return claimants.sort((a, b) => since(b) - since(a) || (a.memberId < b.memberId ? -1 : 1))[0];
}

/** Rendezvous hashing: who comes or goes moves no feed between the others. */
function weight({ instance, memberId }: Member, feed: string): string {
  const hash = createHash('sha1').update(`${instance}|${memberId}|${feed}`);
  // Stryker disable next-line StringLiteral: any text of the hash orders
  return hash.digest('hex');
}
