import type { FeedSession, LogRecord, ProducerRecord, TransactionBatch } from '../../src/log/commit-log';
import { GatheredRecords, recordsOf } from '../../src/log/gathered';
import { partitionOf } from '../../src/log/partitioner';

const PARTITIONS = 3;

export interface MemoryTransaction extends TransactionBatch {
  readonly records: readonly ProducerRecord[];
}

/** A log in memory behind the port of a session. It keeps commits, or fails if a test wants it to. */
export interface MemorySession extends FeedSession {
  readonly transactions: readonly MemoryTransaction[];
  /** The next commit throws this, and nothing of it is kept. */
  failNext(error: Error): void;
  /** Awaited by each commit before it succeeds or fails; by default nothing. */
  beforeCommit: (batch: TransactionBatch) => Promise<void>;
}

export function memorySession(maxRecordBytes = Number.POSITIVE_INFINITY): MemorySession {
  const transactions: MemoryTransaction[] = [];
  let failure: Error | null = null;
  const session: MemorySession = {
    transactions,
    beforeCommit: async () => {},
    ownerEpoch: 'epoch',
    topicIds: new Map(),
    maxRecordBytes: () => maxRecordBytes,
    partitionsOf: () => PARTITIONS,
    failNext(error) {
      failure = error;
    },
    async *restore(topic): AsyncGenerator<LogRecord> {
      let logOffset = 0;
      for (const { records } of transactions) {
        for (const record of records) {
          if (record.topic !== topic) continue;
          yield { ...record, partition: partitionOf(record.key, PARTITIONS), logOffset: logOffset++ };
        }
      }
    },
    endOf: () => null,
    gather: () => new GatheredRecords(),
    async commit(batch) {
      const error = failure;
      failure = null;
      await session.beforeCommit(batch);
      if (error !== null) throw error;
      transactions.push({ ...batch, records: recordsOf(batch) });
    },
    async release() {},
  };
  return session;
}
