import type { TopicPartition } from 'kafkajs';
import { pause, sharedController } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import { Outage } from '../../../logging/outage';
import type { AssignedPartition, GroupOptions, PartitionRange } from '../../consumer-log';
import { type Cluster, drop, partitionName, readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { persistently } from '../connection/persistently';
import type { MemberPlace, TopicPartitions } from '../group/member-data';
import { topicIds } from '../protocol/newer-requests';
import { isLeaderless, leaderlessSince } from '../reader/leaderless';
import { offsetRanges, offsetsSince, placeIn, topicsOf } from '../reader/offsets';
import type { PartitionPosition } from '../reader/partition-reader';
import { type ReadingDeps, readingTopics } from '../reader/reading';
import { type CommittedOffset, type GroupOffsets, groupLost } from './group-offsets';
import type { KnownTopics } from './known-topics';
import { type SharedFetchDeps, sharedFetch } from './shared-fetch';

/** How often to look whether partitions without a leader have one, in ms. */
const LEADER_LOOK_MS = 1_000;

export interface PlacementDeps extends ReadingDeps, Pick<SharedFetchDeps, 'notes'> {
  readonly groupId: string;
  readonly offsets: GroupOffsets;
  readonly work: GroupOptions['work'];
  /** `topic/partition` → its work, also of earlier placements. A partition is worked on once at a time. */
  readonly working: Map<string, Promise<void>>;
  /** When the member joined, in ms since 1970. */
  readonly joinedAt: number;
  /** The same for all placements of the member. */
  readonly known: KnownTopics;
  /** A topic was deleted and created again under its name: its partitions must be assigned again. */
  recreated(): void;
  /** The partitions cannot be read at all. */
  failed(error: unknown): void;
}

export type Placement = ReturnType<typeof takeUp>;

/** Works on the partitions of a member from one generation of the group to the next. */
export function takeUp(place: MemberPlace, partitions: TopicPartitions, deps: PlacementDeps) {
  const { kafka, groupId, offsets, working, logger, target, notes, joinedAt, known } = deps;
  const revoked = sharedController();
  const over = sharedController();
  const all = Object.entries(partitions).flatMap(([topic, numbers]) =>
    numbers.map((partition): TopicPartition => ({ topic, partition })),
  );
  const topics = topicsOf(all);
  const { signal } = revoked;
  /** Brokers that are away come back. */
  const looking = {
    ...readingTopics(topics, target),
    outage: new Outage(`Reading ${topics.join(', ')} for the group ${groupId}`, logger),
    signal,
    forMs: Number.POSITIVE_INFINITY,
    recover: async (error: unknown) =>
      logger.debug('the partitions of a group are looked at again', { groupId, error }),
  };
  const connection = { close: (): void => undefined };
  // Without partitions there may still be something to say of the topics that the member had.
  const worked = all.length + known.names().length === 0 ? Promise.resolve() : workOnAll();

  async function workOnAll(): Promise<void> {
    const works: Promise<void>[] = [];
    try {
      const [committed, { cluster, ids, ranges }] = await Promise.all([
        offsets.fetch(partitions, signal),
        persistently(open, looking),
      ]);
      signal.throwIfAborted();
      const fetched = ({ latest, topicId = null, ...place }: PartitionPosition) =>
        known.note(place, topicId, { end: Number(latest ?? 0) });
      const fetching = sharedFetch(cluster, { ...deps, signal, topicIds: ids, fetched });
      let waiting = all;
      for (let found = ranges; ; found = await laterRanges(cluster)) {
        for (const one of waiting) {
          const range = found.get(partitionName(one));
          if (range === undefined) notes.note(cluster, one);
          else works.push(workOn(one, range, committed.get(partitionName(one)), ids, fetching));
        }
        waiting = waiting.filter((one) => !found.has(partitionName(one)));
        if (waiting.length === 0) break;
      }
    } catch (error) {
      if (!signal.aborted) deps.failed(error);
    }
    await Promise.all(works);
  }

  async function open() {
    connection.close();
    const cluster = acceptLeaderless(readingCluster(kafka));
    connection.close = () => drop(cluster);
    await cluster.connect();
    await cluster.addMultipleTargetTopics(topics);
    // Once, and before the offsets: the earlier id of a topic that is recreated from then on is refused when it is read.
    const ids = await topicIds(cluster, [...new Set([...topics, ...known.names()])]);
    known.look(topics, ids);
    return { cluster, ids, ranges: await rangesOf(cluster, all, joinedAt) };
  }

  /** The ranges a while later. The other partitions are read meanwhile, by the same connections. */
  async function laterRanges(cluster: Cluster) {
    await pause(LEADER_LOOK_MS, signal);
    return persistently(
      async () => {
        await cluster.refreshMetadata();
        return rangesOf(cluster, all, joinedAt);
      },
      { ...looking, cluster },
    );
  }

  function workOn(
    { topic, partition }: TopicPartition,
    range: PartitionRange,
    committed: CommittedOffset | undefined,
    ids: ReadonlyMap<string, string>,
    fetching: ReturnType<typeof sharedFetch>,
  ): Promise<void> {
    const name = partitionName({ topic, partition });
    const topicId = ids.get(topic) ?? null;
    // An offset in an earlier topic of the name says nothing about this topic.
    const isRecreated = topicId !== null && topicId !== (committed?.topicId ?? topicId);
    /** Commits go one after the other: if two crossed, the earlier one could count. */
    let committing: Promise<void> = Promise.resolve();
    const assigned: AssignedPartition = {
      topic,
      partition,
      topicId,
      isRecreated,
      committed: isRecreated ? null : (committed?.next ?? null),
      range,
      revoked: signal,
      records(from, goesOn) {
        known.note({ topic, partition }, topicId, { next: from, end: range.end });
        return fetching.records(topic, partition, from, goesOn);
      },
      settled: (next) => fetching.settled(topic, partition, next),
      commit(next, note = '') {
        const settled = assigned.settled(next);
        known.note({ topic, partition }, topicId, { next: settled });
        const done = committing.then(() => commit({ topic, topicId, partition, next: settled, note }));
        committing = done.catch(() => undefined);
        return done;
      },
    };
    const work = async () => {
      // An earlier placement may not have finished its work in time.
      await working.get(name);
      if (!signal.aborted) await deps.work(assigned);
    };
    const running = work().catch((error: unknown) => {
      const what = 'the work on a partition ended; it rests until the group has settled again';
      logger.debug(what, { groupId, topic, partition, error });
    });
    working.set(name, running);
    running.then(() => {
      if (working.get(name) === running) working.delete(name);
    });
    return running;
  }

  async function commit(offset: TopicPartition & CommittedOffset): Promise<void> {
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
    /** Whether the partitions are worked on. */
    isHeld: (): boolean => !signal.aborted,
    /** Begins nothing new. Resolves when the work in hand is done. May be called again. */
    async finish(): Promise<void> {
      revoked.abort();
      await worked;
      connection.close();
    },
    /** A commit fails from now on. */
    lost(): void {
      revoked.abort();
      over.abort();
      connection.close();
    },
  };
}

/** By `topic/partition`, without partitions that have no leader. */
async function rangesOf(cluster: Cluster, partitions: readonly TopicPartition[], joinedAt: number) {
  const topics = topicsOf(partitions);
  const [ranges, since] = await Promise.all([
    offsetRanges(cluster, topics, 'end'),
    offsetsSince(cluster, topics, leaderlessSince(joinedAt)),
  ]);
  const missing = partitions.filter((one) => !isLeaderless(cluster, one) && !placeIn(ranges, one));
  if (missing.length > 0) {
    // The leader of the group heard of it from a broker that knew it earlier. If it were left out, no member would have it.
    const what = `no partition ${missing.map(partitionName).join(', ')} is known to the broker asked`;
    throw new HighwaterError('LOG_FAILED', what);
  }
  return new Map(
    ranges.map((range) => {
      const [first, end] = [Number(range.first), Number(range.end)];
      const sinceJoined = Number(placeIn(since, range)?.next ?? end);
      return [partitionName(range), { first, end, sinceJoined }];
    }),
  );
}
