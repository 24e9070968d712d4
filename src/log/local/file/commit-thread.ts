import Database from 'libsql';
import { HighwaterError } from '../../../errors';
import type { Places } from './same-file';
import { startThread, type Thread } from './thread';

export type CommitThread = ReturnType<typeof startCommitThread>;

interface ThreadTransaction {
  readonly feed: string;
  readonly ownerEpoch: string;
  /** A step is the number of a statement, and its parameters. The next slice is asked for while the thread still writes one. */
  readonly slices: Iterable<Iterable<readonly [number, readonly unknown[]]>>;
  /** Where the files must be when it is committed. */
  readonly places: Places;
}

/** Nothing was written unless it is `committed`. */
type Outcome = 'committed' | 'fenced' | 'gone';

/** Undefined and null: the thread has ended, or is about to. */
type Answer = string | Failure | null | undefined;

interface Failure {
  readonly message: string;
  /** Undefined for an error that is not SQLite's. */
  readonly code: string | undefined;
  readonly rawCode: number | undefined;
}

const SCRIPT = `
const { statSync } = require('node:fs');
const { timeout, setUp, statements } = given;
let connection = null;
/** Slices of the batch that are written. */
let written = 0;

function opened() {
  if (connection !== null) return connection;
  const db = open(timeout);
  db.exec(setUp);
  const owns = db.prepare('SELECT 1 FROM feeds WHERE feed = ? AND owner_epoch = ?').raw();
  return (connection = { db, owns, statements: statements.map((sql) => db.prepare(sql)) });
}

function isInPlace([file, identity]) {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return (found === undefined ? null : found.dev + ' ' + found.ino) === identity;
}

const tasks = {
  begin({ db, owns }, { feed, ownerEpoch }) {
    db.exec('BEGIN IMMEDIATE');
    written = 0;
    return owns.all(feed, ownerEpoch).length > 0 ? 'begun' : rollBack('fenced');
  },
  write({ db, statements }, steps) {
    assertBegun(db);
    for (const [index, parameters] of steps) {
      // A Buffer arrives as a plain Uint8Array, which the library does not take.
      for (let i = 0; i < parameters.length; i++) {
        const value = parameters[i];
        if (value instanceof Uint8Array) parameters[i] = Buffer.from(value.buffer, value.byteOffset, value.length);
      }
      statements[index].run(parameters);
    }
    written++;
    return 'written';
  },
  commit({ db }, { places, slices }) {
    assertBegun(db);
    if (written !== slices) throw new Error(written + ' of ' + slices + ' slices have arrived');
    if (!places.every(isInPlace)) return rollBack('gone');
    db.exec('COMMIT');
    return 'committed';
  },
  checkpoint({ db }) {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    return 'copied';
  },
};

// After a failure the rest of the batch is still on its way here.
function assertBegun(db) {
  if (!db.inTransaction) throw new Error('an earlier part of the batch failed');
}

function rollBack(answer) {
  // A full disk has SQLite roll back by itself.
  if (connection?.db.inTransaction) connection.db.exec('ROLLBACK');
  return answer;
}

function perform([task, given]) {
  try {
    if (task === 'close') return connection?.db.close();
    return task === 'giveUp' ? rollBack('given up') : tasks[task](opened(), given);
  } catch ({ message, code, rawCode }) {
    return rollBack({ message, code, rawCode });
  }
}`;

/**
 * Starts a thread that commits large transactions: five pages take up to 300 ms, and nothing may block for so long.
 * @param setUp SQL that prepares the connection
 * @param statements which the steps name by their place
 */
export function startCommitThread(
  file: string,
  timeout: number,
  setUp: string,
  statements: readonly string[],
) {
  /** For each task that the thread has not answered, in order. */
  const waiting: ((answer: Answer) => void)[] = [];
  let isOver = false;
  const thread: Thread = startThread(
    file,
    SCRIPT,
    { timeout, setUp, statements },
    (answer) => waiting.shift()?.(answer as Answer),
    () => {
      isOver = true;
      for (const settle of waiting.splice(0)) settle(undefined);
    },
  );

  /**
   * Posts the task before it returns, and throws if it cannot: the commit must not follow a slice that was never posted.
   * @returns the answer; rejects after the thread has rolled back
   */
  function ask(task: string, given?: unknown): Promise<string> {
    // It may have ended since the last answer came, and nothing would answer this task.
    if (isOver) throw outcomeUnknown();
    thread.post([task, given], true);
    const answer = new Promise<Answer>((resolve) => waiting.push(resolve)).then(answerOf);
    answer.catch(() => undefined);
    return answer;
  }

  function answerOf(answer: Answer): string {
    if (typeof answer === 'string') return answer;
    if (answer === undefined || answer === null) throw outcomeUnknown();
    const { message, code, rawCode } = answer;
    throw code === undefined ? new Error(message) : new Database.SqliteError(message, code, rawCode);
  }

  function outcomeUnknown(): HighwaterError {
    const what = `the thread that commits to ${file} ended before it said whether the batch was committed`;
    return new HighwaterError('LOG_OUTCOME_UNKNOWN', what);
  }

  /** Ends the transaction that is open in the thread, or the thread. */
  async function giveUp(): Promise<void> {
    if (isOver) return;
    try {
      await ask('giveUp');
    } catch {
      isOver = true;
      thread.stop();
    }
  }

  return {
    /** False once the thread has ended by itself. */
    isAlive: (): boolean => !isOver,
    /**
     * One transaction of the thread's own connection. Never two at a time, and never while this process writes by another connection.
     * @throws HighwaterError LOG_FENCED, LOG_OUTCOME_UNKNOWN; SqliteError
     */
    async commit({ feed, ownerEpoch, slices, places }: ThreadTransaction): Promise<Outcome> {
      const answers: Promise<string>[] = [];
      let count = 0;
      try {
        answers.push(ask('begin', { feed, ownerEpoch }));
        for (const steps of slices) {
          // Copied, since they share their parameters.
          const copies = Array.from(steps, ([statement, parameters]) => [statement, [...parameters]]);
          answers.push(ask('write', copies));
          count++;
          // One slice waits at the thread while it writes another.
          if ((await answers.shift()) === 'fenced') return 'fenced';
        }
        answers.push(ask('commit', { places, slices: count }));
        await answers.shift();
        return (await answers.shift()) as Outcome;
      } catch (error) {
        // If the error came from this thread, the transaction of the other one is still open.
        await giveUp();
        throw error;
      } finally {
        await Promise.allSettled(answers);
      }
    },
    /** Copies the rest of the write-ahead log into the file. Under the same condition. */
    checkpoint: async (): Promise<void> => void (await ask('checkpoint')),
    /** No commit may be under way. */
    stop(): void {
      if (!isOver) thread.post(['close'], false);
      thread.stop();
    },
  };
}
