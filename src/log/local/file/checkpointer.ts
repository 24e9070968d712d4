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

  function answered(): void {
    if (!isOver) finish();
  }

  function over(): void {
    isOver = true;
  }

  return {
    /** To be called after each commit. */
    committed(records: number): void {
      waiting += records;
      if (isOver || waiting < RECORDS || thread?.isBusy()) return;
      waiting = 0;
      // Without the thread, the limit of the committing connection stays.
      thread ??= startThread(file, SCRIPT, null, answered, over);
      thread.post(null, false);
    },
    /** Waits until no checkpoint is under way; no other begins. */
    stop(): void {
      over();
      thread?.stop();
    },
  };
}
