import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { HighwaterError } from '../../errors';
import { FORMAT_VERSION, isBackup } from './file/file-format';
import { endOffsetQuery, openReaderConnection } from './file/reader-connection';
import {
  attempt,
  type Connection,
  connect,
  connectReadOnly,
  Damaged,
  pragma,
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
export type GroupPosition = readonly [group: string, topic: string, partition: number, next: number];

const BUSY_MS = 5_000;

/**
 * Copies the log and the positions of its groups into one file, while a publisher and consumers may be at work. The copy is checked
 * before it gets its name.
 * @param overwrite an earlier backup of that name may be replaced
 * @throws HighwaterError LOG_MISSING, LOG_CORRUPT, BACKUP_EXISTS, BACKUP_FAILED
 */
export function backUp(dataDir: string, target: string, overwrite: boolean): BackupReport {
  const log = path.resolve(dataDir, 'highwater.db');
  const reader = openReaderConnection(log, BUSY_MS);
  if (reader === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${log} yet`);
  reader.close();
  assertFree(target, overwrite);
  // Before the log: no group may be ahead of the copy.
  const positions = groupPositions(path.resolve(dataDir, 'consumers'));
  const partial = `${target}.${randomBytes(4).toString('hex')}.partial`;
  try {
    copyLog(log, partial);
    const counts = attempt(log, () => marked(partial, positions));
    sync(partial);
    assertFree(target, overwrite);
    renameSync(partial, target);
    sync(path.dirname(target));
    return { file: target, bytes: statSync(target).size, ...counts };
  } catch (error) {
    if (error instanceof HighwaterError && error.code !== 'LOG_FULL' && error.code !== 'LOG_UNWRITABLE')
      throw error;
    throw new HighwaterError('BACKUP_FAILED', `${target}: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Copies a log or a backup as it is committed. Writers continue during the copy, but the write-ahead log cannot shrink.
 * @param target made for this user only
 * @throws HighwaterError LOG_*
 */
export function copyLog(source: string, target: string): void {
  closeSync(attempt(target, () => openSync(target, 'wx', 0o600)));
  const db = connectReadOnly(source, BUSY_MS);
  try {
    attempt(source, () => db.exec(`VACUUM INTO '${target.replaceAll("'", "''")}'`));
  } finally {
    db.close();
  }
}

/** Checks a copy beyond SQLite's own check. @returns how many records it has @throws Damaged */
export function assertSound(db: Connection): number {
  const found = String(pragma(db, 'quick_check(1)'));
  if (found !== 'ok') throw new Damaged(found);
  const [[records]] = prepare(db, 'SELECT count(*) FROM records').all() as [[number]];
  const [[strangers]] = prepare(
    db,
    `SELECT count(*) FROM latest l JOIN topics t ON t.id = l.topic_id
     LEFT JOIN records r ON r.topic = t.topic AND r.partition = l.partition AND r.offset = l.offset
     WHERE r.key IS NOT l.key`,
  ).all() as [[number]];
  if (strangers > 0) throw new Damaged(`the latest records of ${strangers} keys are missing`);
  const [[kept, known]] = prepare(
    db,
    `SELECT (SELECT count(*) FROM records r JOIN topics t ON t.topic = r.topic WHERE t.cleanup <> 'delete'),
       (SELECT count(*) FROM latest)`,
  ).all() as [[number, number]];
  if (kept !== known) throw new Damaged(`its compacted topics have ${kept} records of ${known} keys`);
  return records;
}

/** The end of each partition of each topic. */
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
    const db = connectReadOnly(file, BUSY_MS);
    try {
      return isBackup(db);
    } finally {
      db.close();
    }
  } catch {
    return false;
  }
}

/** Makes a copied log a backup: an older program and a publisher refuse it. */
function marked(file: string, positions: readonly GroupPosition[]): Pick<BackupReport, 'records' | 'groups'> {
  const db = connect(file, BUSY_MS);
  try {
    const records = assertSound(db);
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
      for (const position of positions) add.run([...position]);
    });
    return { records, groups: new Set(positions.map(([group]) => group)).size };
  } finally {
    db.close();
  }
}

function groupPositions(folder: string): GroupPosition[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith('.db'));
  return files.flatMap((name) => {
    const file = path.join(folder, name);
    const db = connectReadOnly(file, BUSY_MS);
    try {
      return attempt(file, () => {
        const rows = prepare(db, 'SELECT CAST(topic AS BLOB), partition, next FROM offsets').all();
        const group = decodeURIComponent(name.slice(0, -'.db'.length));
        return (rows as [Buffer, number, number][]).map(
          ([topic, partition, next]) => [group, textOf(topic), partition, next] as const,
        );
      });
    } finally {
      db.close();
    }
  });
}
