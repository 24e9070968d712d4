import type { TopicPartition } from 'kafkajs';
import type { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import { type Cluster, grouped, knownLeader, partitionName } from '../connection/cluster';
import { acceptsLeaderless } from '../connection/guards/cluster-questions';
import { brokersFailed, isUnreachable } from '../connection/kafka-failure';

/**
 * A partition is leaderless if it has no leader, or if its leader cannot be reached from here. Clusters that accept partitions
 * without a leader read the other partitions (`acceptLeaderless`).
 */

/** Kafka's node id for "no leader". */
export const NO_LEADER = '-1';
/** A partition whose leader changes may have none for a moment, in ms. */
const MOMENT_MS = 3_000;
/** A dead broker counts as a leader until its session is over, which is after 9 s by default. In ms. */
const UNREACHABLE_MS = 15_000;
/** Records carry the time at which their writer made them. The writer may have tried for this long to write them, in ms. */
const LATE_MS = 60_000;
/** The shortest pause between two tries to reach a broker, in ms. */
const TRY_AGAIN_MS = 1_000;

/** By cluster and node id: when to try again to reach a broker, by performance.now(). Infinity while a try is under way. */
const unreachable = new WeakMap<Cluster, Map<string, number>>();

/** The broker that leads a partition. @throws HighwaterError LOG_FAILED */
export function leaderOf(cluster: Cluster, place: TopicPartition): string {
  const nodeId = knownLeader(cluster, place);
  if (nodeId === undefined || nodeId === NO_LEADER) throw missingPartition(place);
  return nodeId;
}

/** From the cluster's latest metadata. False for a partition that does not exist. */
export function isLeaderless(cluster: Cluster, { topic, partition }: TopicPartition): boolean {
  const nodeId = knownLeader(cluster, { topic, partition });
  return nodeId !== undefined && (nodeId === NO_LEADER || unreachable.get(cluster)?.has(nodeId) === true);
}

/** By the node id of their leader, without leaderless partitions. @throws HighwaterError LOG_FAILED */
export function byLeader<Place extends TopicPartition>(cluster: Cluster, places: readonly Place[]) {
  const led = places.filter((one) => !isLeaderless(cluster, one));
  return grouped(led, (place) => leaderOf(cluster, place));
}

export function missingPartition({ topic, partition }: TopicPartition): HighwaterError {
  const what = `partition ${partition} of topic ${topic} has no leader that can be reached, or does not exist any more`;
  return brokersFailed(what);
}

/** The partitions of topics, from the cluster's latest metadata. */
export function partitionsOf(cluster: Cluster, topics: readonly string[]): TopicPartition[] {
  return topics.flatMap((topic) =>
    cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
  );
}

/**
 * Time from which to read a partition whose end is unknown. Some records that were written shortly before are read too: a later
 * beginning could lose records that were written while the partition had its leader back.
 * @param nowMs when the reader began
 */
export function leaderlessSince(nowMs: number): number {
  return nowMs - LATE_MS;
}

/**
 * Asks several leaders at once. A cluster that accepts leaderless partitions leaves out the leaders that cannot be reached; their
 * partitions are leaderless until a later try in the background reaches them.
 * @param asked by the leader's node id
 * @throws what `ask` throws
 */
export async function askLeaders<Asked, Answer>(
  cluster: Cluster,
  asked: ReadonlyMap<string, Asked>,
  ask: (nodeId: string, of: Asked) => Promise<Answer>,
): Promise<Answer[]> {
  const answers = [...asked].map(async ([nodeId, of]) => {
    try {
      return [await ask(nodeId, of)];
    } catch (error) {
      if (!acceptsLeaderless(cluster) || !isUnreachable(error)) throw error;
      const tries = unreachable.get(cluster) ?? new Map<string, number>();
      unreachable.set(cluster, tries.set(nodeId, performance.now()));
      return [];
    }
  });
  return (await Promise.all(answers)).flat();
}

/** Asks brokers that could not be reached for a sign of life, without waiting for the outcome. */
export function tryUnreachable(cluster: Cluster): void {
  const tries = unreachable.get(cluster);
  if (tries === undefined) return;
  const beganAt = performance.now();
  for (const [nodeId, at] of tries) {
    if (beganAt < at) continue;
    tries.set(nodeId, Number.POSITIVE_INFINITY);
    // Its connection alone says nothing: a broker that hangs takes connections.
    const answered = cluster.findBroker({ nodeId }).then((broker) => broker.apiVersions());
    answered.then(
      () => tries.delete(nodeId),
      () => {
        // A broker that hangs counts as connected during each try, and questions to any broker may go to it: so it rests for longer.
        const tookMs = performance.now() - beganAt;
        tries.set(nodeId, performance.now() + Math.max(TRY_AGAIN_MS, 2 * tookMs));
      },
    );
  }
}

/** Warns once of each partition that is not read because it is leaderless. */
export class LeaderlessNotes {
  private readonly noted = new Map<string, { readonly sinceMs: number; isTold: boolean }>();

  constructor(private readonly logger: Logger) {}

  /**
   * Says so when a partition has been leaderless for some time, and when it has a leader again.
   * @param isAtOnce whether a moment without a leader counts
   * @returns whether it is leaderless and a warning said so
   */
  note(cluster: Cluster, { topic, partition }: TopicPartition, isAtOnce = false): boolean {
    const name = partitionName({ topic, partition });
    const note = this.noted.get(name) ?? { sinceMs: performance.now(), isTold: false };
    if (!isLeaderless(cluster, { topic, partition })) {
      this.noted.delete(name);
      if (note.isTold)
        this.logger.warn(`Partition ${partition} of topic ${topic} has a leader again and is read on.`);
      return false;
    }
    this.noted.set(name, note);
    const hasLeader = knownLeader(cluster, { topic, partition }) !== NO_LEADER;
    const momentMs = isAtOnce ? 0 : hasLeader ? UNREACHABLE_MS : MOMENT_MS;
    if (note.isTold || performance.now() - note.sinceMs < momentMs) return note.isTold;
    note.isTold = true;
    this.logger.warn(
      `Partition ${partition} of topic ${topic} has no leader that can be reached. The other partitions are read on; it is read again once it has one. If that takes long, check whether a broker is down, or cannot be reached from here.`,
    );
    return true;
  }

  /** The same for all partitions of topics. */
  look(cluster: Cluster, topics: readonly string[], isAtOnce = false): void {
    for (const partition of partitionsOf(cluster, topics)) this.note(cluster, partition, isAtOnce);
  }
}
