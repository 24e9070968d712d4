import { HighwaterError } from '../../../errors';
import { pause, unlessAborted } from '../../../wait';
import type { GroupOptions } from '../../consumer-log';
import { type Cluster, readingCluster } from '../cluster';
import type { MemberPlace } from '../group/group-protocol';
import { partitionOffsets } from '../partition-reader';
import { type GroupOffsets, groupLost } from './group-offsets';
import type { TopicPartitions } from './partition-assignment';
import { passesByItself, type ReadingDeps, readFailure } from './reading';
import { type SharedFetch, sharedFetch } from './shared-fetch';

const AGAIN_MS = 250;

export interface PlacementDeps extends ReadingDeps {
  readonly groupId: string;
  readonly offsets: GroupOffsets;
  readonly work: GroupOptions['work'];
  /** `topic partition` → its work, also of earlier placements. A partition is worked on once at a time. */
  readonly working: Map<string, Promise<void>>;
  /** What it was given cannot be read at all. */
  failed(error: unknown): void;
}

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
  const { kafka, groupId, offsets, working, logger, target } = deps;
  const revoked = new AbortController();
  const over = new AbortController();
  const topics = Object.keys(partitions).filter((topic) => partitions[topic]!.length > 0);
  let cluster: Cluster | null = null;
  const works: Promise<void>[] = [];
  const began = topics.length === 0 ? Promise.resolve() : begin();

  async function begin(): Promise<void> {
    try {
      const [committed, ranges] = await Promise.all([
        offsets.fetch(partitions, revoked.signal),
        readRanges(),
      ]);
      revoked.signal.throwIfAborted();
      const fetching = sharedFetch(cluster!, { target, logger, signal: revoked.signal });
      for (const topic of topics) {
        for (const partition of partitions[topic]!) {
          const name = `${topic} ${partition}`;
          const range = ranges.get(name)!;
          works.push(workOn(topic, partition, { committed: committed.get(name) ?? null, range }, fetching));
        }
      }
    } catch (error) {
      if (!revoked.signal.aborted) deps.failed(error);
    }
  }

  /** By `topic partition`. Asked until it is known: brokers that are away come back. */
  async function readRanges(): Promise<ReadonlyMap<string, { first: number; end: number }>> {
    for (;;) {
      const asked = readingCluster(kafka);
      cluster = asked;
      try {
        return await unlessAborted(rangesOf(asked), revoked.signal);
      } catch (error) {
        asked.disconnect().catch(() => undefined);
        revoked.signal.throwIfAborted();
        const failure = readFailure(error, topics, target);
        if (!passesByItself(failure)) throw failure;
        logger.debug('the partitions of a group are looked at again', { groupId, error: failure });
        await pause(AGAIN_MS, revoked.signal);
      }
    }
  }

  async function rangesOf(asked: Cluster) {
    await asked.connect();
    await asked.addMultipleTargetTopics(topics);
    const [firsts, ends] = await Promise.all([
      partitionOffsets(asked, topics, 'beginning'),
      partitionOffsets(asked, topics, 'end'),
    ]);
    const known = new Set(firsts.map(({ topic, partition }) => `${topic} ${partition}`));
    const missing = topics.flatMap((topic) =>
      partitions[topic]!.map((partition) => `${topic} ${partition}`).filter((name) => !known.has(name)),
    );
    if (missing.length > 0) {
      // The leader has it from another broker, which knew of it earlier. To leave it out would be to leave it to nobody.
      throw new HighwaterError(
        'LOG_FAILED',
        `no partition ${missing.join(', ')} is known to the broker asked`,
      );
    }
    const endOf = new Map(ends.map(({ topic, partition, next }) => [`${topic} ${partition}`, Number(next)]));
    return new Map(
      firsts.map(({ topic, partition, next }) => {
        const name = `${topic} ${partition}`;
        return [name, { first: Number(next), end: endOf.get(name) ?? Number(next) }];
      }),
    );
  }

  function workOn(
    topic: string,
    partition: number,
    standing: { readonly committed: number | null; readonly range: { first: number; end: number } },
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
        ...{ topic, partition, revoked: revoked.signal, ...standing },
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
        ...{ groupId, topic, partition, error },
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
      await offsets.commit(place, { topic, partition, next }, over.signal);
    } catch (error) {
      throw over.signal.aborted ? groupLost(groupId, error) : error;
    }
  }

  return {
    ...{ generation: place.generation, partitions },
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
