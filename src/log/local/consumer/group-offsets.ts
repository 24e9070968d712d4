import { attempt, type Connection, connect, pragma, prepare } from '../file/sqlite';

/** How far a group of consumers has come, in a file of its own that anyone may open. */
export interface GroupOffsets {
  /** Offset of the record to come; null when the group never committed there. */
  committed(topic: string, partition: number): number | null;
  /** @throws HighwaterError LOG_* */
  commit(topic: string, partition: number, next: number): void;
  close(): void;
}

const BUSY_MS = 5_000;

/** Makes the file when it is missing. @throws HighwaterError LOG_* */
export function openGroupOffsets(file: string): GroupOffsets {
  const db = connect(file, BUSY_MS);
  try {
    return attempt(file, () => groupOffsets(db, file));
  } catch (error) {
    db.close();
    throw error;
  }
}

function groupOffsets(db: Connection, file: string): GroupOffsets {
  pragma(db, 'journal_mode = WAL');
  // A power failure may lose a commit, and its work is then done again. The end of the process loses none.
  pragma(db, 'synchronous = NORMAL');
  db.exec(
    `CREATE TABLE IF NOT EXISTS offsets (
       topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)
     ) STRICT`,
  );
  const committed = prepare(db, 'SELECT next FROM offsets WHERE topic = ? AND partition = ?');
  const commit = prepare(
    db,
    `INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next`,
  );
  return {
    committed(topic, partition) {
      const [row] = attempt(file, () => committed.all(topic, partition)) as [number][];
      return row?.[0] ?? null;
    },
    commit: (topic, partition, next) => void attempt(file, () => commit.run([topic, partition, next])),
    close: () => void db.close(),
  };
}
