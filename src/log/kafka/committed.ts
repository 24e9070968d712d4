import type { LogRecord } from '../commit-log';
import type { FetchedMessage, FetchedPartition } from './cluster';

/**
 * The committed records of a fetched partition from an offset on, in order: without control records, and without those of
 * aborted transactions. kafkajs has a filter of its own, which takes any record with a key of four zero bytes for the end of
 * an aborted transaction, and lets records through where two aborted transactions begin before the first record.
 */
export function* committedMessages(fetched: FetchedPartition, from: bigint): Generator<FetchedMessage> {
  const aborted = fetched.abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: BigInt(firstOffset) }))
    .sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const open = new Set<string>();
  for (const message of fetched.messages) {
    const { producerId, inTransaction } = message.batchContext;
    if (aborted.length > 0) {
      const offset = BigInt(message.offset);
      while (aborted.length > 0 && aborted[0]!.firstOffset <= offset) open.add(aborted.shift()!.producerId);
    }
    if (message.isControlRecord) {
      // Of whatever kind, it ends the producer's transaction; one that was committed is not in the list.
      open.delete(producerId);
      continue;
    }
    if (inTransaction && open.has(producerId)) continue;
    if (BigInt(message.offset) >= from) yield message;
  }
}

/**
 * Where to fetch from next. The end of a batch counts, not its last record: compaction takes records and leaves the range.
 * @returns the same offset when nothing was fetched
 */
export function nextOffset(fetched: FetchedPartition, from: bigint): bigint {
  const last = fetched.messages.at(-1);
  if (last === undefined) return from;
  const { firstOffset, lastOffsetDelta } = last.batchContext;
  const end = BigInt(firstOffset) + BigInt(lastOffsetDelta) + 1n;
  return end > from ? end : from + 1n;
}

/** The value is a view of the fetched answer: who keeps it copies it. */
export function logRecord(topic: string, partition: number, message: FetchedMessage): LogRecord {
  const { offset, timestamp, key, value, headers } = message;
  return {
    topic,
    partition,
    logOffset: Number(offset),
    timestamp: Number(timestamp),
    key: key?.toString('utf8') ?? '',
    headers: textHeaders(headers),
    value,
  };
}

function textHeaders(headers: FetchedMessage['headers']): LogRecord['headers'] {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    texts[name] = last?.toString('utf8') ?? '';
  }
  return texts;
}
