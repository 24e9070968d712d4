import path from 'node:path';
import type { Logger } from '../../logging/logger';
import type { FeedTopics, ProducerRecord, SharedTopicSpec, TransactionBatch } from '../commit-log';
import { recordsOf } from '../gathered';
import { type Appended, appender, type OwnedTopic } from './append';
import { checkpointer } from './file/checkpointer';
import { makeDataFolder } from './file/data-folder';
import { prepareFile } from './file/file-format';
import { inPlaceGuard } from './file/same-file';
import { attempt, type Connection, connect, logFailure, pragma, transact } from './file/sqlite';
import { walWatch } from './file/wal-watch';
import { type Ownership, ownership } from './ownership';
import { type RetentionLimits, retention, type TopicPartitions } from './retention';

/** The one connection of this process that writes. Everything that it throws about the file is a HighwaterError LOG_*. */
export interface Writer {
  /** @param lockFile with which this process holds the folder */
  claimFolder(instance: string, lockFile: string): void;
  claimFeed(topics: FeedTopics, ownerEpoch: string): ReadonlyMap<string, OwnedTopic>;
  /** One transaction: the check that the feed is still owned, and all records. */
  commit(batch: TransactionBatch, ownerEpoch: string, topics: ReadonlyMap<string, OwnedTopic>): void;
  /** One transaction, whoever holds the folder: the offsets are taken from the file. */
  append(topic: SharedTopicSpec, records: readonly ProducerRecord[]): void;
  /** As `Retention.step`. @returns whether there is more to remove */
  expire(topics: readonly TopicPartitions[], limits: RetentionLimits): boolean;
  releaseFeed(feed: string, ownerEpoch: string): void;
  releaseFolder(): void;
  /** A transaction of another part of the program, such as the schema registry. */
  transact<T>(work: (db: Connection) => T): T;
  close(): void;
}

export interface WriterOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  readonly logger: Logger | undefined;
}

/** Creates the folder and the file if they are missing. @throws HighwaterError LOG_* */
export function openWriter({ file, busyTimeoutMs, logger }: WriterOptions): Writer {
  return attempt(file, () => {
    makeDataFolder(path.dirname(file));
    const db = connect(file, busyTimeoutMs);
    try {
      prepareFile(db, file);
      return writer(db, file, logger);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Over an open and prepared file. */
export function writer(db: Connection, file: string, logger?: Logger): Writer {
  const { append } = appender(db);
  const own: Ownership = ownership(db);
  const { removeOlder, step } = retention(db);
  const watchWal = walWatch(file, logger);
  const checkpoints = checkpointer(db, file);
  const assertFile = inPlaceGuard(file, `${file}-wal`);
  let assertLock = (): void => undefined;
  let isPublisher = false;
  const inPlace = <T>(work: () => T): T =>
    attempt(file, () => {
      const result = work();
      assertInPlace();
      return result;
    });
  const named =
    <A extends unknown[], R>(work: (...args: A) => R) =>
    (...args: A): R =>
      inPlace(() => work(...args));
  /** Writes nothing if the files are not in their place before the commit. */
  const transaction = <T>(work: () => T): T =>
    transact(db, 'IMMEDIATE', () => {
      const result = work();
      assertInPlace();
      return result;
    });

  function assertInPlace(): void {
    assertFile();
    assertLock();
  }

  return {
    claimFolder: named((instance, lockFile) => {
      isPublisher = true;
      assertLock = inPlaceGuard(lockFile);
      own.claimFolder(instance);
    }),
    claimFeed: named(own.claimFeed),
    releaseFeed: named(own.releaseFeed),
    releaseFolder: named(own.releaseFolder),
    commit: named((batch, ownerEpoch, topics) => {
      const records = recordsOf(batch);
      const appended: Appended = transaction(() => {
        own.assertOwned(batch.feed, ownerEpoch);
        return append(topics, records);
      });
      // Only now: a batch that was rolled back is tried again at the same offsets.
      appended.committed();
      checkpoints.committed(records.length);
      watchWal();
    }),
    append: named((spec, records) => {
      transaction(() => {
        const topic = own.sharedTopic(spec);
        // Before the new ones come: the last offset of a topic is that of a record, and must not fall.
        removeOlder(topic, Date.now() - spec.retentionMs);
        append(new Map([[spec.name, topic]]), records);
      });
      watchWal();
    }),
    expire: named((topics, limits) => {
      const { removed, isMore } = step(topics, limits);
      checkpoints.committed(removed);
      return isMore;
    }),
    transact: (work) => inPlace(() => transaction(() => work(db))),
    close() {
      checkpoints.stop();
      // Leaves the folder as one file that can be copied. With readers at work it stays undone, which costs nothing:
      // nobody is waited for. A process that only wrote a command must not keep a publisher waiting for it.
      try {
        pragma(db, 'busy_timeout = 0');
        pragma(db, isPublisher ? 'wal_checkpoint(TRUNCATE)' : 'wal_checkpoint(PASSIVE)');
      } catch (error) {
        // Committed records stay in the WAL. This error would hide the error for which the log is closed.
        logger?.debug('the write-ahead log could not be emptied', { file, error: logFailure(error, file) });
      } finally {
        db.close();
      }
    },
  };
}
