import { pathToFileURL } from 'node:url';
import { isNativeError } from 'node:util/types';
import Database from 'libsql';
import { type ErrorCode, HighwaterError } from '../../errors';

/** One connection to an SQLite file. Statements are synchronous: nothing of this process runs in between. */
export type Connection = Database.Database;
export type Statement = Database.Statement;

/** Opens for writing, creating the file. @throws HighwaterError LOG_* */
export function connect(file: string, busyTimeoutMs: number): Connection {
  return attempt(file, () => new Database(file, { timeout: busyTimeoutMs }));
}

/** Opens an existing file for reading only. @throws HighwaterError LOG_* */
export function connectReadOnly(file: string, busyTimeoutMs: number): Connection {
  // A URI, because that is the only way that the library takes SQLite's open modes. It keeps a reader from making the file.
  const uri = `${pathToFileURL(file).href}?mode=ro`;
  return attempt(file, () => new Database(uri, { timeout: busyTimeoutMs }));
}

/** Rows come as arrays, in which a blob is a Buffer of its own. */
export function prepare(db: Connection, sql: string): Statement {
  const statement = db.prepare(sql);
  return statement.reader ? statement.raw() : statement;
}

/** The first column of the first row. */
export function pragma(db: Connection, source: string): unknown {
  return prepare(db, `PRAGMA ${source}`)
    .all()
    .map((row) => (row as unknown[])[0])[0];
}

/** Runs `work` in one transaction: committed when it returns, rolled back when it or the commit throws. */
export function transact<T>(db: Connection, mode: 'DEFERRED' | 'IMMEDIATE', work: () => T): T {
  db.exec(`BEGIN ${mode}`);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has SQLite roll back by itself; a second ROLLBACK would then hide the reason.
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Runs `work` and names what SQLite or the file system says. */
export function attempt<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw logFailure(error, file);
  }
}

/** @returns the error as a person meets it; one that has nothing to do with the file comes back as it is */
export function logFailure(error: unknown, file: string): unknown {
  const code = codeOf(error);
  if (code === null) return error;
  const { message } = error as Error;
  const what = OPEN_FAILED.test(message) ? 'the file cannot be opened' : message;
  return new HighwaterError(code, `${file}: ${what}`, { cause: error });
}

export function isBusy(error: unknown): boolean {
  return (error instanceof HighwaterError ? error.code : codeOf(error)) === 'LOG_BUSY';
}

/** A failed open is a plain error that carries the result code in its text only. */
const OPEN_FAILED = /ConnectionFailed\(.*: (\d+)"?\)/s;

/** SQLite's primary result codes, which never change. */
const codes: Readonly<Record<number, ErrorCode>> = {
  3: 'LOG_UNWRITABLE', // PERM
  5: 'LOG_BUSY', // BUSY
  6: 'LOG_BUSY', // LOCKED
  8: 'LOG_UNWRITABLE', // READONLY
  11: 'LOG_CORRUPT', // CORRUPT
  13: 'LOG_FULL', // FULL
  14: 'LOG_UNWRITABLE', // CANTOPEN
  26: 'LOG_CORRUPT', // NOTADB
};

const fileSystemCodes: Readonly<Record<string, ErrorCode>> = { ENOSPC: 'LOG_FULL', EDQUOT: 'LOG_FULL' };

function codeOf(error: unknown): ErrorCode | null {
  if (error instanceof Database.SqliteError) return codes[(error.rawCode ?? 1) & 0xff] ?? 'LOG_FAILED';
  // Not by instanceof: what native code throws may come from another realm.
  if (!isNativeError(error) || error instanceof HighwaterError) return null;
  const open = OPEN_FAILED.exec(error.message);
  if (open) return codes[Number(open[1])] ?? 'LOG_FAILED';
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall === undefined ? null : (fileSystemCodes[code ?? ''] ?? 'LOG_UNWRITABLE');
}
