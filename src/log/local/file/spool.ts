import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { attempt, connect, prepare, textOf } from './sqlite';

export type Spool = ReturnType<typeof openSpool>;

/**
 * One value of each key, in a temporary file: any number of them takes a few MB of memory.
 * @param folder of the file, which no other program sees
 * @throws HighwaterError LOG_FULL, LOG_UNWRITABLE
 */
export function openSpool(folder: string) {
  const own = attempt(folder, () => mkdtempSync(path.join(folder, '.highwater-')));
  const removeFile = (): void => rmSync(own, { recursive: true, force: true });
  const db = connect(path.join(own, 'spool.db'), 0);
  // Nothing of it outlives the process, so nothing is ever committed.
  db.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32000;
    CREATE TABLE spool (key BLOB PRIMARY KEY, rank INTEGER NOT NULL, value BLOB NOT NULL); BEGIN`);
  // The open file lives on without its name, and a killed process leaves nothing behind.
  if (process.platform !== 'win32') removeFile();
  const put = prepare(
    db,
    `INSERT INTO spool VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET rank = excluded.rank, value = excluded.value WHERE excluded.rank >= rank`,
  );
  const remove = prepare(db, 'DELETE FROM spool WHERE key = ? AND rank = ?');
  const all = prepare(db, 'SELECT key, rank, value FROM spool ORDER BY key');
  return {
    /** Keeps a value, unless the key has one of a higher rank. */
    put: (key: string, rank: number, value: Buffer): void =>
      attempt(own, () => void put.run([Buffer.from(key), rank, value])),
    /** Removes the value of a key if it has this rank. */
    remove: (key: string, rank: number): void => void remove.run([Buffer.from(key), rank]),
    /** In the order of their keys, as bytes. */
    *all() {
      for (const row of all.iterate()) {
        const [key, rank, value] = row as [Buffer, number, Buffer];
        yield { key: textOf(key), rank, value };
      }
    },
    close(): void {
      db.close();
      removeFile();
    },
  };
}
