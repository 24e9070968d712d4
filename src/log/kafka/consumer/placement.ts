import { retrying } from '../../../async/retrying';
import { pause, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { AssignedPartition, GroupOptions, PartitionRange } from '../../consumer-log';
import { type Cluster, readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { passesByItself } from '../connection/kafka-failure';
import type { MemberPlace } from '../group/group-protocol';
import type { TopicPartitions } from '../group/member-data';
import { topicIds } from '../protocol/topic-ids';
import { isLeaderless, type LeaderlessNotes, leaderlessSince, type Partition } from '../reader/leaderless';
import { offsetsSince, partitionOffsets } from '../reader/offsets';
import { type CommittedOffset, type GroupOffsets, groupLost } from './group-offsets';
import { type ReadingDeps, readFailure } from './reading';
import { type SharedFetch, sharedFetch } from './shared-fetch';

const AGAIN_MS = 250;
/** How often to look whether partitions without a leader have one, in ms. */
const LEADER_LOOK_MS = 1_000;

export interface PlacementDeps extends ReadingDeps {
  readonly groupId: string;
  readonly offsets: GroupOffsets;
  readonly work: GroupOptions['work'];
  /** `topic partition` → its work, also of earlier placements. A partition is worked on once at a time. */
  readonly working: Map<string, Promise<void>>;
  /** Tells people of partitions that have no leader. */
  readonly notes: LeaderlessNotes;
  /** When the member joined, in ms since 1970. */
  readonly joinedAt: number;
  /** A topic was deleted and created again under its name: the partitions are to be given anew. */
  recreated(topic: string): void;
  /** The partitions cannot be read at all. */
  failed(error: unknown): void;
}

/** The topics of a placement. They are always read by these ids, where the brokers know ids. */
interface OpenTopics {
  readonly cluster: Cluster;
  readonly ids: ReadonlyMap<string, string>;
}

/** What a member has from one generation of the group to the next. */
export interface Placement {
  readonly generation: number;
  readonly partitions: TopicPartitions;
  /** Whether it is worked on. */
  isHeld(): boolean;
  /** Begins nothing new. Resolves when the work in hand is done. May be called again. */
  finish(): Promise<void>;
  /** Anything that is committed from now on does not count. */
  lost(): void;
}

export function takeUp(place: MemberPlace, partitions: TopicPartitions, deps: PlacementDeps): Placement {
  const { kafka, groupId, offsets, working, logger, target, notes, joinedAt } = deps;
  const revoked = new AbortController();
  const over = new AbortController();
  const all = Object.entries(partitions).flatMap(([topic, numbers]) =>
    numbers.map((partition): Partition => ({ topic, partition })),
  );
  const topics = [...new Set(all.map(({ topic }) => topic))];
  const connection = { close: (): void => undefined };
  const worked = all.length === 0 ? Promise.resolve() : workOnAll();

  async function workOnAll(): Promise<void> {
    const works: Promise<void>[] = [];
    try {
      const [committed, { opened, ranges }] = await Promise.all([
        offsets.fetch(partitions, revoked.signal),
        untilKnown(open, AGAIN_MS),
      ]);
      revoked.signal.throwIfAborted();
      const { cluster, ids } = opened;
      const { recreated } = deps;
      const reading = { target, logger, notes, signal: revoked.signal, topicIds: ids, recreated };
      const fetching = sharedFetch(cluster, reading);
      let waiting = all;
      for (let known = ranges; ; known = await laterRanges(cluster)) {
        for (const one of waiting) {
          const range = known.get(nameOf(one));
          if (range === undefined) notes.note(cluster, one);
          else works.push(workOn(one, range, committed.get(nameOf(one)), ids, fetching));
        }
        waiting = waiting.filter((one) => !known.has(nameOf(one)));
        if (waiting.length === 0) break;
      }
    } catch (error) {
      if (!revoked.signal.aborted) deps.failed(error);
    }
    await Promise.all(works);
  }

  async function open(): Promise<{ opened: OpenTopics; ranges: ReadonlyMap<string, PartitionRange> }> {
    connection.close();
    const cluster = acceptLeaderless(readingCluster(kafka));
    connection.close = () => void cluster.disconnect().catch(() => undefined);
    await cluster.connect();
    await cluster.addMultipleTargetTopics(topics);
    // Once, and before the offsets: the earlier id of a topic that is recreated from then on is refused when it is read.
    const ids = await topicIds(cluster, topics);
    return { opened: { cluster, ids }, ranges: await rangesOf(cluster, all, joinedAt) };
  }

  /** The ranges a while later. The other partitions are read meanwhile, by the same connections. */
  async function laterRanges(cluster: Cluster): Promise<ReadonlyMap<string, PartitionRange>> {
    await pause(LEADER_LOOK_MS, revoked.signal);
    return untilKnown(async () => {
      await cluster.refreshMetadata();
      return rangesOf(cluster, all, joinedAt);
    }, LEADER_LOOK_MS);
  }

  /** Brokers that are away come back. @throws what does not pass by itself; the reason of `revoked` */
  function untilKnown<T>(ask: () => Promise<T>, pauseMs: number): Promise<T> {
    const { signal } = revoked;
    const tried = async () => {
      signal.throwIfAborted();
      return unlessAborted(ask(), signal).catch((error: unknown) => {
        throw readFailure(error, topics, target);
      });
    };
    return retrying(tried, {
      signal,
      isWorthIt: passesByItself,
      pauseMs,
      forMs: Number.POSITIVE_INFINITY,
      recover: (error) => logger.debug('the partitions of a group are looked at again', { groupId, error }),
    });
  }

  function workOn(
    { topic, partition }: Partition,
    range: PartitionRange,
    committed: CommittedOffset | undefined,
    ids: ReadonlyMap<string, string>,
    fetching: SharedFetch,
  ): Promise<void> {
    const name = nameOf({ topic, partition });
    const topicId = ids.get(topic) ?? null;
    // What the group did in an earlier topic of the name says nothing about this topic.
    const isRecreated = topicId !== null && topicId !== (committed?.topicId ?? topicId);
    /** Commits go one after the other: of two that cross, the earlier one could count. */
    let committing: Promise<void> = Promise.resolve();
    const assigned: AssignedPartition = {
      topic,
      partition,
      topicId,
      isRecreated,
      committed: isRecreated ? null : (committed?.next ?? null),
      range,
      revoked: revoked.signal,
      records: (from) => fetching.records(topic, partition, from),
      commit(next) {
        const settled = fetching.settled(topic, partition, next);
        const done = committing.then(() => commit({ topic, topicId, partition, next: settled }));
        committing = done.catch(() => undefined);
        return done;
      },
    };
    const work = async () => {
      // What an earlier placement was in the middle of and did not finish in time.
      await working.get(name);
      if (!revoked.signal.aborted) await deps.work(assigned);
    };
    const running = work().catch((error: unknown) => {
      const what = 'the work on a partition ended; it rests until the group settles anew';
      logger.debug(what, { groupId, topic, partition, error });
    });
    working.set(name, running);
    running.then(() => {
      if (working.get(name) === running) working.delete(name);
    });
    return running;
  }

  async function commit(offset: Partition & CommittedOffset): Promise<void> {
    if (over.signal.aborted) throw groupLost(groupId);
    try {
      await offsets.commit(place, offset, over.signal);
    } catch (error) {
      throw over.signal.aborted ? groupLost(groupId, error) : error;
    }
  }

  return {
    generation: place.generation,
    partitions,
    isHeld: () => !revoked.signal.aborted,
    async finish() {
      revoked.abort();
      await worked;
      connection.close();
    },
    lost() {
      revoked.abort();
      over.abort();
      connection.close();
    },
  };
}

/** By `topic partition`, without those that have no leader. */
async function rangesOf(
  cluster: Cluster,
  partitions: readonly Partition[],
  joinedAt: number,
): Promise<ReadonlyMap<string, PartitionRange>> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  const [firsts, ends, since] = await Promise.all([
    partitionOffsets(cluster, topics, 'beginning'),
    partitionOffsets(cluster, topics, 'end'),
    offsetsSince(cluster, topics, leaderlessSince(joinedAt)),
  ]);
  const [firstOf, endOf, sinceOf] = [firsts, ends, since].map(
    (found) => new Map(found.map((one) => [nameOf(one), Number(one.next)])),
  ) as [Map<string, number>, Map<string, number>, Map<string, number>];
  const missing = partitions.filter((one) => !isLeaderless(cluster, one) && !firstOf.has(nameOf(one)));
  if (missing.length > 0) {
    // Its leader heard of it from a broker that knew it earlier. If it were left out, nobody would have it.
    const what = `no partition ${missing.map(nameOf).join(', ')} is known to the broker asked`;
    throw new HighwaterError('LOG_FAILED', what);
  }
  return new Map(
    [...firstOf].map(([name, first]) => {
      const end = endOf.get(name) ?? first;
      return [name, { first, end, sinceJoined: sinceOf.get(name) ?? end }];
    }),
  );
}

function nameOf({ topic, partition }: Partition): string {
  return `${topic} ${partition}`;
}
