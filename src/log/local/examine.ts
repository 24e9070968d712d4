import { hostname } from 'node:os';
import path from 'node:path';
import { type FolderOwner, openReaderConnection } from './reader-connection';

export interface LocalLogReport {
  readonly file: string;
  /** Null while no publisher has written it. */
  readonly topics: readonly string[] | null;
  /** Who wrote down that it publishes here, and has not said that it ended. */
  readonly owner: FolderOwner | null;
  /** Whether the owner's process runs; null where that cannot be seen from this machine. */
  readonly ownerRuns: boolean | null;
}

/** Looks into the embedded log without a trace. @throws HighwaterError LOG_* when it cannot be read */
export function examineLocalLog(dataDir: string): LocalLogReport {
  const file = path.resolve(dataDir, 'highwater.db');
  const reader = openReaderConnection(file, 5_000);
  if (reader === null) return { file, topics: null, owner: null, ownerRuns: null };
  try {
    const owner = reader.owner();
    const isHere = owner?.host === hostname();
    return { file, topics: reader.topicNames(), owner, ownerRuns: isHere ? runs(owner.pid) : null };
  } finally {
    reader.close();
  }
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
