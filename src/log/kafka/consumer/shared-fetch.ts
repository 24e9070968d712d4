import { pause } from '../../../async/wait';
import type { LogRecord } from '../../commit-log';
import type { Cluster } from '../connection/cluster';
import { passesByItself, protocolType } from '../connection/kafka-failure';
import { topicIds } from '../protocol/topic-ids';
import { isFence } from '../reader/fence';
import { NO_LEADER } from '../reader/fetch-partitions';
import type { LeaderlessNotes } from '../reader/leaderless';
import { fetchDecoded, type PartitionPosition } from '../reader/partition-reader';
import { positionLost, type ReadingDeps, readFailure } from './reading';

/** How long a broker holds a question where nothing is new, in ms: while other partitions are read, and else. */
const [BUSY_WAIT_MS, IDLE_WAIT_MS] = [25, 250];
/** Pauses between tries, in ms. */
const [FIRST_PAUSE_MS, MOST_PAUSE_MS] = [50, 1_000];
const BYTES_PER_PARTITION = 1_048_576;
const BATCH_RECORDS = 500;

/** Reads partitions side by side. */
export interface SharedFetch {
  /** As `AssignedPartition.records`. */
  records(topic: string, partition: number, from: number): AsyncIterable<readonly LogRecord[]>;
  /**
   * An offset that stands for the same place as another: between the two are no records that readers are shown. Behind the
   * last record of a transaction comes its marker, which tools would count for a record that nobody has read.
   */
  settled(topic: string, partition: number, next: number): number;
}

export interface SharedFetchDeps extends Pick<ReadingDeps, 'target' | 'logger'> {
  /** Ends all reading. */
  readonly signal: AbortSignal;
  /** Tells of partitions that have no leader. */
  readonly notes: LeaderlessNotes;
  /** By topic: only the topic of this id is read, and not another one that was created under its name. */
  readonly topicIds: ReadonlyMap<string, string>;
  /** Another topic has the name of one that is read. */
  recreated(topic: string): void;
}

interface Reader {
  readonly position: PartitionPosition;
  readonly waiting: (readonly LogRecord[])[];
  /** Offset after the last record that was handed over; from there up to `reached` there are none. */
  behindLast: number | null;
  reached: bigint;
  failure: { readonly error: unknown } | null;
  isAsked: boolean;
  /** Asked for by itself: of several at once brokers do not say which one they refuse. */
  isAlone: boolean;
  /** In how many answers in a row its topic was not there. */
  missed: number;
  /** Not asked for until a pause is over: its topic was not there. */
  isResting: boolean;
  wake(): void;
}

/**
 * One request at a time to each broker, for all partitions of which nothing waits to be read: a broker answers the requests of
 * a connection one after the other, so that with one for each partition those without news would hold up the others.
 * @param cluster that knows the topics
 */
export function sharedFetch(cluster: Cluster, deps: SharedFetchDeps): SharedFetch {
  const { target, logger, notes, signal } = deps;
  const readers = new Set<Reader>();
  /** Brokers that have a request to answer. */
  const asked = new Set<string>();
  /** Broker → how often in succession it could not be asked. */
  const failures = new Map<string, number>();
  /** Topics of which that was told: each has several partitions. */
  const recreated = new Set<string>();
  signal.addEventListener('abort', () => {
    for (const { wake } of readers) wake();
  });

  function askAll(): void {
    if (signal.aborted) return;
    const leaders = new Set([...readers].filter(isHungry).map(leaderOf));
    for (const leader of leaders) if (!asked.has(leader)) ask(leader);
  }

  async function ask(leader: string): Promise<void> {
    const hungry = [...readers].filter((reader) => isHungry(reader) && leaderOf(reader) === leader);
    const alone = hungry.find(({ isAlone }) => isAlone);
    const own = alone === undefined ? hungry : [alone];
    const isBusy = own.length < readers.size;
    asked.add(leader);
    for (const reader of own) reader.isAsked = true;
    for (const { position } of own) {
      if (leader === NO_LEADER) notes.without(position);
      else notes.led(position);
    }
    try {
      const positions = own.map(({ position }) => position);
      const maxWaitMs = isBusy ? BUSY_WAIT_MS : IDLE_WAIT_MS;
      hand(own, await fetchDecoded(cluster, positions, maxWaitMs, BYTES_PER_PARTITION));
      failures.delete(leader);
    } catch (error) {
      if (!signal.aborted)
        await settle(error, own, leader).catch((failure: unknown) => again(failure, leader));
    } finally {
      asked.delete(leader);
      for (const reader of own) reader.isAsked = false;
      askAll();
    }
  }

  function hand(own: readonly Reader[], records: readonly LogRecord[]): void {
    for (const reader of own) {
      reader.isAlone = false;
      reader.missed = 0;
      // Only now: with the position alone, a commit in between would count what is not handed over yet.
      reader.reached = reader.position.next;
      const { topic, partition } = reader.position;
      const mine = records.filter(
        (one) => one.partition === partition && one.topic === topic && !isFence(one),
      );
      for (let i = 0; i < mine.length; i += BATCH_RECORDS)
        reader.waiting.push(mine.slice(i, i + BATCH_RECORDS));
      if (mine.length > 0) reader.behindLast = mine.at(-1)!.logOffset + 1;
      reader.wake();
    }
  }

  async function settle(error: unknown, own: readonly Reader[], leader: string): Promise<void> {
    const topics = own.map(({ position }) => position.topic);
    const failure = readFailure(error, topics, target);
    const type = protocolType(error);
    const [isOut, isMissing] = [type === 'OFFSET_OUT_OF_RANGE', type === 'UNKNOWN_TOPIC_OR_PARTITION'];
    if (!isOut && !isMissing && passesByItself(failure)) return again(failure, leader);
    if (own.length > 1) {
      for (const reader of own) reader.isAlone = true;
      return;
    }
    const [reader] = own as [Reader];
    if (isMissing) {
      rest(reader);
      return;
    }
    const lost = isOut ? await positionLost(cluster, reader.position) : null;
    if (isOut && lost === null) return again(failure, leader);
    reader.failure = { error: lost ?? failure };
    reader.wake();
  }

  /** The topic was deleted, or the broker has not heard of it yet. The other partitions on that broker are read meanwhile. */
  async function rest(reader: Reader): Promise<void> {
    const { topic } = reader.position;
    reader.isResting = true;
    logger.debug('a topic that is read is not there', { topic, missed: reader.missed });
    await pause(Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** reader.missed++), signal);
    if (signal.aborted) return;
    const found = await topicIds(cluster, [topic]).catch(() => new Map<string, string>());
    if (signal.aborted) return;
    const [known, now] = [deps.topicIds.get(topic), found.get(topic)];
    if (known !== undefined && now !== undefined && now !== known && !recreated.has(topic)) {
      recreated.add(topic);
      deps.recreated(topic);
    }
    await cluster.refreshMetadata().catch(() => undefined);
    reader.isResting = false;
    askAll();
  }

  async function again(failure: unknown, leader: string): Promise<void> {
    const tries = failures.get(leader) ?? 0;
    failures.set(leader, tries + 1);
    logger.debug('reading is tried again', { error: failure, tries });
    await pause(Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries), signal);
    if (!signal.aborted) await cluster.refreshMetadata().catch(() => undefined);
  }

  function isHungry({ waiting, isAsked, isResting, failure }: Reader): boolean {
    return waiting.length === 0 && !isAsked && !isResting && failure === null;
  }

  /** Empty while there is none. */
  function leaderOf({ position: { topic, partition } }: Reader): string {
    try {
      return Object.keys(cluster.findLeaderForPartitions(topic, [partition]))[0] ?? '';
    } catch {
      return '';
    }
  }

  return {
    async *records(topic, partition, from) {
      const reader: Reader = {
        position: {
          topic,
          topicId: deps.topicIds.get(topic) ?? null,
          partition,
          next: BigInt(from),
          end: null,
        },
        waiting: [],
        behindLast: null,
        reached: BigInt(from),
        failure: null,
        isAsked: false,
        isAlone: false,
        missed: 0,
        isResting: false,
        wake: () => undefined,
      };
      readers.add(reader);
      askAll();
      try {
        while (!signal.aborted) {
          const batch = reader.waiting.shift();
          if (batch !== undefined) {
            askAll();
            yield batch;
          } else if (reader.failure !== null) {
            throw reader.failure.error;
          } else {
            await new Promise<void>((resolve) => {
              reader.wake = resolve;
            });
          }
        }
      } finally {
        readers.delete(reader);
      }
    },
    settled(topic, partition, next) {
      for (const { position, behindLast, reached, waiting } of readers) {
        if (position.topic !== topic || position.partition !== partition) continue;
        if (waiting.length === 0 && behindLast === next) return Number(reached);
      }
      return next;
    },
  };
}
