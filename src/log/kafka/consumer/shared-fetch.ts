import { pause } from '../../../async/wait';
import { Outage } from '../../../logging/outage';
import type { LogRecord } from '../../commit-log';
import { type Cluster, knownLeader } from '../connection/cluster';
import { passesByItself, protocolType } from '../connection/kafka-failure';
import { topicIds } from '../protocol/newer-requests';
import { isFence } from '../reader/fence';
import type { LeaderlessNotes } from '../reader/leaderless';
import { positionLost, strays } from '../reader/offsets';
import { fetchDecoded, type PartitionPosition } from '../reader/partition-reader';
import { type ReadingDeps, readFailure } from '../reader/reading';

/** How long a broker holds a request when nothing is new, in ms: while other partitions are read, and otherwise. */
const [BUSY_WAIT_MS, IDLE_WAIT_MS] = [25, 250];
/** Pauses between tries, in ms. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [50, 1_000];
const BATCH_RECORDS = 500;

export interface SharedFetchDeps extends Pick<ReadingDeps, 'target' | 'logger'> {
  /** Ends all reading. */
  readonly signal: AbortSignal;
  /** Warns of partitions that have no leader. */
  readonly notes: LeaderlessNotes;
  /** By topic: only the topic with this id is read, not another topic that was created under its name. */
  readonly topicIds: ReadonlyMap<string, string>;
  /** The topic was deleted and created again under its name. */
  recreated(): void;
  /** Told of each position that has been asked for. */
  fetched?(position: PartitionPosition): void;
}

interface Reader {
  readonly position: PartitionPosition;
  /** Fetched, and not handed over yet. */
  readonly waiting: (readonly LogRecord[])[];
  /** Offset after the last record that was fetched, or the first offset. There are no records from there up to `reached`. */
  behindLast: number;
  readonly goesOn: (first: number) => boolean;
  reached: bigint;
  /** `asked`: a request for it is under way. `resting`: its topic was not there, so it is not asked for until a pause is over. */
  state: 'ready' | 'asked' | 'resting' | 'failed';
  /** Why it failed. */
  error: unknown;
  /** How the partition is asked for. `alone`: brokers that refuse several partitions at once do not say which one they refuse. */
  asking: 'together' | 'alone';
  /** In how many answers in a row its topic was not there. */
  missed: number;
  wake(): void;
}

/**
 * Reads partitions side by side. Sends one request at a time to each broker, for all partitions without fetched records that wait. A
 * broker answers the requests of a connection one after the other: if each partition had its own, those without news would hold up the
 * others.
 * @param cluster that knows the topics
 */
export function sharedFetch(cluster: Cluster, deps: SharedFetchDeps) {
  const { target, logger, notes, signal } = deps;
  const readers = new Set<Reader>();
  /** Brokers that have a request to answer. */
  const asked = new Set<string>();
  /** Broker → how many requests in a row failed. */
  const failures = new Map<string, { readonly tries: number; readonly outage: Outage }>();
  /** Topics that `recreated` was called for: each has several partitions. */
  const recreated = new Set<string>();
  signal.addEventListener('abort', () => {
    for (const { wake } of readers) wake();
    for (const { outage } of failures.values()) outage.end();
  });

  function askAll(): void {
    if (signal.aborted) return;
    forgetFormerLeaders();
    const leaders = new Set([...readers].filter(isHungry).map(leaderOf));
    for (const leader of leaders) if (!asked.has(leader)) ask(leader);
  }

  /** A broker that leads nothing any more is asked for nothing, so it cannot succeed again. */
  function forgetFormerLeaders(): void {
    if (failures.size === 0) return;
    const leaders = new Set([...readers].map(leaderOf));
    // While a partition waits for its next leader, the outage goes on, and is told of in time.
    if (leaders.has('')) return;
    for (const [leader, { outage }] of failures) {
      if (leaders.has(leader)) continue;
      outage.over(
        leader === ''
          ? 'Each partition that is read has a leader again.'
          : `Nothing is read from the broker with the id ${leader} any more: it leads no partition.`,
      );
      failures.delete(leader);
    }
  }

  async function ask(leader: string): Promise<void> {
    const hungry = [...readers].filter((reader) => isHungry(reader) && leaderOf(reader) === leader);
    const alone = hungry.find(({ asking }) => asking === 'alone');
    const own = alone === undefined ? hungry : [alone];
    const isBusy = own.length < readers.size;
    asked.add(leader);
    for (const reader of own) {
      reader.state = 'asked';
      notes.note(cluster, reader.position);
    }
    try {
      const positions = own.map(({ position }) => position);
      const maxWaitMs = isBusy ? BUSY_WAIT_MS : IDLE_WAIT_MS;
      hand(own, await fetchDecoded(cluster, positions, maxWaitMs));
      failures.get(leader)?.outage.over();
      failures.delete(leader);
    } catch (error) {
      if (!signal.aborted)
        await settle(error, own, leader).catch((failure: unknown) => again(failure, leader));
    } finally {
      asked.delete(leader);
      for (const reader of own) if (reader.state === 'asked') reader.state = 'ready';
      askAll();
    }
  }

  function hand(own: readonly Reader[], records: readonly LogRecord[]): void {
    for (const reader of own) {
      reader.asking = 'together';
      reader.missed = 0;
      // Together with the records: if `reached` moved earlier, a commit in between would count records that wait here as done.
      reader.reached = reader.position.next;
      deps.fetched?.(reader.position);
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
      for (const reader of own) reader.asking = 'alone';
      return;
    }
    const [reader] = own as [Reader];
    if (isMissing) {
      // The other partitions on that broker are read meanwhile.
      rest(reader);
      return;
    }
    const [stray] = isOut ? await strays(cluster, [reader.position]) : [];
    if (isOut && stray === undefined) return again(failure, leader);
    if (stray !== undefined && reader.position.next < stray.first && reader.goesOn(Number(stray.first))) {
      reader.position.next = stray.first;
      reader.behindLast = Number(stray.first);
      return;
    }
    reader.error = stray === undefined ? failure : positionLost(stray);
    reader.state = 'failed';
    reader.wake();
  }

  /** The topic was deleted, or the broker has not heard of it yet. */
  async function rest(reader: Reader): Promise<void> {
    const { topic } = reader.position;
    reader.state = 'resting';
    logger.debug('a topic that is read is not there', { topic, missed: reader.missed });
    await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** reader.missed++), signal);
    if (signal.aborted) return;
    const found = await topicIds(cluster, [topic]).catch(() => new Map<string, string>());
    if (signal.aborted) return;
    const [known, now] = [deps.topicIds.get(topic), found.get(topic)];
    if (known !== undefined && now !== undefined && now !== known && !recreated.has(topic)) {
      recreated.add(topic);
      deps.recreated();
    }
    await cluster.refreshMetadata().catch(() => undefined);
    reader.state = 'ready';
    askAll();
  }

  async function again(failure: unknown, leader: string): Promise<void> {
    const topics = [...new Set([...readers].map(({ position }) => position.topic))];
    const { tries, outage } = failures.get(leader) ?? {
      tries: 0,
      outage: new Outage(`Reading ${topics.join(', ')} from the broker with the id ${leader}`, logger),
    };
    outage.failed(failure);
    failures.set(leader, { tries: tries + 1, outage });
    logger.debug('reading is tried again', { error: failure, tries });
    await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries), signal);
    if (!signal.aborted) await cluster.refreshMetadata().catch(() => undefined);
  }

  function isHungry({ waiting, state }: Reader): boolean {
    return waiting.length === 0 && state === 'ready';
  }

  /** @returns empty while the topic is not known */
  function leaderOf({ position }: Reader): string {
    try {
      return knownLeader(cluster, position) ?? '';
    } catch {
      return '';
    }
  }

  return {
    /** As `AssignedPartition.records`. */
    async *records(
      topic: string,
      partition: number,
      from: number,
      goesOn: (first: number) => boolean = () => false,
    ): AsyncIterable<readonly LogRecord[]> {
      const next = BigInt(from);
      const reader: Reader = {
        position: { topic, topicId: deps.topicIds.get(topic) ?? null, partition, next, end: null },
        waiting: [],
        behindLast: from,
        goesOn,
        reached: next,
        state: 'ready',
        error: null,
        asking: 'together',
        missed: 0,
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
          } else if (reader.state === 'failed') {
            throw reader.error;
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
    /** As `AssignedPartition.settled`. */
    settled(topic: string, partition: number, next: number): number {
      for (const { position, behindLast, reached, waiting } of readers) {
        if (position.topic !== topic || position.partition !== partition) continue;
        if (waiting.length === 0 && behindLast === next) return Number(reached);
      }
      return next;
    },
  };
}
