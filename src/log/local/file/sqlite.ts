import { isUtf8 } from 'node:buffer';
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isNativeError } from 'node:util/types';
import Database from 'libsql';
import BackgroundDatabase from 'libsql/promise';
import { unlessAborted } from '../../../async/wait';
import { type ErrorCode, HighwaterError } from '../../../errors';

/** One connection to an SQLite file. Statements are synchronous: nothing of this process runs in between. */
export type Connection = Database.Database;
export type Statement = Database.Statement;

/** A write waits this long for another process's transaction on the file; it blocks this process. */
export const BUSY_TIMEOUT_MS = 5_000;

/** Opens for writing, creating the file. @throws HighwaterError LOG_* */
export function connect(file: string, busyTimeoutMs = BUSY_TIMEOUT_MS): Connection {
  return open(file, file, busyTimeoutMs);
}

/** Opens an existing file for reading only. @throws HighwaterError LOG_* */
export function connectReadOnly(file: string, busyTimeoutMs = BUSY_TIMEOUT_MS): Connection {
  // A URI, because that is the only way that the library takes SQLite's open modes. It keeps a reader from making the file.
  return open(file, readOnly(file), busyTimeoutMs);
}

export function closedAfter<Opened extends { close(): unknown }, T>(
  opened: Opened,
  work: (opened: Opened) => T,
): T {
  try {
    return work(opened);
  } finally {
    opened.close();
  }
}

export function closedOnFailure<T>(db: Connection, work: (db: Connection) => T): T {
  try {
    return work(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Even a reader makes files beside a log that nobody has open. Where it may not, as on a disk that is mounted for reading only, SQLite has
 * to be told that nobody writes.
 */
function readOnly(file: string): string {
  const isOpen = existsSync(`${file}-wal`) || existsSync(`${file}-shm`);
  const mode = isOpen || mayWrite(path.dirname(file)) ? 'mode=ro' : 'mode=ro&immutable=1';
  return `${pathToFileURL(file).href}?${mode}`;
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs a long statement on a thread of its own over a connection that only reads, so that this process hears signals meanwhile. The
 * library cannot end a statement: after the abort it goes on until it is done or the process ends.
 * @param rows a short query for what the statement has left in temporary tables
 * @throws what SQLite says; the signal's reason
 */
export async function inBackground(
  file: string,
  sql: string,
  signal: AbortSignal,
  rows?: string,
): Promise<unknown[][]> {
  refuseEmptied(file);
  const db = new BackgroundDatabase(readOnly(file), { timeout: BUSY_TIMEOUT_MS });
  const work = async (): Promise<unknown[][]> => {
    try {
      await db.exec(sql);
      return rows === undefined ? [] : await (await db.prepare(rows)).raw().all();
    } finally {
      db.close();
    }
  };
  return unlessAborted(work(), signal);
}

function open(file: string, place: string, timeout: number): Connection {
  return attempt(file, () => {
    refuseEmptied(file);
    return new Database(place, { timeout });
  });
}

/** Bytes of a file; 0 if there is none. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** SQLite takes an empty file for a new one, and deletes the write-ahead log beside it. */
function refuseEmptied(file: string): void {
  if (sizeOf(file) > 0) return;
  const walBytes = sizeOf(`${file}-wal`);
  if (walBytes > 0)
    throw new Damaged(`it is empty or missing, while ${file}-wal holds ${walBytes} bytes of it`);
  // A publisher that ends leaves no such log, and keeps the images of its records.
  if (path.basename(file) !== 'highwater.db' || !existsSync(file)) return;
  const images = readdirSync(path.dirname(file)).find((name) => name.endsWith('.images'));
  if (images !== undefined) throw new Damaged(`it is empty, while ${images} is there from an earlier run`);
}

/**
 * Rows come as arrays, in which a blob is a Buffer of its own. Select a text `CAST(… AS BLOB)`, and take it by `textOf`: the library
 * ends the whole process over a text that is not UTF-8, and cuts one at its first NUL.
 */
export function prepare(db: Connection, sql: string): Statement {
  const statement = db.prepare(sql);
  return statement.reader ? statement.raw() : statement;
}

/** The text that a column holds. @throws Damaged */
export function textOf(bytes: Buffer): string {
  if (!Buffer.isBuffer(bytes) || !isUtf8(bytes)) throw new Damaged('a text in it is not UTF-8');
  return bytes.toString('utf8');
}

/** The value that a column holds as JSON text. @throws Damaged */
export function jsonOf<T>(bytes: Buffer): T {
  const text = textOf(bytes);
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Damaged('a text in it is not JSON', { cause });
  }
}

/** The file holds data that nobody wrote to it. `attempt` names it. */
export class Damaged extends Error {}

/** The first column of the first row; null if there is no row. */
export function cell<T>(statement: Statement, ...parameters: readonly unknown[]): T | null {
  const [row] = statement.all(...parameters) as [T | null][];
  return row?.[0] ?? null;
}

export function pragma(db: Connection, source: string): unknown {
  return cell(prepare(db, `PRAGMA ${source}`));
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

/** @returns the error for people; an error that does not concern the file is returned unchanged */
export function logFailure(error: unknown, file: string): unknown {
  const code = codeOf(error);
  if (code === null) return error;
  const { message } = error as Error;
  const said = OPEN_FAILED.test(message) ? 'the file cannot be opened' : message;
  const obstacle = code === 'LOG_UNWRITABLE' ? obstacleTo(file) : null;
  const what = obstacle === null ? said : `${said}; ${obstacle}`;
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

/** No room for the file through which connections share the write-ahead log. */
const IOERR_SHMSIZE = 10 | (19 << 8);

const fileSystemCodes: Readonly<Record<string, ErrorCode>> = { ENOSPC: 'LOG_FULL', EDQUOT: 'LOG_FULL' };

function codeOf(error: unknown): ErrorCode | null {
  if (error instanceof Damaged) return 'LOG_CORRUPT';
  if (error instanceof Database.SqliteError && error.rawCode === IOERR_SHMSIZE) return 'LOG_FULL';
  if (error instanceof Database.SqliteError) return codes[(error.rawCode ?? 1) & 0xff] ?? 'LOG_FAILED';
  // Not by instanceof: what native code throws may come from another realm.
  if (!isNativeError(error) || error instanceof HighwaterError) return null;
  const open = OPEN_FAILED.exec(error.message);
  if (open) return codes[Number(open[1])] ?? 'LOG_FAILED';
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall === undefined ? null : (fileSystemCodes[code ?? ''] ?? 'LOG_UNWRITABLE');
}

/**
 * The obstacle that keeps this process from writing a file of the log: the folder, the file or one beside it, its
 * owner, and the user of this process.
 * @returns null when nothing of it can be seen
 */
function obstacleTo(file: string): string | null {
  for (const name of [path.dirname(file), file, `${file}-wal`, `${file}-shm`]) {
    try {
      if (statSync(name, { throwIfNoEntry: false }) !== undefined) accessSync(name, constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return `${name} cannot be written (${code})${owners(name)}`;
    }
  }
  return null;
}

function owners(name: string): string {
  try {
    return `: it belongs to user ${statSync(name).uid}, and this process runs as user ${process.geteuid?.()}`;
  } catch {
    return '';
  }
}
