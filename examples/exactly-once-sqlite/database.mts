import { readFileSync } from 'node:fs';
import Database from 'libsql';

/** Opens an SQLite file with the tables of schema.sql. */
export function openDatabase(file: string): Database.Database {
  const db = new Database(file, { timeout: 10_000 });
  // A commit then survives a power cut too, and who reads does not wait for who writes.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(readFileSync(new URL('schema.sql', import.meta.url), 'utf8'));
  return db;
}
