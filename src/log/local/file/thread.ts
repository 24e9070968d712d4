import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

export type Thread = ReturnType<typeof startThread>;

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
// A task that cannot be read would be left out. It ends the thread instead.
parentPort.on('messageerror', (error) => {
  throw error;
});
parentPort.on('message', (task) => {
  let answer = null;
  try {
    answer = perform(task);
  } finally {
    Atomics.sub(busy, 0, 1);
    Atomics.notify(busy, 0);
    parentPort.postMessage(answer);
  }
});`;

/**
 * Starts a thread with a connection of its own to the file. It does one task after the other.
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
) {
  /** Tasks that are not done. */
  const busy = new Int32Array(new SharedArrayBuffer(4));
  const uri = `${pathToFileURL(file).href}?mode=rw`;
  const worker = new Worker(`${PREAMBLE}\n${script}`, {
    eval: true,
    execArgv: [],
    env: {},
    workerData: { libsql: require.resolve('libsql'), uri, busy, given },
  });
  /** Tasks for whose answers the process lives on. */
  let awaited = 0;
  worker.on('message', (answer) => {
    if (awaited > 0) awaited--;
    if (awaited === 0) worker.unref();
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
    const until = performance.now() + STOP_MS;
    for (let left = Atomics.load(busy, 0); left > 0; left = Atomics.load(busy, 0)) {
      if (Atomics.wait(busy, 0, left, until - performance.now()) === 'timed-out') return;
    }
  }

  function forget(): void {
    Atomics.store(busy, 0, 0);
    process.removeListener('exit', idle);
  }

  return {
    /** Whether a task is under way or waits. */
    isBusy: (): boolean => Atomics.load(busy, 0) > 0,
    /**
     * @param task cloned
     * @param isAwaited whether the process lives on for the answer
     * @throws Error if it cannot be cloned
     */
    post(task: unknown, isAwaited: boolean): void {
      Atomics.add(busy, 0, 1);
      try {
        worker.postMessage(task);
      } catch (error) {
        Atomics.sub(busy, 0, 1);
        throw error;
      }
      if (!isAwaited) return;
      awaited++;
      worker.ref();
    },
    /** Stands still until all tasks are done, and ends the thread. */
    stop(): void {
      idle();
      worker.removeAllListeners('exit');
      forget();
      void worker.terminate();
    },
  };
}
