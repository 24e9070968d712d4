/** What a member of a consumer group tells the others when it joins. */
export interface Subscriber {
  /** Given by the coordinator; another one after an expulsion. */
  readonly memberId: string;
  readonly topics: readonly string[];
  /** What it was given last, and in which generation of the group. */
  readonly claims: Claims;
}

export interface Claims {
  readonly generation: number;
  readonly partitions: TopicPartitions;
}

/** Topic → numbers of partitions. */
export type TopicPartitions = Readonly<Record<string, readonly number[]>>;

interface Taken {
  readonly memberId: string;
  readonly topic: string;
  readonly partition: number;
}

/**
 * Gives each partition to one member that subscribes to its topic. Members keep what they have, up to a fair share; the rest goes
 * to those with least, the same way whoever computes it. Of two that claim one partition, the one that was given it later has
 * it: the other one was away meanwhile.
 *
 * @param partitions of each topic that there is
 * @returns by member id; every member is there
 */
export function assignPartitions(
  members: readonly Subscriber[],
  partitions: TopicPartitions,
): ReadonlyMap<string, TopicPartitions> {
  // Sorting is stable: this order decides wherever members are alike.
  // Stryker disable next-line EqualityOperator: any order will do that is the same for all
  const sorted = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const subscribers = (topic: string): Subscriber[] => sorted.filter(({ topics }) => topics.includes(topic));
  const counts = new Map(sorted.map(({ memberId }) => [memberId, 0]));
  const given: Taken[] = [];
  const rest: { readonly topic: string; readonly partition: number }[] = [];
  const give = (taken: Taken): void => {
    given.push(taken);
    counts.set(taken.memberId, counts.get(taken.memberId)! + 1);
  };

  // Those that few can have come first: the others fit in around them.
  const topics = Object.keys(partitions)
    .filter((topic) => subscribers(topic).length > 0)
    // Stryker disable next-line EqualityOperator: any order will do that is the same for all
    .sort((a, b) => subscribers(a).length - subscribers(b).length || (a < b ? -1 : 1));
  const isAlike = topics.every((topic) => subscribers(topic).length === sorted.length);
  const total = topics.reduce((sum, topic) => sum + partitions[topic]!.length, 0);
  const most = isAlike ? Math.ceil(total / Math.max(1, sorted.length)) : Number.POSITIVE_INFINITY;
  // Where the partitions do not come out even, so many members have the larger share.
  let larger = isAlike ? total - (most - 1) * sorted.length : Number.POSITIVE_INFINITY;
  const isSated = ({ memberId }: Subscriber): boolean => {
    const has = counts.get(memberId)!;
    return has >= most || (has === most - 1 && larger === 0);
  };
  for (const topic of topics) {
    for (const partition of [...partitions[topic]!].sort((a, b) => a - b)) {
      const claimant = lastClaimant(subscribers(topic), topic, partition);
      if (claimant === undefined || isSated(claimant)) {
        rest.push({ topic, partition });
        continue;
      }
      give({ memberId: claimant.memberId, topic, partition });
      if (counts.get(claimant.memberId) === most) larger--;
    }
  }
  for (const { topic, partition } of rest) {
    const ofTopic = (memberId: string) =>
      given.filter((one) => one.memberId === memberId && one.topic === topic).length;
    const [least] = subscribers(topic).sort(
      (a, b) =>
        counts.get(a.memberId)! - counts.get(b.memberId)! || ofTopic(a.memberId) - ofTopic(b.memberId),
    );
    give({ memberId: least!.memberId, topic, partition });
  }
  balance(given, counts, subscribers);
  return new Map(sorted.map(({ memberId }) => [memberId, byTopic(given, memberId)]));
}

/** Moves partitions from who has more to who has less by two or more, among those who can have them. */
function balance(
  given: Taken[],
  counts: Map<string, number>,
  subscribers: (topic: string) => Subscriber[],
): void {
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (let i = given.length - 1; i >= 0; i--) {
      const { memberId, topic, partition } = given[i]!;
      const [least] = subscribers(topic).sort((a, b) => counts.get(a.memberId)! - counts.get(b.memberId)!);
      if (counts.get(memberId)! - counts.get(least!.memberId)! < 2) continue;
      counts.set(memberId, counts.get(memberId)! - 1);
      counts.set(least!.memberId, counts.get(least!.memberId)! + 1);
      given[i] = { memberId: least!.memberId, topic, partition };
      isMoving = true;
    }
  }
}

function lastClaimant(
  members: readonly Subscriber[],
  topic: string,
  partition: number,
): Subscriber | undefined {
  return members
    .filter(({ claims }) => claims.partitions[topic]?.includes(partition))
    .sort((a, b) => b.claims.generation - a.claims.generation)[0];
}

function byTopic(given: readonly Taken[], memberId: string): TopicPartitions {
  const found: Record<string, number[]> = {};
  for (const one of given) {
    if (one.memberId !== memberId) continue;
    found[one.topic] ??= [];
    found[one.topic]!.push(one.partition);
  }
  for (const partitions of Object.values(found)) partitions.sort((a, b) => a - b);
  return found;
}
