import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { HighwaterError } from '../../errors';
import { assertSound, copyLog, discard, endsOf, type GroupPosition, sync } from './backup';
import { groupFile, openGroupOffsets } from './consumer/group-offsets';
import { FORMAT_VERSION, isBackup } from './file/file-format';
import { lockFolder, makeDataFolder } from './file/folder-lock';
import { gapsQuery, leaveGaps } from './file/gaps';
import { logFile, lookInto } from './file/reader-connection';
import {
  attempt,
  type Connection,
  cell,
  closedAfter,
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

/**
 * Puts a copy of a log in its place. A restore that is interrupted before its last steps, which are renames, leaves the earlier log in
 * its place. After that, the next start of a publisher or the next restore finishes it.
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
  const isLog = await ofCopy(() => lookInto(copy, () => true));
  if (!isLog) throw new HighwaterError('BACKUP_INVALID', `there is no log in ${copy}`);
  const log = logFile(dataDir);
  attempt(log, () => makeDataFolder(dataDir));
  const lock = lockFolder(path.resolve(dataDir, 'publisher.lock'));
  if (lock === null) {
    const owner = lookInto(log, (reader) => reader.owner());
    refuse(dataDir, owner);
  }
  const staging = path.resolve(dataDir, 'restoring');
  try {
    attempt(log, () => finishRestore(dataDir));
    discard(staging);
    mkdirSync(staging, { mode: 0o700 });
    const staged = path.join(staging, 'highwater.db');
    const { madeMs, positions } = await ofCopy(async () => {
      await copyLog(copy, staged, signal);
      await assertSound(staged, copy, signal);
      return attempt(copy, () => unmarked(staged, log));
    });
    const begun = await begin(staging);
    settle(staged);
    if (positions !== null) setBack(path.join(staging, 'consumers'), positions);
    const stamp = new Date().toISOString().replaceAll(/[:.]/g, '');
    sync(staging);
    renameSync(staging, path.join(dataDir, `restored-${stamp}`));
    sync(dataDir);
    const replaced = finishRestore(dataDir);
    const groups = new Set(positions?.map(([group]) => group)).size;
    return { madeMs, groups, replaced, begun };
  } finally {
    discard(staging);
    lock.release();
  }
}

/** The copy is damaged, and not the log. */
async function ofCopy<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HighwaterError) || error.code !== 'LOG_CORRUPT') throw error;
    throw new HighwaterError('BACKUP_INVALID', error.message, { cause: error });
  }
}

/** Turns a copy into a log whose offsets are above those of the log that it replaces. */
function unmarked(file: string, replaced: string) {
  return closedAfter(connect(file), (db) =>
    transact(db, 'IMMEDIATE', () => {
      const madeMs = isBackup(db) ? cell<number>(prepare(db, 'SELECT made FROM backup')) : null;
      const positions = isBackup(db) ? positionsIn(db) : null;
      leaveGaps(db, endsOf(db), Math.max(highestOffset(db), highestOffsetIn(replaced)));
      db.exec(
        `DELETE FROM publisher; DELETE FROM feeds; DROP TABLE IF EXISTS backup; DROP TABLE IF EXISTS group_positions;
         PRAGMA user_version = ${FORMAT_VERSION}`,
      );
      return { madeMs, positions };
    }),
  );
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
    return closedAfter(connectReadOnly(file), highestOffset);
  } catch {
    return 0;
  }
}

/** Leaves the log as one file, on the disk. */
function settle(file: string): void {
  attempt(file, () => closedAfter(connect(file), (db) => pragma(db, 'wal_checkpoint(TRUNCATE)')));
  sync(file);
}

/**
 * The last steps of a restore: the earlier files go to `replaced-…`, then the new ones come out of a folder, and then the folder is
 * removed. Its name says how far it has come, so a process that is killed between two steps leaves a restore that can be finished.
 * Call it while this process holds the folder.
 * @returns the folder with the earlier files; null if there were none, or if there is no restore to finish
 */
export function finishRestore(dataDir: string): string | null {
  const found = unfinishedRestore(dataDir);
  if (found === null) return null;
  const [, phase, stamp] = found;
  const aside = path.join(dataDir, `replaced-${stamp}`);
  const placing = path.join(dataDir, `placing-${stamp}`);
  if (phase === 'restored') {
    const ready = path.join(dataDir, `restored-${stamp}`);
    moveAll(dataDir, aside, isOfLog);
    // Other groups keep their positions: a group without a file would begin as a new one, and skip what it has not read.
    const isReplaced = (name: string) =>
      isOfGroup(name) && existsSync(path.join(ready, 'consumers', name.replace(/-(wal|shm)$/, '')));
    moveAll(path.join(dataDir, 'consumers'), path.join(aside, 'consumers'), isReplaced);
    sync(dataDir);
    renameSync(ready, placing);
  }
  moveAll(path.join(placing, 'consumers'), path.join(dataDir, 'consumers'), isOfGroup);
  // One file, whole without its write-ahead log.
  moveAll(placing, dataDir, (name) => name === 'highwater.db');
  sync(dataDir);
  rmSync(placing, { recursive: true });
  return existsSync(aside) ? aside : null;
}

/** @throws HighwaterError RESTORE_UNFINISHED: a log that is begun now would be replaced */
export function assertNoUnfinishedRestore(dataDir: string): void {
  const found = unfinishedRestore(dataDir);
  if (found === null) return;
  const what = `${path.join(dataDir, found[0])} is still to be put in place`;
  throw new HighwaterError('RESTORE_UNFINISHED', what);
}

function unfinishedRestore(dataDir: string): RegExpExecArray | null {
  for (const name of readdirSync(dataDir).sort()) {
    const found = /^(restored|placing)-(.*)$/.exec(name);
    if (found !== null) return found;
  }
  return null;
}

const isOfLog = (name: string) => /^highwater\.db(-wal|-shm)?$/.test(name);
const isOfGroup = (name: string) => /\.db(-wal|-shm)?$/.test(name);

/** A database comes before its write-ahead log, which is refused without it. */
function moveAll(from: string, to: string, isMoved: (name: string) => boolean): void {
  const names = existsSync(from) ? readdirSync(from).filter(isMoved) : [];
  if (names.length === 0) return;
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of names.sort()) {
    const target = path.join(to, name);
    // Only an earlier program, or a consumer, that did not know of the restore can have made it since.
    if (existsSync(target)) renameSync(target, unused(`${target}.earlier`));
    if (name.endsWith('-shm')) rmSync(path.join(from, name));
    else renameSync(path.join(from, name), target);
  }
  sync(to);
}

function unused(file: string): string {
  return existsSync(file) ? unused(`${file}.earlier`) : file;
}

function setBack(folder: string, positions: readonly GroupPosition[]): void {
  attempt(folder, () => makeDataFolder(folder));
  for (const [group, topic, partition, next] of positions) {
    const offsets = openGroupOffsets(groupFile(folder, group));
    closedAfter(offsets, () => offsets.commit(topic, partition, next));
  }
}
