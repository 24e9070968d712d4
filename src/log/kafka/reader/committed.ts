import type { FetchedPartition } from '../protocol/fetch';
import type { RecordBatch } from '../protocol/record-batch';

/**
 * The committed batches of a fetched partition, in order: without markers, and without batches of aborted transactions. The id of a
 * producer is enough to tell transactions apart: a producer begins none before its last one has ended.
 */
export function committedBatches({ batches, abortedTransactions }: FetchedPartition): RecordBatch[] {
  const aborted = [...abortedTransactions].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const open = new Set<bigint>();
  return batches.filter(({ producerId, lastOffset, isControl, inTransaction }) => {
    while (aborted.length > 0 && aborted[0]!.firstOffset <= lastOffset) open.add(aborted.shift()!.producerId);
    // A marker of either kind ends the producer's transaction. Committed transactions are not in the list.
    if (isControl) open.delete(producerId);
    return !isControl && !(inTransaction && open.has(producerId));
  });
}

/**
 * Where to fetch from next. The end of a batch counts, not its last record: compaction removes records and keeps the range.
 * @returns the same offset when nothing was fetched
 */
export function nextOffset({ batches }: Pick<FetchedPartition, 'batches'>, from: bigint): bigint {
  const last = batches.at(-1);
  if (last === undefined) return from;
  return last.lastOffset >= from ? last.lastOffset + 1n : from + 1n;
}
