import { hasTable } from './file-format';
import { type Connection, prepare } from './sqlite';

/**
 * Offsets that no record of a partition has, since the log was restored from a copy. The log that was lost may have given some of
 * them to records that the copy does not have. A reader with a position among them has read records that the restore removed.
 */
export interface Gap {
  /** The offset after the copy's last record. */
  readonly after: number;
  /** The first offset after the restore. */
  readonly next: number;
}

/** Offsets of a partition in a second: more than any publisher writes, so that two restores never give an offset twice. */
const PER_SECOND = 1_000_000;

/** @returns asks for the gaps of a partition, the oldest first. Restores with no record between leave one gap. */
export function gapsQuery(db: Connection): (topic: string, partition: number) => readonly Gap[] {
  if (!hasTable(db, 'gaps')) return () => [];
  const own = prepare(
    db,
    'SELECT after, max(next) FROM gaps WHERE topic = ? AND partition = ? GROUP BY after ORDER BY after',
  );
  const ofAbsent = prepare(db, "SELECT after, next FROM gaps WHERE topic = '' ORDER BY next DESC LIMIT 1");
  return (topic, partition) => {
    const found = own.all(topic, partition) as [number, number][];
    const rows = found.length > 0 ? found : (ofAbsent.all() as [number, number][]);
    return rows.map(([after, next]) => ({ after, next }));
  };
}

/**
 * Leaves a gap in every partition of a copy, and at the beginning of topics that the copy does not have. To be called in a transaction.
 * @param ends the offset after the last record, by topic and partition
 * @param above every offset that was ever given, as far as is known
 */
export function leaveGaps(
  db: Connection,
  ends: readonly (readonly [topic: string, partition: number, end: number])[],
  above: number,
): void {
  db.exec(
    `CREATE TABLE IF NOT EXISTS gaps (
       topic TEXT NOT NULL, partition INTEGER NOT NULL, after INTEGER NOT NULL, next INTEGER NOT NULL,
       PRIMARY KEY (topic, partition, next)
     ) WITHOUT ROWID`,
  );
  const next = Math.max(Math.floor(Date.now() / 1000) * PER_SECOND, above + 1);
  const add = prepare(db, 'INSERT INTO gaps VALUES (?, ?, ?, ?)');
  for (const [topic, partition, end] of [['', 0, 0] as const, ...ends])
    add.run([topic, partition, end, next]);
}
