import Database from 'libsql';
import { HighwaterError } from '../../../errors';
import type { Places } from './same-file';
import { startThread, type Thread } from './thread';

/** Commits large transactions in another thread: five pages take up to 300 ms, and nothing may block for so long. */
export interface CommitThread {
  /** False once the thread has ended by itself. */
  isAlive(): boolean;
  /**
   * One transaction of the thread's own connection. Never two at a time, and never while this process writes by another connection.
   * @throws HighwaterError LOG_FENCED, LOG_OUTCOME_UNKNOWN; SqliteError
   */
  commit(transaction: ThreadTransaction): Promise<Outcome>;
  /** Copies the rest of the write-ahead log into the file. Under the same condition. */
  checkpoint(): Promise<void>;
  /** No commit may be under way. */
  stop(): void;
}

export interface ThreadTransaction {
  readonly feed: string;
  readonly ownerEpoch: string;
  /** Number of a statement, and its parameters. */
  readonly steps: readonly (readonly [number, readonly unknown[]])[];
  /** Where the files must be when it is committed. */
  readonly places: Places;
}

/** Nothing was written unless it is `committed`. */
export type Outcome = 'committed' | 'fenced' | 'gone';

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

function transact({ db, owns, statements }, { feed, ownerEpoch, steps, places }) {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (owns.all(feed, ownerEpoch).length === 0) return 'fenced';
    for (const [index, parameters] of steps) {
      // A Buffer arrives as a plain Uint8Array, which the library does not take.
      for (let i = 0; i < parameters.length; i++) {
        const value = parameters[i];
        if (value instanceof Uint8Array) parameters[i] = Buffer.from(value.buffer, value.byteOffset, value.length);
      }
      statements[index].run(parameters);
    }
    if (!places.every(isInPlace)) return 'gone';
    db.exec('COMMIT');
    return 'committed';
  } finally {
    // A full disk has SQLite roll back by itself.
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}

function perform(task) {
  try {
    if (task === 'close') return connection?.db.close();
    const at = opened();
    if (task === 'checkpoint') return at.db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    return transact(at, task);
  } catch ({ message, code, rawCode }) {
    return { message, code, rawCode };
  }
}`;

/**
 * Starts the thread.
 * @param setUp SQL that prepares the connection
 * @param statements which the steps name by their place
 */
export function startCommitThread(
  file: string,
  timeout: number,
  setUp: string,
  statements: readonly string[],
): CommitThread {
  let settle: ((answer: Outcome | Failure | undefined) => void) | null = null;
  let isOver = false;
  const thread: Thread = startThread(
    file,
    SCRIPT,
    { timeout, setUp, statements },
    (answer) => settle?.(answer as Outcome | Failure | undefined),
    () => {
      isOver = true;
      settle?.(undefined);
    },
  );

  async function ask(task: unknown): Promise<Outcome | Failure | undefined> {
    const answer = await new Promise<Outcome | Failure | undefined>((resolve) => {
      settle = resolve;
      thread.post(task, true);
    });
    settle = null;
    return answer;
  }

  return {
    isAlive: () => !isOver,
    async commit(transaction) {
      const answer = await ask(transaction);
      if (typeof answer === 'string') return answer;
      if (answer === undefined) {
        throw new HighwaterError(
          'LOG_OUTCOME_UNKNOWN',
          `the thread that commits to ${file} ended before it said whether the batch of ${transaction.feed} was committed`,
        );
      }
      const { message, code, rawCode } = answer;
      throw code === undefined ? new Error(message) : new Database.SqliteError(message, code, rawCode);
    },
    checkpoint: async () => void (await ask('checkpoint')),
    stop() {
      if (!isOver) thread.post('close', false);
      thread.stop();
    },
  };
}
