import type { CompressionTypes, Kafka, TopicPartition } from 'kafkajs';
import type { Logger } from '../../../../logging/logger';
import type { FeedTopics, LogRecord, ProducerRecord } from '../../../commit-log';
import type { CommandTarget } from '../../connection/admin-commands';
import type { Cluster } from '../../connection/cluster';
import { recordsOf } from '../../protocol/record-batch';
import { isFence } from '../../reader/fence';
import { type OffsetRange, offsetRanges } from '../../reader/offsets';
import { batchesBetween } from '../../reader/partition-reader';
import { committedRecords } from '../../reader/restore';

/** How far a feed is committed: what its source offset says of that, by its headers. */
export interface CommitMark {
  readonly incarnation: string;
  readonly commit: number;
  /** Number of the last change; null: written by a version that did not say it. */
  readonly seq: number | null;
  /** ms */
  readonly timestamp: number;
}

export function markOf({ headers, timestamp }: Pick<ProducerRecord, 'headers' | 'timestamp'>): CommitMark {
  const { incarnation = '', commit, seq } = headers;
  return { incarnation, commit: Number(commit), seq: seq === undefined ? null : Number(seq), timestamp };
}

/**
 * Whether a record belongs to the transaction of a source offset or an earlier one, by the number of its change. A record
 * without one (dead letters) and one of another incarnation are told by their time of observation.
 * @param isSourceOffset those have the number of their transaction
 */
export function isWithin(record: LogRecord, mark: CommitMark | null, isSourceOffset: boolean): boolean {
  if (mark === null) return false;
  if (isSourceOffset) return !isBeyond(markOf(record), mark);
  const change = changeOf(record);
  if (change === null || mark.seq === null || change.incarnation !== mark.incarnation) {
    return record.timestamp <= mark.timestamp;
  }
  return change.seq <= mark.seq;
}

export function isBeyond(one: CommitMark, other: CommitMark | null): boolean {
  if (other === null) return true;
  if (one.incarnation !== other.incarnation) return one.timestamp > other.timestamp;
  return one.commit > other.commit;
}

/** The number of the change that a record is about: images have it in headers, events in their id (`feed:incarnation:seq`). */
export function changeOf({
  headers,
}: Pick<LogRecord, 'headers'>): { incarnation: string; seq: number } | null {
  const { incarnation, seq, ce_id = '' } = headers;
  if (incarnation !== undefined && seq !== undefined) return { incarnation, seq: Number(seq) };
  const [, ofId, number] = /^[^:]*:([^:]+):(\d+)(?::|$)/.exec(ce_id) ?? [];
  return ofId === undefined ? null : { incarnation: ofId, seq: Number(number) };
}

/** One ownership of a feed, and its log, as the brokers hold it. */
export interface FeedLog {
  readonly kafka: Kafka;
  readonly cluster: Cluster;
  readonly ownerEpoch: string;
  readonly transactionalId: string;
  /** The source offset topic has one partition: the feed's position and its fences lie in one order. */
  readonly topics: FeedTopics;
  /** By topic of the feed, all of them: how many partitions it has. */
  readonly partitions: ReadonlyMap<string, number>;
  readonly maxRecordBytes: number;
  readonly compression: CompressionTypes;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** For the commands in warnings and errors. */
  readonly target: CommandTarget;
}

/**
 * How far a feed is committed, although markers may be missing in any of its partitions, also in the source offset topic. The
 * evidence is
 * - the last source offset that readers are shown, or the last transaction that this process knows to be committed,
 * - records that readers are shown in another topic, if the source offset of their transaction hangs or was aborted
 * with the next transaction. Dead letters prove nothing: they do not name their transaction.
 *
 * If readers were shown no record of the last transaction, it counts as not committed: it may have been aborted or be incomplete.
 * @param unsettled transactions that are open or were ended just now
 * @returns null: nothing is committed
 */
export async function committedThrough(
  { cluster, topics, partitions, signal }: FeedLog,
  unsettled: readonly OwnTransaction[],
  acknowledged: CommitMark | null,
): Promise<CommitMark | null> {
  const isOffset = (record: LogRecord) => record.key === topics.feed && !isFence(record);
  const witnesses = [...partitions.keys()].filter((topic) => topic !== topics.deadLetters.name);
  const places = await offsetRanges(cluster, witnesses, 'end');
  const [offsets, others] = [
    places.filter(({ topic }) => topic === topics.sourceOffset.name),
    places.filter(({ topic }) => topic !== topics.sourceOffset.name),
  ];
  const shown = await lastShown(cluster, offsets[0]!, isOffset, signal);
  let mark = shown === null ? null : markOf(shown);
  if (acknowledged !== null && isBeyond(acknowledged, mark)) mark = acknowledged;

  const unknown = unsettled
    .filter(({ topic }) => topic === topics.sourceOffset.name)
    .flatMap(({ records }) => records.filter(isOffset).map(markOf));
  if (!unknown.some((one) => isBeyond(one, mark))) return mark;
  const lasts = await Promise.all(
    others.map((place) => lastShown(cluster, place, (record) => changeOf(record) !== null, signal)),
  );
  // Behind an open transaction of another program readers are shown nothing, although it may be committed.
  const settled = unsettled.flatMap(({ marker, records }) => (marker?.commits ? records : []));
  const changes = [...lasts, ...settled].flatMap((record) =>
    record === null ? [] : (changeOf(record) ?? []),
  );
  for (const one of unknown) {
    const from = one.incarnation === mark?.incarnation ? (mark.seq ?? 0) : 0;
    const isShown = changes.some(
      ({ incarnation, seq }) => incarnation === one.incarnation && seq > from && one.seq !== null,
    );
    if (isBeyond(one, mark) && isShown) mark = one;
  }
  return mark;
}

/** The last wanted record that readers are shown. Searches backwards from the end. */
async function lastShown(
  cluster: Cluster,
  { topic, partition, first, end }: OffsetRange,
  isWanted: (record: LogRecord) => boolean,
  signal: AbortSignal,
): Promise<LogRecord | null> {
  for (let length = 100n; ; length *= 10n) {
    const next = end - length > first ? end - length : first;
    const found = (await committedRecords(cluster, { topic, partition, next, end }, signal)).findLast(
      isWanted,
    );
    if (found !== undefined || next === first) return found ?? null;
  }
}

/** The records that one transaction of a producer id wrote to one partition. */
export interface OwnTransaction extends TopicPartition {
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  /** Without fences. */
  readonly records: readonly LogRecord[];
  /** Null: it is open. */
  readonly marker: { readonly offset: bigint; readonly commits: boolean } | null;
}

/**
 * The transactions of one producer id in the tail of a partition: open, committed and aborted. Read uncommitted, because a committed
 * reader is shown nothing behind an open transaction of another program.
 * @param since offset: transactions that ended before it are left out
 */
export async function ownTransactions(
  cluster: Cluster,
  tail: OffsetRange,
  producerId: string,
  since: bigint,
): Promise<OwnTransaction[]> {
  const { topic, partition, first: from, end: to } = tail;
  const found: OwnTransaction[] = [];
  let open: (OwnTransaction & { records: LogRecord[]; lastOffset: bigint }) | null = null;
  for await (const batch of batchesBetween(cluster, tail, from, to)) {
    if (String(batch.producerId) !== producerId) continue;
    for (const record of recordsOf(topic, partition, batch)) {
      const offset = BigInt(record.logOffset);
      if (offset < from || offset >= to) continue;
      if (batch.isControl) {
        if (open !== null && offset >= since)
          found.push({ ...open, marker: { offset, commits: isCommit(record) } });
        open = null;
        continue;
      }
      open ??= { topic, partition, firstOffset: offset, lastOffset: offset, records: [], marker: null };
      open.lastOffset = offset;
      // The value is a view of an answer that would be kept whole.
      if (!isFence(record))
        open.records.push({ ...record, value: record.value && Buffer.from(record.value) });
    }
  }
  if (open !== null) found.push(open);
  return found;
}

/**
 * Where transactions of other producer ids are open in the tail of a partition. The id may belong to the same transactional id. The
 * brokers give it a new producer id after 32,767 takeovers, when the epochs of the old one are used up.
 * @returns the offset of the first record of each transaction
 */
export async function openOfOthers(cluster: Cluster, tail: OffsetRange, producerId: string) {
  const open = new Map<bigint, bigint>();
  for await (const batch of batchesBetween(cluster, tail, tail.first, tail.end)) {
    if (!batch.inTransaction || String(batch.producerId) === producerId) continue;
    if (batch.isControl) open.delete(batch.producerId);
    else if (!open.has(batch.producerId)) open.set(batch.producerId, batch.baseOffset);
  }
  return [...open.values()];
}

/** The key of a marker is its version and its type, two bytes each, all of them ASCII. */
function isCommit({ key }: LogRecord): boolean {
  return key.charCodeAt(2) === 0 && key.charCodeAt(3) === COMMIT;
}

/** A code of Kafka's protocol. */
const COMMIT = 1;
