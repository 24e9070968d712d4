import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { localRegistry } from '../../avro/registry/local-registry';
import type { SchemaRegistry } from '../../avro/registry/registry';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logging/logger';
import type { CommitLog, FeedSession, FeedTopics } from '../commit-log';
import { soleMembership } from '../membership';
import { isCompacted } from '../topics';
import { examineLocalLog } from './examine';
import { makeDataFolder } from './file/data-folder';
import { type FolderLock, lockFolder } from './file/folder-lock';
import { type LogSpace, openReaderConnection, type ReaderConnection } from './file/reader-connection';
import { sameFileGuard } from './file/same-file';
import { attempt } from './file/sqlite';
import { refuse } from './ownership';
import { finishRestore } from './put-back';
import { type ReadDeps, read } from './read';
import { type RetentionLimits, repeatedly, type TopicPartitions } from './retention';
import { schemaTable } from './schema-table';
import { openSession } from './session';
import { openWriter, type Writer } from './writer';

export interface LocalLogOptions {
  /** Folder of `highwater.db`. The first acquire creates it, a reader never does. */
  readonly dataDir: string;
  readonly logger?: Logger;
  /** Name of this publisher in the error of a second publisher. */
  readonly instance?: string;
  /** A write waits this long for another process's transaction on the file; it blocks this process. */
  readonly busyTimeoutMs?: number;
  readonly retention?: RetentionLimits;
  /** Time from one search for expired records to the next. */
  readonly retentionEveryMs?: number;
}

const RETENTION_EVERY_MS = 5_000;

/** The embedded log. Log and registry share one file, and closing the log closes both. */
export interface LocalLog {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  /** Takes the folder for this process before the first feed is acquired. @throws HighwaterError LOG_OWNED, LOG_* as acquire */
  hold(): void;
  /** Null while there is no file. @throws HighwaterError LOG_* */
  space(): LogSpace | null;
}

/** Opens and creates files only at the first call that needs them. */
export function openLocalLog(options: LocalLogOptions): LocalLog {
  const { dataDir, logger, instance = 'highwater', busyTimeoutMs = 5000 } = options;
  const file = path.resolve(dataDir, 'highwater.db');
  const sessions = new Map<FeedSession, FeedTopics>();
  /** Feeds that are being acquired. */
  const acquiring = new Set<Promise<unknown>>();
  let writer: Writer | null = null;
  let reader: ReaderConnection | null = null;
  let assertSame = (): void => undefined;
  let lock: FolderLock | null = null;
  let isClosed = false;
  let closing: Promise<void> | null = null;
  let stopRetention = (): void => undefined;

  function assertOpen(): void {
    if (isClosed) throw new HighwaterError('LOG_CLOSED', `${file} was closed`);
  }

  function openedWriter(): Writer {
    assertOpen();
    writer ??= openWriter({ file, busyTimeoutMs, logger, limits: options.retention });
    return writer;
  }

  const reading: ReadDeps = {
    isClosed: () => isClosed,
    reader() {
      assertOpen();
      if (reader === null) {
        assertSame = sameFileGuard(file);
        reader = openReaderConnection(file, busyTimeoutMs);
        // The writer of a publisher looks more often, and has an error of its own.
      } else if (lock === null) assertSame();
      return reader;
    },
  };

  function holdFolder(): void {
    if (lock !== null) return;
    attempt(file, () => makeDataFolder(path.dirname(file)));
    const lockFile = path.resolve(dataDir, 'publisher.lock');
    const taken = lockFolder(lockFile);
    if (taken === null) refuse(dataDir, reading.reader()?.owner() ?? null);
    try {
      if (attempt(file, () => finishRestore(path.dirname(file))) !== null)
        logger?.warn('finished a restore that was interrupted', { file });
      openedWriter().claimFolder(instance, lockFile);
    } catch (error) {
      taken.release();
      throw error;
    }
    lock = taken;
    const { retention, retentionEveryMs = RETENTION_EVERY_MS } = options;
    if (retention === undefined || (retention.ageMs ?? retention.bytes) === null) return;
    const step = () => openedWriter().expire(expiring());
    stopRetention = repeatedly(step, retentionEveryMs, logger);
  }

  /** Topics of changes and transitions. A restore needs only the compacted topics, which never expire. */
  function expiring(): TopicPartitions[] {
    const all = [...sessions].flatMap(([session, { changes, transitions }]) =>
      [changes, ...transitions].map((spec) => ({ ...spec, partitions: session.partitionsOf(spec.name) })),
    );
    return [...new Map(all.filter((spec) => !isCompacted(spec)).map((spec) => [spec.name, spec])).values()];
  }

  /** With the last feed the folder is free for another process. */
  function letGo(): void {
    if (sessions.size > 0 || acquiring.size > 0 || lock === null) return;
    const held = lock;
    lock = null;
    stopRetention();
    try {
      openedWriter().releaseFolder();
    } finally {
      held.release();
    }
  }

  function released(session: FeedSession): void {
    sessions.delete(session);
    letGo();
  }

  /** An error while the folder is released would hide the error before it. The next owner takes the folder over anyway. */
  function quietly(work: () => void): void {
    try {
      work();
    } catch (error) {
      logger?.debug('the data folder could not be released', { file, error });
    }
  }

  async function acquireFeed(topics: FeedTopics): Promise<FeedSession> {
    const opening = openSession(topics, randomUUID(), { writer: openedWriter(), reading, released });
    acquiring.add(opening);
    try {
      const session = await opening;
      sessions.set(session, topics);
      return session;
    } finally {
      acquiring.delete(opening);
    }
  }

  const commitLog: CommitLog = {
    // Another process is refused the folder as a whole.
    join: soleMembership,
    async acquire(topics, signal) {
      signal.throwIfAborted();
      assertOpen();
      // The folder first: opening the file for writing may wait for another writer.
      holdFolder();
      try {
        return await acquireFeed(topics);
      } catch (error) {
        quietly(letGo);
        throw error;
      }
    },
    async append(topic, records, signal) {
      signal.throwIfAborted();
      await openedWriter().append(topic, records);
    },
    read: (topics, readOptions) => read(topics, readOptions, reading),
    async owners(feeds, signal) {
      signal.throwIfAborted();
      const { owner, ownerRuns } = examineLocalLog(dataDir);
      if (owner === null || ownerRuns === false) return new Map();
      const held = feeds.filter((feed) => owner.feeds.includes(feed));
      return new Map(held.map((feed) => [feed, owner.instance]));
    },
    topicNames: async () => reading.reader()?.topicNames() ?? null,
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    await Promise.allSettled(acquiring);
    // As in `quietly`.
    for (const session of [...sessions.keys()]) {
      await session.release().catch((error: unknown) => {
        logger?.debug('a feed could not be released', { file, error });
      });
    }
    quietly(letGo);
    isClosed = true;
    reader?.close();
    await writer?.close();
  }

  function hold(): void {
    assertOpen();
    holdFolder();
  }

  const space = (): LogSpace | null => reading.reader()?.space() ?? null;

  return { commitLog, hold, space, registry: localRegistry(schemaTable({ reading, openedWriter })) };
}
