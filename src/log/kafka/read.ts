import type { Kafka } from 'kafkajs';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logger';
import { pause, unlessAborted } from '../../wait';
import type { LogRecord, ReadOptions, ReadStart } from '../commit-log';
import { type Cluster, readingCluster } from './cluster';
import { isFence } from './fence';
import { kafkaFailure, protocolType } from './kafka-failure';
import { fetchRound, isAtEnd, type PartitionPosition, partitionOffsets } from './partition-reader';

export interface ReadDeps {
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** How long a broker holds a question where nothing is new: how late a reader hears of its end, at most. */
const MAX_WAIT_MS = 250;
/** How often it is looked whether a topic has come to be, or has more partitions. */
const LOOK_INTERVAL_MS = 1_000;
/** A reader that does not follow gives up after so long without an answer. */
const GIVE_UP_MS = 30_000;
/** So long such a reader waits for transactions that are neither committed nor aborted. */
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
 */
export function read(
  kafka: Kafka,
  topics: readonly string[],
  options: ReadOptions,
  { closing, logger }: ReadDeps,
): AsyncIterable<LogRecord> {
  const { follow, fromBeginning } = options;
  const names = [...new Set(topics)];
  const signal = AbortSignal.any([options.signal, closing]);
  const cluster = readingCluster(kafka);
  const positions: PartitionPosition[] = [];
  let lookedAt = performance.now();
  const began = begin();
  // Its failure belongs to whoever reads.
  began.catch(() => undefined);
  return records();

  async function begin(): Promise<void> {
    await cluster.connect();
    await addPartitions(!fromBeginning);
    if (fromBeginning && options.notBefore !== undefined) await leap(options.notBefore);
    if (follow) return;
    // Up to where the topics end now, so that a busy publisher cannot keep a reader for ever; what is open counts, since a
    // commit is answered before its markers are written.
    for (const { topic, partition, next } of await ends('written')) {
      const position = positions.find((one) => one.topic === topic && one.partition === partition);
      if (position !== undefined) position.end = next;
    }
  }

  async function ends(at: 'end' | 'written'): Promise<PartitionPosition[]> {
    const known = [...new Set(positions.map(({ topic }) => topic))];
    return known.length === 0 ? [] : partitionOffsets(cluster, known, at);
  }

  /** Forwards to where the reader wants to begin. */
  async function leap(to: ReadStart): Promise<void> {
    const last = await ends('end');
    const known = [...new Set(positions.map(({ topic }) => topic))];
    const since = 'sinceMs' in to && known.length > 0 ? await partitionOffsets(cluster, known, to) : [];
    for (const position of positions) {
      const isSame = ({ topic, partition }: PartitionPosition) =>
        topic === position.topic && partition === position.partition;
      const end = last.find(isSame)?.next ?? position.next;
      const found = 'positionsToEnd' in to ? end - BigInt(to.positionsToEnd) : since.find(isSame)?.next;
      // -1: no record is as late as that.
      const start = found === undefined || ('sinceMs' in to && found < 0n) ? end : found;
      if (start > position.next) position.next = start;
    }
  }

  /** Takes up topics and partitions that are there and not read yet. */
  async function addPartitions(atEnd: boolean): Promise<void> {
    lookedAt = performance.now();
    const isRead = new Set(positions.map(({ topic }) => topic));
    const unread = names.filter((name) => !isRead.has(name));
    const existing = unread.length === 0 ? [] : await namesOf(cluster);
    const found = [...isRead, ...unread.filter((name) => existing.includes(name))];
    if (found.length === 0) return;
    await cluster.addMultipleTargetTopics(found);
    await cluster.refreshMetadata();
    for (const position of await partitionOffsets(cluster, found, atEnd ? 'end' : 'beginning')) {
      const { topic, partition } = position;
      if (!positions.some((one) => one.topic === topic && one.partition === partition))
        positions.push(position);
    }
  }

  /** Retention has taken what was to be read next, or the topic was made anew. */
  async function realign(): Promise<void> {
    const beginnings = await partitionOffsets(
      cluster,
      [...new Set(positions.map(({ topic }) => topic))],
      'beginning',
    );
    const after = await ends('written');
    for (const position of positions) {
      const isSame = ({ topic, partition }: PartitionPosition) =>
        topic === position.topic && partition === position.partition;
      const first = beginnings.find(isSame)?.next ?? 0n;
      const last = after.find(isSame)?.next ?? 0n;
      if (position.next < first || position.next > last) position.next = first;
    }
  }

  function progress(): bigint {
    return positions.reduce((sum, { next }) => sum + next, 0n);
  }

  async function round(): Promise<Iterable<LogRecord>> {
    if (follow && performance.now() - lookedAt >= LOOK_INTERVAL_MS) await addPartitions(false);
    return fetchRound(cluster, positions, MAX_WAIT_MS);
  }

  async function* records(): AsyncGenerator<LogRecord> {
    try {
      await unlessAborted(began, signal);
      if (!follow && !fromBeginning) return;
      let failingSince: number | null = null;
      let movedAt = performance.now();
      while (!signal.aborted) {
        if (!follow && positions.every(isAtEnd)) return;
        const before = progress();
        let found: Iterable<LogRecord>;
        try {
          found = await unlessAborted(round(), signal);
          failingSince = null;
          if (progress() > before) movedAt = performance.now();
          else if (!follow && performance.now() - movedAt > SETTLE_MS) return;
        } catch (error) {
          if (signal.aborted) return;
          failingSince ??= performance.now();
          answer(error, failingSince);
          await pause(MAX_WAIT_MS, signal);
          await unlessAborted(mend(error), signal).catch(() => undefined);
          continue;
        }
        if (positions.length === 0) await pause(MAX_WAIT_MS, signal);
        for (const record of inTime([...found])) {
          if (isFence(record)) continue;
          yield record;
          if (signal.aborted) return;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw kafkaFailure(error, `reading ${names.join(', ')}`);
    } finally {
      cluster.disconnect().catch(() => undefined);
    }
  }

  /** Throws what will not pass by waiting. */
  function answer(error: unknown, failingSince: number): void {
    const failure = kafkaFailure(error, `reading ${names.join(', ')}`);
    const isLasting = !(failure instanceof HighwaterError) || !failure.kind.retriable;
    if (isLasting || (!follow && performance.now() - failingSince > GIVE_UP_MS)) throw failure;
    logger.debug('reading is tried again', { topics: names, error: failure });
  }

  async function mend(error: unknown): Promise<void> {
    await cluster.refreshMetadata();
    if (protocolType(error) === 'OFFSET_OUT_OF_RANGE') await realign();
  }
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
