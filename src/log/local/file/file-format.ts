import { HighwaterError } from '../../../errors';
import { type Connection, pragma, prepare, textOf, transact } from './sqlite';

/** Raised with every change that an older program could not read or would spoil. */
export const FORMAT_VERSION = 2;
/** Version of a new file. Only a backup, and a log that was restored from one, has a later format, for its `gaps`. */
const FIRST_VERSION = 1;

/**
 * `records` and `schemas` are the contract; the rest belongs to the publisher. The rowid of a record is its place in the
 * order of arrival over all topics. `latest` finds the older record of a key where a topic is compacted; an index on
 * `records` itself would cost every plain topic the same.
 */
const TABLES = `
CREATE TABLE records (
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  key TEXT NOT NULL,
  headers TEXT NOT NULL,
  value BLOB,
  PRIMARY KEY (topic, partition, offset)
);
CREATE TABLE schemas (
  id INTEGER NOT NULL,
  subject TEXT NOT NULL,
  version INTEGER NOT NULL,
  schema TEXT NOT NULL,
  PRIMARY KEY (subject, version)
);
CREATE TABLE topics (
  id INTEGER PRIMARY KEY,
  topic TEXT NOT NULL UNIQUE,
  partitions INTEGER NOT NULL,
  cleanup TEXT NOT NULL
);
CREATE TABLE latest (
  topic_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  partition INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  PRIMARY KEY (topic_id, key)
) WITHOUT ROWID;
CREATE TABLE publisher (pid INTEGER NOT NULL, host TEXT NOT NULL, instance TEXT NOT NULL, since INTEGER NOT NULL);
CREATE TABLE feeds (feed TEXT PRIMARY KEY, owner_epoch TEXT NOT NULL);
`;

/**
 * Settings of each connection that commits. FULL: a commit is on the disk when it returns, even if the power fails. The automatic
 * checkpoint (at 200 MB) is for a checkpoint thread that cannot keep up. The limit cuts the WAL back after a long outside reader has
 * gone.
 */
export const CONNECTION = `
PRAGMA synchronous = FULL;
PRAGMA cache_size = -16000;
PRAGMA wal_autocheckpoint = 48000;
PRAGMA journal_size_limit = 134217728;
`;

/**
 * Makes the tables of a new file, sets how the file is written, and refuses a file of a later program and a backup.
 * @throws HighwaterError LOG_NEWER, LOG_UNRESTORED
 */
export function prepareFile(db: Connection, file: string): void {
  if (isBackup(db)) {
    const what = `${file} is a backup that was put in place without \`highwater restore\``;
    throw new HighwaterError('LOG_UNRESTORED', what);
  }
  if (pragma(db, 'journal_mode') !== 'wal') pragma(db, 'journal_mode = WAL');
  db.exec(CONNECTION);
  if (hasTables(db, file)) return;
  transact(db, 'IMMEDIATE', () => {
    // Another process may have made them since.
    if (hasTables(db, file)) return;
    db.exec(TABLES);
    db.exec(`PRAGMA user_version = ${FIRST_VERSION}`);
  });
}

/** Whether `highwater backup` wrote the file. */
export function isBackup(db: Connection): boolean {
  return hasTable(db, 'backup');
}

export function hasTable(db: Connection, name: string): boolean {
  return prepare(db, 'SELECT 1 FROM sqlite_schema WHERE name = ?').all(name).length > 0;
}

/** False for a file that no publisher has prepared yet. @throws HighwaterError LOG_NEWER; Damaged */
export function hasTables(db: Connection, file: string): boolean {
  const version = Number(pragma(db, 'user_version'));
  if (version > FORMAT_VERSION) {
    const what = `${file} has format ${version}; this program knows formats up to ${FORMAT_VERSION}`;
    throw new HighwaterError('LOG_NEWER', what);
  }
  // Every statement asks for the types of its columns. The library ends the process if one of them is not UTF-8.
  const statements = prepare(db, 'SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL');
  for (const [sql] of statements.all() as [Buffer][]) textOf(sql);
  return version > 0;
}
