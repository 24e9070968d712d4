import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  attempt,
  type Connection,
  cell,
  closedAfter,
  closedOnFailure,
  connect,
  pragma,
  prepare,
  sizeOf,
} from '../file/sqlite';

/** The file of a group in the folder of the groups. */
export const groupFile = (folder: string, groupId: string): string =>
  path.join(folder, `${encodeURIComponent(groupId)}.db`);

/**
 * How far a group of consumers has come, in a file of its own that anyone may open. Makes the file when it is missing. Only for the
 * holder of the group.
 * @throws HighwaterError LOG_*
 */
export function openGroupOffsets(file: string) {
  if (sizeOf(file) === 0) make(file);
  return closedOnFailure(connect(file), (db) => attempt(file, () => groupOffsets(db, file)));
}

/** The file gets its name when it is whole: a process may be killed at any time, and a backup may read it at any time. */
function make(file: string): void {
  const partial = `${file}.partial`;
  attempt(partial, () => {
    for (const left of [partial, `${partial}-journal`, `${partial}-wal`]) rmSync(left, { force: true });
  });
  attempt(partial, () => closedAfter(connect(partial), (db) => db.exec(TABLE)));
  attempt(file, () => renameSync(partial, file));
}

/** `notes`: why a group stands where it does. */
const TABLE = `
CREATE TABLE IF NOT EXISTS offsets (
  topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) STRICT;
CREATE TABLE IF NOT EXISTS notes (
  topic TEXT NOT NULL, partition INTEGER NOT NULL, note TEXT NOT NULL, PRIMARY KEY (topic, partition)
) STRICT`;

function groupOffsets(db: Connection, file: string) {
  pragma(db, 'journal_mode = WAL');
  // A power failure may lose a commit, and its work is then done again. The end of the process loses none.
  pragma(db, 'synchronous = NORMAL');
  // An earlier version may have left a file without it.
  db.exec(TABLE);
  const committed = prepare(db, 'SELECT next FROM offsets WHERE topic = ? AND partition = ?');
  const commit = prepare(
    db,
    `INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next`,
  );
  const explain = prepare(
    db,
    `INSERT INTO notes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET note = excluded.note`,
  );
  /** The notes as they are stored; unknown until the first commit. */
  const notes = new Map<string, string>();
  return {
    /** Offset of the record to come; null when the group never committed there. */
    committed: (topic: string, partition: number) =>
      attempt(file, () => cell<number>(committed, topic, partition)),
    /** @throws HighwaterError LOG_* */
    commit(topic: string, partition: number, next: number, note = ''): void {
      attempt(file, () => {
        commit.run([topic, partition, next]);
        if (notes.get(`${partition} ${topic}`) !== note) explain.run([topic, partition, note]);
      });
      notes.set(`${partition} ${topic}`, note);
    },
    close: () => void db.close(),
  };
}
