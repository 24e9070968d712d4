import { attempt, type Connection, connect, isBusy } from './sqlite';

/** The hold of this process on a data folder. */
export interface FolderLock {
  release(): void;
}

/**
 * Holds an SQLite write lock on a file of its own for as long as the process publishes. The operating system frees it with
 * the process, however that ends, and keeps it for one that is merely stopped: neither a pid that is used again nor a clock
 * can deceive it. The file stays empty.
 *
 * Never open this file by other means: a POSIX process loses its locks on a file when it closes any handle of it that
 * SQLite does not know.
 * @throws HighwaterError LOG_*
 * @returns null when another process, or another log of this one, holds the folder
 */
export function lockFolder(file: string): FolderLock | null {
  let db: Connection | null = null;
  try {
    const opened = connect(file, 0);
    db = opened;
    attempt(file, () => opened.exec('BEGIN IMMEDIATE'));
  } catch (error) {
    db?.close();
    if (isBusy(error)) return null;
    throw error;
  }
  const held = db;
  return {
    release() {
      held.exec('ROLLBACK');
      held.close();
    },
  };
}
