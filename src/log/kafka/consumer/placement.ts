import { retrying } from '../../../async/retrying';
import { pause, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { AssignedPartition, GroupOptions, PartitionRange } from '../../consumer-log';
import { type Cluster, readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { passesByItself } from '../connection/kafka-failure';
import type { MemberPlace } from '../group/group-protocol';
import { topicIds } from '../protocol/topic-ids';
import { isLeaderless } from '../reader/fetch-partitions';
import { type LeaderlessNotes, leaderlessSince } from '../reader/leaderless';
import { offsetsSince, type PartitionPosition, partitionOffsets } from '../reader/partition-reader';
import { type CommittedOffset, type GroupOffsets, groupLost } from './group-offsets';
import type { TopicPartitions } from './partition-assignment';
import { type ReadingDeps, readFailure } from './reading';
import { type SharedFetch, sharedFetch } from './shared-fetch';

const AGAIN_MS = 250;
/** How often it is looked whether partitions without a leader have one, in ms. */
const LEADER_LOOK_MS = 1_000;

export interface PlacementDeps extends ReadingDeps {
  readonly groupId: string;
  readonly offsets: GroupOffsets;
  readonly work: GroupOptions['work'];
  /** `topic partition` → its work, also of earlier placements. A partition is worked on once at a time. */
  readonly working: Map<string, Promise<void>>;
  /** Tells of partitions that have no leader. */
  readonly notes: LeaderlessNotes;
  /** When the member joined, in ms since 1970. */
  readonly joinedAt: number;
  /** A topic was deleted, and another one was created under its name: the partitions are to be given anew. */
  recreated(topic: string): void;
  /** What it was given cannot be read at all. */
  failed(error: unknown): void;
}

type Standing = Pick<AssignedPartition, 'topicId' | 'isRecreated' | 'committed'>;

/** What a member has from one generation of the group to the next. */
export interface Placement {
  readonly generation: number;
  readonly partitions: TopicPartitions;
  /** Whether it is worked on. */
  isHeld(): boolean;
  /** Nothing new is begun. Resolves when what is in hand is done. May be called again. */
  finish(): Promise<void>;
  /** Nothing counts any more that is committed from now on. */
  lost(): void;
}

export function takeUp(place: MemberPlace, partitions: TopicPartitions, deps: PlacementDeps): Placement {
  const { kafka, groupId, offsets, working, logger, target, notes, joinedAt } = deps;
  const revoked = new AbortController();
  const over = new AbortController();
  const topics = Object.keys(partitions).filter((topic) => partitions[topic]!.length > 0);
  let cluster: Cluster | null = null;
  /** By topic, where the brokers know ids. */
  let ids: ReadonlyMap<string, string> = new Map();
  const works: Promise<void>[] = [];
  const began = topics.length === 0 ? Promise.resolve() : begin();

  async function begin(): Promise<void> {
    try {
      const [committed, ranges] = await Promise.all([
        offsets.fetch(partitions, revoked.signal),
        readRanges(),
      ]);
      revoked.signal.throwIfAborted();
      const { recreated } = deps;
      const reading = { target, logger, notes, signal: revoked.signal, topicIds: ids, recreated };
      const fetching = sharedFetch(cluster!, reading);
      let waiting = topics.flatMap((topic) => partitions[topic]!.map((partition) => ({ topic, partition })));
      for (let known = ranges; ; known = await laterRanges()) {
        const leaderless: typeof waiting = [];
        for (const place of waiting) {
          const name = `${place.topic} ${place.partition}`;
          const range = known.get(name);
          if (range === undefined) {
            notes.without(place);
            leaderless.push(place);
          } else {
            const given = { ...standing(place.topic, committed.get(name)), range };
            works.push(workOn(place, given, fetching));
          }
        }
        waiting = leaderless;
        if (waiting.length === 0) return;
      }
    } catch (error) {
      if (!revoked.signal.aborted) deps.failed(error);
    }
  }

  /** What the group did in an earlier topic of the name says nothing about this one. */
  function standing(topic: string, committed: CommittedOffset | undefined): Standing {
    const topicId = ids.get(topic) ?? null;
    const isRecreated = topicId !== null && topicId !== (committed?.topicId ?? topicId);
    return { topicId, isRecreated, committed: isRecreated ? null : (committed?.next ?? null) };
  }

  /** By `topic partition`, without those that have no leader. Asked until it is known: brokers that are away come back. */
  function readRanges(): Promise<ReadonlyMap<string, PartitionRange>> {
    return untilKnown(async () => {
      cluster?.disconnect().catch(() => undefined);
      cluster = acceptLeaderless(readingCluster(kafka));
      await prepare(cluster);
      return rangesOf(cluster);
    }, AGAIN_MS);
  }

  /** The same, a while later, asked by the connections by which the others are read meanwhile. */
  async function laterRanges(): Promise<ReadonlyMap<string, PartitionRange>> {
    await pause(LEADER_LOOK_MS, revoked.signal);
    return untilKnown(async () => {
      await cluster!.refreshMetadata();
      return rangesOf(cluster!);
    }, LEADER_LOOK_MS);
  }

  /** @throws what does not pass by itself; the reason of `revoked` */
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

  async function prepare(asked: Cluster): Promise<void> {
    await asked.connect();
    await asked.addMultipleTargetTopics(topics);
    // Once, and before the offsets: of a topic that is recreated from then on, the earlier id is refused when it is read.
    ids = await topicIds(asked, topics);
  }

  async function rangesOf(asked: Cluster): Promise<ReadonlyMap<string, PartitionRange>> {
    const [firsts, ends, since] = await Promise.all([
      partitionOffsets(asked, topics, 'beginning', 'skip'),
      partitionOffsets(asked, topics, 'end', 'skip'),
      offsetsSince(asked, topics, leaderlessSince(joinedAt)),
    ]);
    const nameOf = ({ topic, partition }: PartitionPosition) => `${topic} ${partition}`;
    const known = new Set(firsts.map(nameOf));
    const missing = topics.flatMap((topic) =>
      partitions[topic]!.filter((partition) => !isLeaderless(asked, { topic, partition }))
        .map((partition) => `${topic} ${partition}`)
        .filter((name) => !known.has(name)),
    );
    if (missing.length > 0) {
      // The leader has it from another broker, which knew of it earlier. To leave it out would be to leave it to nobody.
      throw new HighwaterError(
        'LOG_FAILED',
        `no partition ${missing.join(', ')} is known to the broker asked`,
      );
    }
    const endOf = new Map(ends.map((end) => [nameOf(end), Number(end.next)]));
    const sinceOf = new Map(since.map((one) => [nameOf(one), Number(one.next)]));
    return new Map(
      firsts.map((position) => {
        const [name, first] = [nameOf(position), Number(position.next)];
        const end = endOf.get(name) ?? first;
        return [name, { first, end, sinceJoined: sinceOf.get(name) ?? end }];
      }),
    );
  }

  function workOn(
    { topic, partition }: { readonly topic: string; readonly partition: number },
    given: Standing & { readonly range: PartitionRange },
    fetching: SharedFetch,
  ): Promise<void> {
    const name = `${topic} ${partition}`;
    /** One after the other: of two that cross, the earlier one could count. */
    let committing: Promise<void> = Promise.resolve();
    const work = async () => {
      // What an earlier placement was in the middle of and did not finish in time.
      await working.get(name);
      if (revoked.signal.aborted) return;
      await deps.work({
        topic,
        partition,
        revoked: revoked.signal,
        ...given,
        records: (from) => fetching.records(topic, partition, from),
        commit(next) {
          const settled = fetching.settled(topic, partition, next);
          const done = committing.then(() => commit(topic, partition, settled));
          committing = done.catch(() => undefined);
          return done;
        },
      });
    };
    const running = work().catch((error: unknown) => {
      logger.debug('the work on a partition ended; it rests until the group settles anew', {
        groupId,
        topic,
        partition,
        error,
      });
    });
    working.set(name, running);
    running.then(() => {
      if (working.get(name) === running) working.delete(name);
    });
    return running;
  }

  async function commit(topic: string, partition: number, next: number): Promise<void> {
    if (over.signal.aborted) throw groupLost(groupId);
    try {
      await offsets.commit(place, { topic, topicId: ids.get(topic) ?? null, partition, next }, over.signal);
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
      await began;
      await Promise.all(works);
      cluster?.disconnect().catch(() => undefined);
    },
    lost() {
      revoked.abort();
      over.abort();
      cluster?.disconnect().catch(() => undefined);
    },
  };
}
