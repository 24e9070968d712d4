import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type Connection, pragma } from './sqlite';

/**
 * Copies the write-ahead log (WAL) into the file, in another thread, because 64 MB take 400 ms and the process may not block for so
 * long.
 */
export interface Checkpointer {
  /** To be called after each commit. */
  committed(records: number): void;
  /** Waits until no checkpoint is under way; no other begins. */
  stop(): void;
}

/** A record changes up to three pages, so this many leave 5 to 60 MB in the WAL. Each checkpoint writes a page once for all of them. */
const RECORDS = 5_000;
/** The process does not wait longer for a checkpoint that is under way. */
const STOP_MS = 10_000;

/**
 * Plain JavaScript, since neither a test nor a bundle has a file of it. Two rules:
 * - Only `exec` after the open: a thread that is ended in the middle of a call that returns an object takes the process down (SIGABRT).
 * - The second checkpoint copies what was committed during the first, so that little is left to the committing connection.
 */
const THREAD = `
const { parentPort, workerData: { libsql, uri, busy } } = require('node:worker_threads');
const Database = require(libsql);
parentPort.on('message', () => {
  try {
    const db = new Database(uri, { timeout: 0 });
    try {
      db.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(PASSIVE); PRAGMA wal_checkpoint(PASSIVE)');
    } finally {
      db.close();
    }
  } catch {
    // The frames stay in the WAL. The next checkpoint, or the limit of the committing connection, tries again.
  } finally {
    Atomics.store(busy, 0, 0);
    Atomics.notify(busy, 0);
    parentPort.postMessage(null);
  }
});`;

/** @param db the committing connection */
export function checkpointer(db: Connection, file: string): Checkpointer {
  /** 1 while a checkpoint is under way. */
  const busy = new Int32Array(new SharedArrayBuffer(4));
  let worker: Worker | null = null;
  let isOver = false;
  let waiting = 0;

  function started(): Worker {
    // From the same library: SQLite keeps the locks of a process right only within one copy of it. `mode=rw` makes no
    // file.
    const uri = `${pathToFileURL(file).href}?mode=rw`;
    const thread = new Worker(THREAD, {
      eval: true,
      execArgv: [],
      env: {},
      workerData: { libsql: require.resolve('libsql'), uri, busy },
    });
    thread.unref();
    thread.on('message', finish);
    // Without the thread, the limit of the committing connection stays. An exit follows an error.
    thread.on('error', () => undefined);
    thread.on('exit', end);
    process.once('exit', idle);
    return thread;
  }

  function end(): void {
    isOver = true;
    Atomics.store(busy, 0, 0);
    process.removeListener('exit', idle);
  }

  /** The WAL restarts only after a checkpoint without later commits, which no other thread can rule out. */
  function finish(): void {
    if (isOver) return;
    try {
      pragma(db, 'wal_checkpoint(PASSIVE)');
    } catch {
      // As in the thread.
    }
  }

  function idle(): void {
    Atomics.wait(busy, 0, 1, STOP_MS);
  }

  return {
    committed(records) {
      waiting += records;
      if (isOver || waiting < RECORDS || Atomics.load(busy, 0) === 1) return;
      waiting = 0;
      worker ??= started();
      Atomics.store(busy, 0, 1);
      worker.postMessage(null);
    },
    stop() {
      idle();
      end();
      void worker?.terminate();
    },
  };
}
