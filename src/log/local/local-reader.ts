import { localSchemas } from '../../avro/registry/local-registry';
import { HighwaterError } from '../../errors';
import type { LogReader } from '../commit-log';
import { examineLocalLog } from './examine';
import {
  type LogSpace,
  logFile,
  openReaderConnection,
  type ReaderConnection,
} from './file/reader-connection';
import { sameFileGuard } from './file/same-file';
import { type ReadDeps, read } from './read';

/**
 * The embedded log for programs that read it. It never creates the file, and opens it at the first call that needs it.
 * @param isWriter whether this process writes the file now: its writer notices sooner that the file is gone, and says more
 */
export function openLocalReader(dataDir: string, busyTimeoutMs?: number, isWriter = () => false) {
  const file = logFile(dataDir);
  let connection: ReaderConnection | null = null;
  let assertSame = (): void => undefined;
  let isClosed = false;

  /** @throws HighwaterError LOG_CLOSED */
  function assertOpen(): void {
    if (isClosed) throw new HighwaterError('LOG_CLOSED', `${file} was closed`);
  }

  /** For the questions that the port does not ask. */
  const reading: ReadDeps = {
    isClosed: () => isClosed,
    reader() {
      assertOpen();
      if (connection === null) {
        assertSame = sameFileGuard(file);
        connection = openReaderConnection(file, busyTimeoutMs);
      } else if (!isWriter()) assertSame();
      return connection;
    },
  };

  const logReader: LogReader = {
    read: (topics, options) => read(topics, options, reading),
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
      isClosed = true;
      connection?.close();
    },
  };
  const registry = localSchemas(() => reading.reader());
  /** Null while there is no file. @throws HighwaterError LOG_* */
  const space = (): LogSpace | null => reading.reader()?.space() ?? null;
  return { ...logReader, registry, space, reading, assertOpen };
}
