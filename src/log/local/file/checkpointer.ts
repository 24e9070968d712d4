import type { Logger } from '../../../logging/logger';
import { sizeOf } from './sqlite';
import { startThread, type Thread } from './thread';

/** A record changes up to three pages, so this many leave 5 to 60 MB in the WAL. Each checkpoint writes a page once for all of them. */
const RECORDS = 5_000;

/**
 * Two rules:
 * - Only `exec` after the open: a thread that is ended in the middle of a call that returns an object takes the process down (SIGABRT).
 * - The second checkpoint copies what was committed during the first, so that little is left to the committing connection.
 */
const SCRIPT = `
function perform() {
  try {
    const db = open(0);
    try {
      db.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(PASSIVE); PRAGMA wal_checkpoint(PASSIVE)');
    } finally {
      db.close();
    }
  } catch {
    // The frames stay in the WAL. The next checkpoint, or the limit of the committing connection, tries again.
  }
}`;

/**
 * Copies the write-ahead log (WAL) into the file, in another thread, because 64 MB take 400 ms and the process may not block for so
 * long.
 * @param finish makes another checkpoint while nothing is committed. The WAL restarts only after a checkpoint without later commits,
 * which no other thread can rule out.
 */
export function checkpointer(file: string, finish: () => void) {
  let thread: Thread | null = null;
  let isOver = false;
  let waiting = 0;

  return {
    /** To be called after each commit. */
    committed(records: number): void {
      waiting += records;
      if (isOver || waiting < RECORDS || thread?.isBusy()) return;
      waiting = 0;
      // Without the thread, the limit of the committing connection stays.
      thread ??= startThread(
        file,
        SCRIPT,
        null,
        () => {
          if (!isOver) finish();
        },
        () => {
          isOver = true;
        },
      );
      thread.post(null, false);
    },
    /** Waits until no checkpoint is under way; no other begins. */
    stop(): void {
      isOver = true;
      thread?.stop();
    },
  };
}

/** Without a transaction as large as this, the WAL is emptied at 197 MB at the latest. If it grows on, a reader must be holding it. */
const WAL_LIMIT_BYTES = 200 * 1024 * 1024;

/**
 * To be called after commits: says when a foreign reader keeps the WAL from being emptied, so that the disk fills. Says it again each
 * time that the WAL is twice as large.
 */
export function walWatch(file: string, logger: Logger | undefined): () => void {
  let limit = WAL_LIMIT_BYTES;
  let before = 0;
  return () => {
    const bytes = sizeOf(`${file}-wal`);
    if (bytes <= WAL_LIMIT_BYTES) limit = WAL_LIMIT_BYTES;
    // A single large transaction makes the file this long at once, and it stays so until it is emptied.
    const grows = before > WAL_LIMIT_BYTES && bytes > before;
    before = bytes;
    if (bytes <= limit || !grows) return;
    limit = 2 * bytes;
    logger?.warn(
      'the write-ahead log grows until the disk is full: a program holds a read transaction open on the data file. Publishing goes on. End that program (`fuser` or `lsof` names it), or let it end its transaction',
      { file: `${file}-wal`, bytes },
    );
  };
}
