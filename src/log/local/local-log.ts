import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { localRegistry } from '../../avro/local-registry';
import type { SchemaRegistry } from '../../avro/registry';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logger';
import type { CommitLog, FeedSession } from '../commit-log';
import { soleMembership } from '../membership';
import { makeDataFolder } from './data-folder';
import { examineLocalLog } from './examine';
import { type FolderLock, lockFolder } from './folder-lock';
import { refuse } from './ownership';
import { type ReadDeps, read } from './read';
import { openReaderConnection, type ReaderConnection } from './reader-connection';
import { schemaTable } from './schema-table';
import { openSession } from './session';
import { attempt } from './sqlite';
import { openWriter, type Writer } from './writer';

export interface LocalLogOptions {
  /** Folder of `highwater.db`; made by the first acquire, never by a reader. */
  readonly dataDir: string;
  readonly logger?: Logger;
  /** How another publisher names this one when it is refused. */
  readonly instance?: string;
  /** How long a write waits for another process's transaction on the file; this process stands still meanwhile. */
  readonly busyTimeoutMs?: number;
}

/** The embedded log. Both parts work on one file; closing the log closes both. */
export interface LocalLog {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
}

/** Opens and makes nothing before the first call that needs it. */
export function openLocalLog(options: LocalLogOptions): LocalLog {
  const { dataDir, logger, instance = 'highwater', busyTimeoutMs = 5000 } = options;
  const file = path.resolve(dataDir, 'highwater.db');
  const sessions = new Set<FeedSession>();
  let writer: Writer | null = null;
  let reader: ReaderConnection | null = null;
  let lock: FolderLock | null = null;
  let isClosed = false;

  function assertOpen(): void {
    if (isClosed) throw new HighwaterError('LOG_CLOSED', `${file} was closed`);
  }

  function openedWriter(): Writer {
    assertOpen();
    writer ??= openWriter({ file, busyTimeoutMs, logger });
    return writer;
  }

  const reading: ReadDeps = {
    isClosed: () => isClosed,
    reader() {
      assertOpen();
      reader ??= openReaderConnection(file, busyTimeoutMs);
      return reader;
    },
  };

  function holdFolder(): void {
    if (lock !== null) return;
    attempt(file, () => makeDataFolder(path.dirname(file)));
    const taken = lockFolder(path.resolve(dataDir, 'publisher.lock'));
    if (taken === null) refuse(dataDir, reading.reader()?.owner() ?? null);
    try {
      openedWriter().claimFolder(instance);
    } catch (error) {
      taken.release();
      throw error;
    }
    lock = taken;
  }

  /** With the last feed the folder is free for another process. */
  function letGo(session: FeedSession): void {
    sessions.delete(session);
    if (sessions.size > 0 || lock === null) return;
    const held = lock;
    lock = null;
    try {
      openedWriter().releaseFolder();
    } finally {
      held.release();
    }
  }

  const commitLog: CommitLog = {
    // Another process is refused the folder as a whole.
    join: soleMembership,
    async acquire(topics, signal) {
      signal.throwIfAborted();
      assertOpen();
      // The folder first: to open the file for writing may wait for whoever writes to it.
      holdFolder();
      const deps = { writer: openedWriter(), reading, released: letGo };
      const session = openSession(topics, randomUUID(), deps);
      sessions.add(session);
      return session;
    },
    async append(topic, records, signal) {
      signal.throwIfAborted();
      openedWriter().append(topic, records);
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
    async close() {
      if (isClosed) return;
      for (const session of [...sessions]) await session.release();
      isClosed = true;
      reader?.close();
      writer?.close();
    },
  };
  return { commitLog, registry: localRegistry(schemaTable({ reading, openedWriter })) };
}
