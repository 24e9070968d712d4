import { hostname } from 'node:os';
import path from 'node:path';
import { assertEmpty } from './file/folder-lock';
import { type FolderOwner, logFile, lookInto } from './file/reader-connection';

export interface LocalLogReport {
  readonly file: string;
  /** Null while no publisher has written it. */
  readonly topics: readonly string[] | null;
  /** The publisher that registered itself here and has not said that it ended. */
  readonly owner: FolderOwner | null;
  /** Whether the owner's process runs; null if this machine cannot see it. */
  readonly ownerRuns: boolean | null;
}

/** Looks into the embedded log without a trace. @throws HighwaterError LOG_* when it cannot be read */
export function examineLocalLog(dataDir: string): LocalLogReport {
  const file = logFile(dataDir);
  const found = lookInto(file, (reader) => {
    const owner = reader.owner();
    const isHere = owner?.host === hostname();
    return { topics: reader.topicNames(), owner, ownerRuns: isHere ? runs(owner.pid) : null };
  });
  return { file, ...(found ?? { topics: null, owner: null, ownerRuns: null }) };
}

/** Reads every page of the file, which takes seconds for each GB. @throws HighwaterError LOG_CORRUPT when one is damaged */
export function assertWhole(dataDir: string): void {
  lookInto(logFile(dataDir), (reader) => reader.assertWhole());
}

/** @throws HighwaterError LOG_CORRUPT if no publisher could ever take the lock of the folder */
export function assertLockable(dataDir: string): void {
  assertEmpty(path.resolve(dataDir, 'publisher.lock'));
}

/** A signal of 0 is none. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
