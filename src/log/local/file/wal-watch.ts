import { statSync } from 'node:fs';
import type { Logger } from '../../../logging/logger';

/** The WAL is emptied at 200 MB at the latest. Beyond this size something must be holding it. */
const WAL_LIMIT_BYTES = 256 * 1024 * 1024;

/** To be called after commits: says once when a foreign reader keeps the WAL from being emptied, so that the disk fills. */
export function walWatch(file: string, logger: Logger | undefined): () => void {
  const wal = `${file}-wal`;
  let warned = false;
  return () => {
    const bytes = statSync(wal, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes > WAL_LIMIT_BYTES && !warned) {
      logger?.warn('the write-ahead log grows: a program holds a read transaction open on the data file', {
        file: wal,
        bytes,
      });
    }
    warned = bytes > WAL_LIMIT_BYTES;
  };
}
