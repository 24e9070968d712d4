import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/** A thread with a connection of its own to the file. It does one task at a time. */
export interface Thread {
  /** Whether a task is under way. */
  isBusy(): boolean;
  /**
   * Only while no task is under way.
   * @param task cloned
   * @param isAwaited whether the process lives on for the answer
   */
  post(task: unknown, isAwaited: boolean): void;
  /** Stands still until no task is under way, and ends the thread. */
  stop(): void;
}

/** The process does not wait longer for a task that is under way. */
const STOP_MS = 10_000;

/**
 * Plain JavaScript, since neither a test nor a bundle has a file of it. `open(timeout)` connects to the file and never creates it. The
 * thread loads the library of the main thread, because SQLite keeps the locks of a process right only within one copy of itself.
 */
const PREAMBLE = `
const { parentPort, workerData: { libsql, uri, busy, given } } = require('node:worker_threads');
const Database = require(libsql);
const open = (timeout) => new Database(uri, { timeout });
parentPort.on('message', (task) => {
  let answer = null;
  try {
    answer = perform(task);
  } finally {
    Atomics.store(busy, 0, 0);
    Atomics.notify(busy, 0);
    parentPort.postMessage(answer);
  }
});`;

/**
 * @param script defines `perform(task)`, whose result is the answer; `given` is in its scope
 * @param answered called after each task
 * @param ended called once if the thread ends by itself
 */
export function startThread(
  file: string,
  script: string,
  given: unknown,
  answered: (answer: unknown) => void,
  ended: () => void,
): Thread {
  /** 1 while a task is under way. */
  const busy = new Int32Array(new SharedArrayBuffer(4));
  const uri = `${pathToFileURL(file).href}?mode=rw`;
  const worker = new Worker(`${PREAMBLE}\n${script}`, {
    eval: true,
    execArgv: [],
    env: {},
    workerData: { libsql: require.resolve('libsql'), uri, busy, given },
  });
  worker.on('message', (answer) => {
    worker.unref();
    answered(answer);
  });
  // An exit follows.
  worker.on('error', () => undefined);
  worker.on('exit', () => {
    forget();
    ended();
  });
  // After the listener, which would hold the process too.
  worker.unref();
  // A thread that is ended in the middle of a call to the library can take the process down (SIGABRT).
  process.once('exit', idle);

  function idle(): void {
    Atomics.wait(busy, 0, 1, STOP_MS);
  }

  function forget(): void {
    Atomics.store(busy, 0, 0);
    process.removeListener('exit', idle);
  }

  return {
    isBusy: () => Atomics.load(busy, 0) === 1,
    post(task, isAwaited) {
      Atomics.store(busy, 0, 1);
      worker.postMessage(task);
      if (isAwaited) worker.ref();
    },
    stop() {
      idle();
      worker.removeAllListeners('exit');
      forget();
      void worker.terminate();
    },
  };
}
