import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { HighwaterError } from '../../errors';
import { assertSound, copyLog, endsOf, type GroupPosition, sync } from './backup';
import { openGroupOffsets } from './consumer/group-offsets';
import { makeDataFolder } from './file/data-folder';
import { FORMAT_VERSION, isBackup } from './file/file-format';
import { lockFolder } from './file/folder-lock';
import { gapsQuery, leaveGaps } from './file/gaps';
import { openReaderConnection } from './file/reader-connection';
import {
  attempt,
  type Connection,
  connect,
  connectReadOnly,
  pragma,
  prepare,
  textOf,
  transact,
} from './file/sqlite';
import { refuse } from './ownership';

export interface PutBackReport<T> {
  /** When the backup was made, ms; null for another copy of a log. */
  readonly madeMs: number | null;
  /** Consumer groups, at their positions in the backup. */
  readonly groups: number;
  /** Folder with the files that the restore replaced; null if there were none. */
  readonly replaced: string | null;
  readonly begun: T;
}

const BUSY_MS = 5_000;

/**
 * Puts a copy of a log in its place. Until the last step, a rename, the folder has the earlier log or none.
 * @param copy a backup, or another whole copy of a log. It is left as it is.
 * @param begin changes the copy, in a folder of its own, before a publisher may see it
 * @throws HighwaterError LOG_OWNED while a publisher has the folder; BACKUP_INVALID; LOG_*; the signal's reason
 */
export async function putBack<T>(
  dataDir: string,
  copy: string,
  begin: (folder: string) => Promise<T>,
  signal: AbortSignal,
): Promise<PutBackReport<T>> {
  const reader = openReaderConnection(copy, BUSY_MS);
  if (reader === null) throw new HighwaterError('BACKUP_INVALID', `there is no log in ${copy}`);
  reader.close();
  const log = path.resolve(dataDir, 'highwater.db');
  attempt(log, () => makeDataFolder(dataDir));
  const lock = lockFolder(path.resolve(dataDir, 'publisher.lock'));
  if (lock === null) refuse(dataDir, publisherOf(log));
  const staging = path.resolve(dataDir, 'restoring');
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { mode: 0o700 });
    const staged = path.join(staging, 'highwater.db');
    await copyLog(copy, staged, signal);
    await assertSound(staged, copy, signal);
    const { madeMs, positions } = attempt(copy, () => unmarked(staged, log));
    const begun = await begin(staging);
    settle(staged);
    const replaced = moveAside(dataDir, positions !== null);
    setBack(path.resolve(dataDir, 'consumers'), positions ?? []);
    renameSync(staged, log);
    sync(dataDir);
    const groups = new Set(positions?.map(([group]) => group)).size;
    return { madeMs, groups, replaced, begun };
  } finally {
    rmSync(staging, { recursive: true, force: true });
    lock.release();
  }
}

function publisherOf(log: string) {
  const reader = openReaderConnection(log, BUSY_MS);
  try {
    return reader?.owner() ?? null;
  } finally {
    reader?.close();
  }
}

/** Turns a copy into a log whose offsets are above those of the log that it replaces. */
function unmarked(file: string, replaced: string) {
  const db = connect(file, BUSY_MS);
  try {
    return transact(db, 'IMMEDIATE', () => {
      const marks = isBackup(db) ? (prepare(db, 'SELECT made FROM backup').all() as [number][]) : [];
      const positions = isBackup(db) ? positionsIn(db) : null;
      leaveGaps(db, endsOf(db), Math.max(highestOffset(db), highestOffsetIn(replaced)));
      db.exec(
        `DELETE FROM publisher; DELETE FROM feeds; DROP TABLE IF EXISTS backup; DROP TABLE IF EXISTS group_positions;
         PRAGMA user_version = ${FORMAT_VERSION}`,
      );
      return { madeMs: marks[0]?.[0] ?? null, positions };
    });
  } finally {
    db.close();
  }
}

function positionsIn(db: Connection): GroupPosition[] {
  const rows = prepare(
    db,
    'SELECT CAST("group" AS BLOB), CAST(topic AS BLOB), partition, next FROM group_positions',
  ).all() as [Buffer, Buffer, number, number][];
  return rows.map(([group, topic, partition, next]) => [textOf(group), textOf(topic), partition, next]);
}

function highestOffset(db: Connection): number {
  const gaps = gapsQuery(db);
  return Math.max(
    0,
    ...endsOf(db).map(([topic, partition, end]) => Math.max(end, gaps(topic, partition).at(-1)?.next ?? 0)),
  );
}

/** 0 if it cannot be read. It may be damaged, and therefore replaced. */
function highestOffsetIn(file: string): number {
  try {
    const db = connectReadOnly(file, BUSY_MS);
    try {
      return highestOffset(db);
    } finally {
      db.close();
    }
  } catch {
    return 0;
  }
}

/** Leaves the log as one file, on the disk. */
function settle(file: string): void {
  const db = attempt(file, () => connect(file, BUSY_MS));
  attempt(file, () => pragma(db, 'wal_checkpoint(TRUNCATE)'));
  db.close();
  sync(file);
}

/** The log first: without it, a write-ahead log that is left behind is refused. @returns the folder; null when there was nothing */
function moveAside(dataDir: string, withGroups: boolean): string | null {
  const names = readdirSync(dataDir).filter((name) => /^highwater\.db(-wal)?$/.test(name));
  const consumers = path.join(dataDir, 'consumers');
  const groups =
    withGroups && existsSync(consumers)
      ? readdirSync(consumers).filter((name) => /\.db(-wal)?$/.test(name))
      : [];
  if (names.length + groups.length === 0) return null;
  const aside = path.join(dataDir, `replaced-${new Date().toISOString().replaceAll(/[:.]/g, '')}`);
  mkdirSync(path.join(aside, 'consumers'), { recursive: true, mode: 0o700 });
  for (const name of names.sort()) renameSync(path.join(dataDir, name), path.join(aside, name));
  for (const name of groups.sort())
    renameSync(path.join(consumers, name), path.join(aside, 'consumers', name));
  for (const file of [
    path.join(dataDir, 'highwater.db'),
    ...groups.map((name) => path.join(consumers, name)),
  ])
    rmSync(`${file}-shm`, { force: true });
  sync(dataDir);
  return aside;
}

function setBack(folder: string, positions: readonly GroupPosition[]): void {
  if (positions.length > 0) attempt(folder, () => makeDataFolder(folder));
  for (const [group, topic, partition, next] of positions) {
    const offsets = openGroupOffsets(path.join(folder, `${encodeURIComponent(group)}.db`));
    offsets.commit(topic, partition, next);
    offsets.close();
  }
}
