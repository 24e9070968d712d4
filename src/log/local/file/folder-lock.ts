import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { HighwaterError } from '../../../errors';
import { attempt, closedAfter, closedOnFailure, connect, isBusy, sizeOf } from './sqlite';

/**
 * Makes a folder for the log if there is none, only for this user: the records are the vendor's, and anybody with write
 * access may give commands. An existing folder is left as it is.
 */
export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** The hold of this process on a data folder. */
export interface FolderLock {
  release(): void;
}

/**
 * Holds an SQLite write lock on a file of its own for as long as the process publishes. The operating system frees it when the
 * process ends for any reason, and keeps it for a process that is only stopped. Neither a reused pid nor a clock can deceive it.
 * The file stays empty.
 *
 * Never open this file by other means: a POSIX process loses its locks on a file when it closes any handle of it that
 * SQLite does not know.
 * @throws HighwaterError LOG_*
 * @returns null when another process, or another log of this one, holds the folder
 */
export function lockFolder(file: string): FolderLock | null {
  assertEmpty(file);
  try {
    const db = connect(file, 0);
    closedOnFailure(db, () => attempt(file, () => db.exec('BEGIN IMMEDIATE')));
    return { release: () => closedAfter(db, () => db.inTransaction && db.exec('ROLLBACK')) };
  } catch (error) {
    if (isBusy(error)) return null;
    throw error;
  }
}

/** @throws HighwaterError LOG_CORRUPT when something was written to a lock file; a missing one is fine */
export function assertEmpty(file: string): void {
  const bytes = attempt(file, () => sizeOf(file));
  if (bytes === 0) return;
  const name = path.basename(file);
  throw new HighwaterError('LOG_CORRUPT', `${file} holds ${bytes} bytes, and a lock file is always empty`, {
    remedy: `Make sure that no process uses the folder, delete ${name}, and start again. The log itself is not concerned: keep highwater.db.`,
  });
}
