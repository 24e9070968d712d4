import type { TopicPartition } from 'kafkajs';
import type { LogRecord } from '../../../commit-log';
import type { Cluster } from '../../connection/cluster';
import { recordsOf } from '../../protocol/record-batch';
import { batchesBetween } from '../../reader/batches-between';
import { isFence } from '../../reader/fence';

/** The records that one transaction of a producer id wrote to one partition. */
export interface OwnTransaction extends TopicPartition {
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  /** Without fences. */
  readonly records: readonly LogRecord[];
  /** Null: it is open. */
  readonly marker: { readonly offset: bigint; readonly commits: boolean } | null;
}

/** A part of a partition; `to` is exclusive. */
export interface Tail extends TopicPartition {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * The transactions of one producer id in the tail of a partition: open, committed and aborted. Read uncommitted, because a committed
 * reader is shown nothing behind an open transaction of another program.
 * @param since offset: transactions that ended before it are left out
 */
export async function ownTransactions(
  cluster: Cluster,
  tail: Tail,
  producerId: string,
  since: bigint,
): Promise<OwnTransaction[]> {
  const { topic, partition, from, to } = tail;
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
export async function openOfOthers(cluster: Cluster, tail: Tail, producerId: string): Promise<bigint[]> {
  const open = new Map<bigint, bigint>();
  for await (const batch of batchesBetween(cluster, tail, tail.from, tail.to)) {
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
