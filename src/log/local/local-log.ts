import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { localRegistry } from '../../avro/registry/local-registry';
import type { Logger } from '../../logging/logger';
import type { CommitLog, FeedSession, FeedTopics } from '../commit-log';
import { soleMembership } from '../membership';
import { isCompacted } from '../topics';
import { type FolderLock, lockFolder, makeDataFolder } from './file/folder-lock';
import { logFile, schemaInsert, schemaQuery } from './file/reader-connection';
import { attempt, BUSY_TIMEOUT_MS } from './file/sqlite';
import { openLocalReader } from './local-reader';
import { refuse } from './ownership';
import { finishRestore } from './put-back';
import { type RetentionLimits, repeatedly, type TopicPartitions } from './retention';
import { openSession } from './session';
import { openWriter, type Writer } from './writer';

export interface LocalLogOptions {
  /** Folder of `highwater.db`. The first acquire creates it, a reader never does. */
  readonly dataDir: string;
  readonly logger?: Logger;
  /** Name of this publisher in the error of a second publisher. */
  readonly instance?: string;
  /** As `BUSY_TIMEOUT_MS`, which is the default. */
  readonly busyTimeoutMs?: number;
  readonly retention?: RetentionLimits;
  /** Time from one search for expired records to the next. */
  readonly retentionEveryMs?: number;
}

const RETENTION_EVERY_MS = 5_000;

export type LocalLog = ReturnType<typeof openLocalLog>;

/**
 * The embedded log. Log and registry share one file, and closing the log closes both. Opens and creates files only at the first call
 * that needs them.
 */
export function openLocalLog(options: LocalLogOptions) {
  const { dataDir, logger, instance = 'highwater', busyTimeoutMs = BUSY_TIMEOUT_MS } = options;
  const file = logFile(dataDir);
  const sessions = new Map<FeedSession, FeedTopics>();
  const acquiring = new Set<Promise<unknown>>();
  let writer: Writer | null = null;
  let lock: FolderLock | null = null;
  let closing: Promise<void> | null = null;
  let stopRetention = (): void => undefined;
  const reader = openLocalReader(dataDir, busyTimeoutMs, () => lock !== null);
  const { reading, space } = reader;

  function openedWriter(): Writer {
    reader.assertOpen();
    writer ??= openWriter({ file, busyTimeoutMs, logger, limits: options.retention });
    return writer;
  }

  /** Takes the folder for this process before the first feed is acquired. @throws HighwaterError LOG_OWNED, LOG_* as acquire */
  function hold(): void {
    reader.assertOpen();
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
    const opening = openSession(topics, randomUUID(), openedWriter(), reading, released);
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
      // The folder first: opening the file for writing may wait for another writer.
      hold();
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
    read: reader.read,
    owners: reader.owners,
    topicNames: reader.topicNames,
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
    await reader.close();
    await writer?.close();
  }

  const registry = localRegistry(reader.registry, (work) =>
    openedWriter().transact((db) => work({ all: schemaQuery(db), add: schemaInsert(db) })),
  );
  return { commitLog, hold, space, registry };
}
