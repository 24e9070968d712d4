import path from 'node:path';
import type { Logger } from '../../logger';
import type { FeedTopics, ProducerRecord, SharedTopicSpec, TransactionBatch } from '../commit-log';
import { recordsOf } from '../gathered';
import { type Appended, appender, type OwnedTopic } from './append';
import { makeDataFolder } from './data-folder';
import { prepareFile } from './file-format';
import { type Ownership, ownership } from './ownership';
import { retention } from './retention';
import { attempt, type Connection, connect, pragma, transact } from './sqlite';
import { walWatch } from './wal-watch';

/** The one connection of this process that writes. Everything that it throws about the file is a HighwaterError LOG_*. */
export interface Writer {
  claimFolder(instance: string): void;
  claimFeed(topics: FeedTopics, ownerEpoch: string): ReadonlyMap<string, OwnedTopic>;
  /** One transaction: the check that the feed is still owned, and all records. */
  commit(batch: TransactionBatch, ownerEpoch: string, topics: ReadonlyMap<string, OwnedTopic>): void;
  /** One transaction, whoever holds the folder: the offsets are taken from the file. */
  append(topic: SharedTopicSpec, records: readonly ProducerRecord[]): void;
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

/** Makes the folder and the file where they are missing. @throws HighwaterError LOG_* */
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
  const expire = retention(db);
  const watchWal = walWatch(file, logger);
  let isPublisher = false;
  const named =
    <A extends unknown[], R>(work: (...args: A) => R) =>
    (...args: A): R =>
      attempt(file, () => work(...args));

  return {
    claimFolder: named((instance) => {
      isPublisher = true;
      own.claimFolder(instance);
    }),
    claimFeed: named(own.claimFeed),
    releaseFeed: named(own.releaseFeed),
    releaseFolder: named(own.releaseFolder),
    commit: named((batch, ownerEpoch, topics) => {
      const appended: Appended = transact(db, 'IMMEDIATE', () => {
        own.assertOwned(batch.feed, ownerEpoch);
        return append(topics, recordsOf(batch));
      });
      // Only now: a batch that was rolled back is tried again at the same offsets.
      appended.committed();
      watchWal();
    }),
    append: named((spec, records) => {
      transact(db, 'IMMEDIATE', () => {
        const topic = own.sharedTopic(spec);
        // Before the new ones come: the last offset of a topic is that of a record, and must not fall.
        expire(topic, Date.now() - spec.retentionMs);
        append(new Map([[spec.name, topic]]), records);
      });
      watchWal();
    }),
    transact: (work) => attempt(file, () => transact(db, 'IMMEDIATE', () => work(db))),
    close() {
      // Leaves the folder as one file that can be copied. With readers at work it stays undone, which costs nothing: nobody is
      // waited for. Who only wrote a command must not keep a publisher waiting for it.
      pragma(db, 'busy_timeout = 0');
      pragma(db, isPublisher ? 'wal_checkpoint(TRUNCATE)' : 'wal_checkpoint(PASSIVE)');
      db.close();
    },
  };
}
