import { statSync } from 'node:fs';
import type { Logger } from '../../../logging/logger';

/** The WAL is emptied at 197 MB at the latest. Beyond this size something must be holding it. */
const WAL_LIMIT_BYTES = 200 * 1024 * 1024;

/** 0 while there is none. */
export function walBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * To be called after commits: says when a foreign reader keeps the WAL from being emptied, so that the disk fills. Says it again each
 * time that the WAL is twice as large.
 */
export function walWatch(file: string, logger: Logger | undefined): () => void {
  let limit = WAL_LIMIT_BYTES;
  return () => {
    const bytes = walBytes(file);
    if (bytes <= WAL_LIMIT_BYTES) limit = WAL_LIMIT_BYTES;
    if (bytes <= limit) return;
    limit = 2 * bytes;
    logger?.warn(
      'the write-ahead log grows until the disk is full: a program holds a read transaction open on the data file. Publishing goes on. End that program (`fuser` or `lsof` names it), or let it end its transaction',
      { file: `${file}-wal`, bytes },
    );
  };
}
