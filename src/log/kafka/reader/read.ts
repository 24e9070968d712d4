import type { Kafka } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { joinSignals, pause, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { LogRecord, ReadOptions, ReadStart } from '../../commit-log';
import { type Cluster, readingCluster } from '../connection/cluster';
import { acceptLeaderless } from '../connection/guards/cluster-questions';
import { kafkaFailure, passesByItself, protocolType } from '../connection/kafka-failure';
import { isFence } from './fence';
import {
  isLeaderless,
  type LeaderlessNotes,
  leaderlessSince,
  type Partition,
  partitionsOf,
} from './leaderless';
import {
  fetchRound,
  isAtEnd,
  isSamePartition,
  offsetsSince,
  type PartitionPosition,
  partitionOffsets,
} from './partition-reader';

export interface ReadDeps {
  readonly closing: AbortSignal;
  readonly logger: Logger;
  readonly notes: LeaderlessNotes;
}

/** How long a broker holds a question where nothing is new: how late a reader hears of its end, at most. */
const MAX_WAIT_MS = 250;
/** How often it is looked whether a topic has come to be, or has more partitions. */
const LOOK_INTERVAL_MS = 1_000;
/** A reader that does not follow gives up after so long without an answer, or without records that ought to come. */
const GIVE_UP_MS = 30_000;
/** So long such a reader waits for transactions that are neither committed nor aborted, in which nothing comes. */
const SETTLE_MS = 2_000;

/** Names of all topics of the cluster, sorted, Kafka's own left out. */
export async function topicNames(kafka: Kafka): Promise<string[]> {
  const cluster = readingCluster(kafka);
  try {
    await cluster.connect();
    return await namesOf(cluster);
  } catch (error) {
    throw kafkaFailure(error, 'listing the topics');
  } finally {
    cluster.disconnect().catch(() => undefined);
  }
}

async function namesOf(cluster: Cluster): Promise<string[]> {
  const metadata = await cluster.metadata({ topics: [] });
  if (metadata === null)
    throw new HighwaterError('KAFKA_UNREACHABLE', 'listing the topics: no broker answers');
  return metadata.topicMetadata
    .map(({ topic }) => topic)
    .filter((name) => !name.startsWith('__'))
    .sort();
}

/**
 * Reads committed records of topics without a consumer group. Where to begin is settled by the call; a topic that appears
 * later, and a partition that does, is read from its beginning.
 *
 * A reader that follows goes on while a partition is leaderless, and reads it once it has a leader. Without `follow` it fails instead,
 * since what it has read must not pass for all there is, unless the caller takes less (`canBePartial`).
 */
export function read(
  kafka: Kafka,
  topics: readonly string[],
  options: ReadOptions,
  { closing, logger, notes }: ReadDeps,
): AsyncIterable<LogRecord> {
  const { follow, fromBeginning } = options;
  const names = [...new Set(topics)];
  const { signal, leave } = joinSignals([options.signal, closing]);
  const isPartial = follow || options.canBePartial === true;
  const cluster = isPartial ? acceptLeaderless(readingCluster(kafka)) : readingCluster(kafka);
  const calledAt = Date.now();
  const startAt: ReadStart | undefined = fromBeginning ? options.notBefore : { positionsToEnd: 0 };
  /** `topic partition` of those whose end could not be asked for at the call: what they held then is not to be read from its beginning. */
  const late = new Set<string>();
  let positions: PartitionPosition[] = [];
  /** Topics that were read and do not exist now, and in how many looks in a row they were missing. */
  const missed = new Map<string, number>();
  let lookedAt = performance.now();
  const began = isPartial ? beginPersistently() : begin();
  // Its failure belongs to whoever reads.
  began.catch(() => undefined);
  return records();

  async function begin(): Promise<void> {
    await cluster.connect();
    await addPartitions(true);
    for (const partition of partitionsOf(cluster, names))
      if (!positions.some((position) => isSamePartition(position, partition))) late.add(nameOf(partition));
    if (follow) return;
    // Up to where the topics end now, so that a busy publisher cannot keep a reader for ever; what is open counts, since a
    // commit is answered before its markers are written.
    for (const end of await partitionOffsets(cluster, topicsOf(positions), 'written')) {
      const position = positions.find((one) => isSamePartition(one, end));
      if (position !== undefined) position.end = end.next;
    }
    positions = positions.filter(({ end }) => end !== null);
    notes.look(cluster, names, true);
  }

  /** While leaders move, brokers may refuse to say where a partition ends. */
  function beginPersistently(): Promise<void> {
    return retrying(begin, {
      signal,
      pauseMs: MAX_WAIT_MS,
      forMs: GIVE_UP_MS,
      // Brokers that cannot be reached at all are told of at once.
      isWorthIt: (error) => protocolType(error) !== null && passesByItself(kafkaFailure(error, '')),
      async recover(error) {
        logger.debug('reading is begun again', { topics: names, error });
        await cluster.refreshMetadata().catch(() => undefined);
        // Their end is no longer the one at the call.
        for (const partition of partitionsOf(cluster, names)) late.add(nameOf(partition));
      },
    });
  }

  /** Moves positions on to where the reader begins. @returns those for which a leader could be asked */
  async function leap(of: readonly PartitionPosition[]): Promise<PartitionPosition[]> {
    if (startAt === undefined || of.length === 0) return [...of];
    const found =
      'sinceMs' in startAt
        ? await offsetsSince(cluster, topicsOf(of), startAt.sinceMs)
        : await partitionOffsets(cluster, topicsOf(of), 'end');
    const back = 'positionsToEnd' in startAt ? BigInt(startAt.positionsToEnd) : 0n;
    return of.filter((position) => {
      const end = found.find((one) => isSamePartition(one, position));
      if (end !== undefined && end.next - back > position.next) position.next = end.next - back;
      return end !== undefined;
    });
  }

  /** The same for partitions whose end was not known at the call, but no further than what was written since the call. */
  async function leapLate(of: readonly PartitionPosition[]): Promise<PartitionPosition[]> {
    if (of.length === 0) return [];
    const leapt = await leap(of);
    const since = await offsetsSince(cluster, topicsOf(of), leaderlessSince(calledAt));
    return leapt.filter((position) => {
      const written = since.find((one) => isSamePartition(one, position));
      if (written === undefined) return false;
      if (written.next < position.next) position.next = written.next;
      late.delete(nameOf(position));
      return true;
    });
  }

  /** Takes up topics and partitions that are there and not read yet. */
  async function addPartitions(isBeginning = false): Promise<void> {
    lookedAt = performance.now();
    const isRead = new Set(positions.map(({ topic }) => topic));
    const isWhole = missed.size === 0 && names.every((name) => isRead.has(name));
    const found = isWhole ? names : leaveOutDeleted(isRead, await namesOf(cluster));
    if (found.length === 0) return;
    await cluster.addMultipleTargetTopics(found);
    await cluster.refreshMetadata();
    const known = await partitionOffsets(cluster, found, 'beginning');
    if (follow) notes.look(cluster, found);
    const added = known.filter((one) => !positions.some((position) => isSamePartition(one, position)));
    const isLate = (position: PartitionPosition) => late.has(nameOf(position));
    const others = added.filter((position) => !isLate(position));
    positions.push(...(isBeginning ? await leap(others) : others), ...(await leapLate(added.filter(isLate))));
  }

  /** Ends reading partitions that stay leaderless. */
  async function leaveOutLeaderless(): Promise<void> {
    lookedAt = performance.now();
    await cluster.refreshMetadata();
    positions = positions.filter((position) => !notes.note(cluster, position));
  }

  /**
   * Leaves out topics that were deleted, since Kafka refuses a question about several topics when one of them does not exist. A topic
   * that comes back is a new one and is read from its beginning. It takes two looks: a single broker may be behind the others.
   * @returns the names that are there
   */
  function leaveOutDeleted(isRead: ReadonlySet<string>, existing: readonly string[]): string[] {
    for (const name of names) if (!existing.includes(name)) cluster.targetTopics.delete(name);
    for (const name of isRead) {
      if (existing.includes(name)) {
        missed.delete(name);
        continue;
      }
      const times = (missed.get(name) ?? 0) + 1;
      missed.set(name, times);
      if (times < 2) continue;
      positions = positions.filter(({ topic }) => topic !== name);
      missed.delete(name);
      logger.warn(
        `The topic ${name} was deleted. The others are read on; it is read again once it is there.`,
      );
    }
    return names.filter((name) => existing.includes(name));
  }

  /** Retention has taken what was to be read next, or the topic was made anew. */
  async function realign(): Promise<void> {
    const topics = topicsOf(positions);
    const beginnings = await partitionOffsets(cluster, topics, 'beginning');
    const after = await partitionOffsets(cluster, topics, 'written');
    for (const position of positions) {
      if (isLeaderless(cluster, position)) continue;
      const first = beginnings.find((one) => isSamePartition(one, position))?.next ?? 0n;
      const last = after.find((one) => isSamePartition(one, position))?.next ?? 0n;
      if (position.next < first || position.next > last) position.next = first;
    }
  }

  function progress(): bigint {
    return positions.reduce((sum, { next }) => sum + next, 0n);
  }

  function there(): PartitionPosition[] {
    return positions.filter(({ topic }) => !missed.has(topic));
  }

  async function round(): Promise<Iterable<LogRecord>> {
    if (isPartial && performance.now() - lookedAt >= LOOK_INTERVAL_MS)
      await (follow ? addPartitions() : leaveOutLeaderless());
    return fetchRound(cluster, there(), MAX_WAIT_MS);
  }

  async function* records(): AsyncGenerator<LogRecord> {
    try {
      await unlessAborted(began, signal);
      if (!follow && !fromBeginning) return;
      let failingSince: number | null = null;
      let emptySince: number | null = null;
      while (!signal.aborted) {
        if (!follow && positions.every(isAtEnd)) return;
        const before = progress();
        let found: Iterable<LogRecord>;
        try {
          found = await unlessAborted(round(), signal);
          failingSince = null;
          // Counts empty rounds in a row. The time that the caller takes between rounds does not count, nor does an outage.
          emptySince = progress() > before ? null : (emptySince ?? performance.now());
        } catch (error) {
          if (signal.aborted) return;
          emptySince = null;
          failingSince ??= performance.now();
          answer(error, failingSince);
          await pause(MAX_WAIT_MS, signal);
          await unlessAborted(recover(error), signal).catch(() => undefined);
          continue;
        }
        if (!follow && emptySince !== null && isOver(emptySince)) return;
        // A round without partitions waits for nothing, not even for the rest of the process.
        if (there().length === 0) await pause(MAX_WAIT_MS, signal);
        for (const record of inTime([...found])) {
          if (isFence(record)) continue;
          yield record;
          if (signal.aborted) return;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw kafkaFailure(error, `reading ${names.join(', ')}`);
    } finally {
      leave();
      cluster.disconnect().catch(() => undefined);
    }
  }

  /** Whether reading may end here: only open transactions are left. @throws HighwaterError LOG_RESTORE_STALLED */
  function isOver(emptySince: number): boolean {
    const emptyMs = performance.now() - emptySince;
    const heldBack = positions.find((position) => !isAtEnd(position) && position.isHeldBack);
    if (heldBack === undefined) return emptyMs > SETTLE_MS;
    if (emptyMs <= GIVE_UP_MS) return false;
    const { topic, partition, next, end } = heldBack;
    const what = `${topic}/${partition} could not be read beyond offset ${next} of ${end}, though there is more`;
    throw new HighwaterError('LOG_RESTORE_STALLED', what, {
      now: 'Reading ends here. What was read before is complete.',
      remedy: 'Nothing, when it passes. Else look into the log of the brokers, and of their remote storage.',
    });
  }

  /** Throws what will not pass by waiting. */
  function answer(error: unknown, failingSince: number): void {
    const failure = kafkaFailure(error, `reading ${names.join(', ')}`);
    if (!passesByItself(failure) || (!follow && performance.now() - failingSince > GIVE_UP_MS)) throw failure;
    logger.debug('reading is tried again', { topics: names, error: failure });
  }

  async function recover(error: unknown): Promise<void> {
    if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') {
      leaveOutDeleted(new Set(positions.map(({ topic }) => topic)), await namesOf(cluster));
    }
    await cluster.refreshMetadata();
    if (protocolType(error) === 'OFFSET_OUT_OF_RANGE') await realign();
  }
}

function topicsOf(positions: readonly PartitionPosition[]): string[] {
  return [...new Set(positions.map(({ topic }) => topic))];
}

function nameOf({ topic, partition }: Partition): string {
  return `${topic} ${partition}`;
}

/** Records of several partitions merged by their time; those of one partition stay in its order, whatever their times. */
function inTime(records: readonly LogRecord[]): LogRecord[] {
  const partitions = new Map<string, LogRecord[]>();
  for (const record of records) {
    const place = `${record.topic} ${record.partition}`;
    const own = partitions.get(place);
    if (own === undefined) partitions.set(place, [record]);
    else own.push(record);
  }
  if (partitions.size < 2) return [...records];
  const heads = [...partitions.values()].map((own) => ({ own, i: 0 }));
  const merged: LogRecord[] = [];
  while (merged.length < records.length) {
    let earliest: (typeof heads)[number] | null = null;
    for (const head of heads) {
      const record = head.own[head.i];
      if (record === undefined) continue;
      if (earliest === null || record.timestamp < earliest.own[earliest.i]!.timestamp) earliest = head;
    }
    merged.push(earliest!.own[earliest!.i++]!);
  }
  return merged;
}
