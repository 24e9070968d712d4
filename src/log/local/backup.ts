import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { type ErrorCode, HighwaterError } from '../../errors';
import { FORMAT_VERSION, hasTable, isBackup } from './file/file-format';
import { endOffsetQuery, logFile, lookInto } from './file/reader-connection';
import {
  attempt,
  type Connection,
  closedAfter,
  connect,
  connectReadOnly,
  Damaged,
  inBackground,
  logFailure,
  prepare,
  textOf,
  transact,
} from './file/sqlite';

export interface BackupReport {
  readonly file: string;
  readonly bytes: number;
  readonly records: number;
  /** Groups of consumers whose positions are in it. */
  readonly groups: number;
}

/** How far a group has come in one partition. */
export type GroupPosition = readonly [
  group: string,
  topic: string,
  partition: number,
  next: number,
  note?: string,
];

/**
 * Copies the log and the positions of its groups into one file, while a publisher and consumers may be at work. The copy is checked
 * before it gets its name.
 * @param overwrite an earlier backup of that name may be replaced
 * @throws HighwaterError LOG_MISSING, LOG_CORRUPT, BACKUP_EXISTS, BACKUP_FAILED; the signal's reason
 */
export async function backUp(
  dataDir: string,
  target: string,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<BackupReport> {
  const log = logFile(dataDir);
  if (!lookInto(log, () => true)) throw new HighwaterError('LOG_MISSING', `there is no log in ${log} yet`);
  assertFree(target, overwrite);
  // Before the log: no group may be ahead of the copy.
  const positions = groupPositions(path.resolve(dataDir, 'consumers'));
  const staging = `${target}.${randomBytes(4).toString('hex')}.partial`;
  const partial = path.join(staging, 'highwater.db');
  try {
    mkdirSync(staging, { mode: 0o700 });
    await copyLog(log, partial, signal);
    const records = await assertSound(partial, log, signal);
    const groups = attempt(log, () => mark(partial, positions));
    sync(partial);
    assertFree(target, overwrite);
    renameSync(partial, target);
    sync(path.dirname(target));
    return { file: target, bytes: statSync(target).size, records, groups };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HighwaterError && !NOT_WRITTEN.includes(error.code)) throw error;
    throw new HighwaterError('BACKUP_FAILED', `${target}: ${(error as Error).message}`, { cause: error });
  } finally {
    discard(staging);
  }
}

/** A limit of a file's size, as of `ulimit`, is a failure to SQLite. */
const NOT_WRITTEN: readonly ErrorCode[] = ['LOG_FULL', 'LOG_UNWRITABLE', 'LOG_FAILED'];

/** Removes a folder into which an abandoned statement may still copy: under another name, it makes no file in it any more. */
export function discard(folder: string): void {
  const discarded = `${folder}.discarded`;
  rmSync(discarded, { recursive: true, force: true });
  if (!existsSync(folder)) return;
  renameSync(folder, discarded);
  rmSync(discarded, { recursive: true });
}

/**
 * Copies a log or a backup as it is committed. Writers continue during the copy, but the write-ahead log cannot shrink.
 * @param target made for this user only
 * @throws HighwaterError LOG_*; the signal's reason
 */
export async function copyLog(source: string, target: string, signal: AbortSignal): Promise<void> {
  closeSync(attempt(target, () => openSync(target, 'wx', 0o600)));
  const statement = `VACUUM INTO '${target.replaceAll("'", "''")}'`;
  await inBackground(source, statement, signal).catch((error: unknown) => {
    throw logFailure(error, source);
  });
}

/**
 * Checks a copy, beyond SQLite's own check.
 * @param source the file that errors name
 * @returns how many records it has
 * @throws HighwaterError LOG_*; the signal's reason
 */
export async function assertSound(copy: string, source: string, signal: AbortSignal): Promise<number> {
  try {
    const ask = async (table: string, query: string) => {
      const [row = []] = await inBackground(
        copy,
        `CREATE TEMP TABLE ${table} AS ${query}`,
        signal,
        `SELECT * FROM ${table}`,
      );
      return row;
    };
    const [found] = await ask('soundness', "SELECT * FROM pragma_quick_check(1, 'main')");
    if (found !== 'ok') throw new Damaged(String(found));
    const [records, strangers, kept, known] = (await ask(
      'counts',
      `SELECT (SELECT count(*) FROM records),
         (SELECT count(*) FROM latest l JOIN topics t ON t.id = l.topic_id
          LEFT JOIN records r ON r.topic = t.topic AND r.partition = l.partition AND r.offset = l.offset
          WHERE r.key IS NOT l.key),
         (SELECT count(*) FROM records r JOIN topics t ON t.topic = r.topic WHERE t.cleanup <> 'delete'),
         (SELECT count(*) FROM latest)`,
    )) as [number, number, number, number];
    if (strangers > 0) throw new Damaged(`the latest records of ${strangers} keys are missing`);
    if (kept !== known) throw new Damaged(`its compacted topics have ${kept} records of ${known} keys`);
    return records;
  } catch (error) {
    throw logFailure(error, source);
  }
}

export function endsOf(db: Connection): (readonly [topic: string, partition: number, end: number])[] {
  const endOffset = endOffsetQuery(db);
  const topics = prepare(db, 'SELECT CAST(topic AS BLOB), partitions FROM topics').all() as [
    Buffer,
    number,
  ][];
  return topics.flatMap(([name, partitions]) => {
    const topic = textOf(name);
    return Array.from({ length: partitions }, (_, i) => [topic, i, endOffset(topic, i)] as const);
  });
}

export function sync(file: string): void {
  const handle = openSync(file, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function assertFree(target: string, overwrite: boolean): void {
  if (statSync(target, { throwIfNoEntry: false }) === undefined) return;
  if (!overwrite) throw new HighwaterError('BACKUP_EXISTS', `${target} is there already`);
  if (isBackupFile(target)) return;
  throw new HighwaterError('BACKUP_EXISTS', `${target} is not a backup, so --overwrite does not replace it`);
}

function isBackupFile(file: string): boolean {
  try {
    return closedAfter(connectReadOnly(file), isBackup);
  } catch {
    return false;
  }
}

/** Makes a copied log a backup: an older program and a publisher refuse it. @returns how many groups have positions in it */
function mark(file: string, positions: readonly GroupPosition[]): number {
  return closedAfter(connect(file), (db) => {
    transact(db, 'IMMEDIATE', () => {
      db.exec(
        `DELETE FROM publisher; DELETE FROM feeds; CREATE TABLE backup (made INTEGER NOT NULL);
         CREATE TABLE group_positions (
           "group" TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL
         );
         PRAGMA user_version = ${FORMAT_VERSION}`,
      );
      prepare(db, 'INSERT INTO backup VALUES (?)').run([Date.now()]);
      const add = prepare(db, 'INSERT INTO group_positions VALUES (?, ?, ?, ?)');
      for (const position of positions) add.run(position.slice(0, 4));
    });
    return new Set(positions.map(([group]) => group)).size;
  });
}

/** The positions of the groups whose names begin with a prefix; reading them is in no member's way. @throws HighwaterError LOG_* */
export function groupPositions(folder: string, prefix = ''): GroupPosition[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return attempt(folder, () => readdirSync(folder)).flatMap((name) => {
    const group = groupOf(name);
    if (group === null || !group.startsWith(prefix)) return [];
    const file = path.join(folder, name);
    const positionsIn = (db: Connection) =>
      attempt(file, () => {
        // Such a file has no positions: the consumer that made it was killed before it had any.
        if (!hasTable(db, 'offsets')) return [];
        // An earlier version made no table of notes.
        const notes = hasTable(db, 'notes')
          ? 'note FROM offsets LEFT JOIN notes USING (topic, partition)'
          : null;
        const columns = 'SELECT CAST(topic AS BLOB), partition, next';
        const rows = prepare(db, `${columns}, ${notes ?? 'NULL FROM offsets'}`).all();
        return (rows as [Buffer, number, number, string | null][]).map(
          ([topic, partition, next, note]) => [group, textOf(topic), partition, next, note ?? ''] as const,
        );
      });
    return closedAfter(connectReadOnly(file), positionsIn);
  });
}

/** @returns the group whose file has this name; null: none */
function groupOf(name: string): string | null {
  if (!name.endsWith('.db')) return null;
  const encoded = name.slice(0, -'.db'.length);
  try {
    const group = decodeURIComponent(encoded);
    return encodeURIComponent(group) === encoded ? group : null;
  } catch {
    return null;
  }
}
