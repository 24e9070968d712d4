/** A partition of a topic, or a feed, that one member of a group is to have. Both are shared in the same way. */
export interface Item {
  readonly topic: string;
  readonly partition: number;
  /** Ids of the members that can have it: at least one. */
  readonly candidates: readonly string[];
  /** The candidates that had it before, the best claim first. */
  readonly claimants: readonly string[];
}

/**
 * Gives each item to one member. Members keep what they have, up to a fair share; the rest goes to the members with the
 * least. The result is the same whichever member computes it.
 * @param members ids
 * @returns items by member id; every member is there
 */
export function assign(
  members: readonly string[],
  items: readonly Item[],
): ReadonlyMap<string, readonly Item[]> {
  const owners = new Map<Item, string>();
  /** How many items a member has, by its id, and how many of one topic, by `topic id`. */
  const counts = new Map<string, number>();
  const count = (name: string): number => counts.get(name) ?? 0;
  const add = (member: string, topic: string, by: 1 | -1): void => {
    for (const name of [member, `${topic} ${member}`]) counts.set(name, count(name) + by);
  };
  const give = (item: Item, member: string): void => {
    const before = owners.get(item);
    if (before !== undefined) add(before, item.topic, -1);
    owners.set(item, member);
    add(member, item.topic, 1);
  };
  const least = ({ topic, candidates }: Item): string => {
    const ofTopic = (member: string) => count(`${topic} ${member}`);
    const order = (a: string, b: string) => count(a) - count(b) || ofTopic(a) - ofTopic(b) || byText(a, b);
    return [...candidates].sort(order)[0]!;
  };

  const able = new Set(items.flatMap(({ candidates }) => candidates)).size;
  const isAlike = items.every(({ candidates }) => candidates.length === able);
  const most = isAlike ? Math.ceil(items.length / Math.max(1, able)) : Number.POSITIVE_INFINITY;
  // If the items do not come out even, this many members have one more than the others.
  let larger = isAlike ? items.length - (most - 1) * able : Number.POSITIVE_INFINITY;
  const hasRoom = (member: string): boolean => count(member) < (larger > 0 ? most : most - 1);

  const rest: Item[] = [];
  // Items that few members can have come first: the others fit in around them.
  for (const item of [...items].sort(byCandidates)) {
    const claimant = item.claimants.find(hasRoom);
    if (claimant === undefined) {
      rest.push(item);
      continue;
    }
    give(item, claimant);
    if (count(claimant) === most) larger--;
  }
  for (const item of rest) give(item, least(item));

  const latestFirst = [...owners.keys()].reverse();
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (const item of latestFirst) {
      const to = least(item);
      if (count(owners.get(item)!) - count(to) < 2) continue;
      give(item, to);
      isMoving = true;
    }
  }
  const given = new Map(members.map((member) => [member, [] as Item[]]));
  for (const [item, member] of owners) given.get(member)!.push(item);
  return given;
}

function byCandidates(a: Item, b: Item): number {
  return a.candidates.length - b.candidates.length || byText(a.topic, b.topic) || a.partition - b.partition;
}

/** Any order will do that is the same for all members. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export function idOf({ memberId }: { readonly memberId: string }): string {
  return memberId;
}
