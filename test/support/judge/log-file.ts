import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { type JudgedLog, type KnownSchema, type LogRow, wireReader } from './log';

type Columns = [string, number, number, number, string, string, Buffer | null];
const columns = 'topic, partition, offset, timestamp, key, headers, value';

export interface FileLog extends JudgedLog {
  /** Records of one partition, from an offset on. */
  rowsFrom(topic: string, partition: number, offset: number): readonly LogRow[];
}

/** Reads a log file at one moment, whoever writes it meanwhile or died writing it. One that is not there yet has nothing. */
export function withLogFile<T>(file: string, use: (log: FileLog) => T): T {
  const db = openedOrNull(file);
  if (db === null) return use(emptyLog);
  try {
    return use(logOf(db));
  } finally {
    closeReader(db);
  }
}

/** Ends the transaction first: the library closes a connection when its statements are collected, and till then it reads. */
function closeReader(db: Database.Database): void {
  db.exec('COMMIT');
  db.close();
}

function logOf(db: Database.Database): FileLog {
  const rowsOf = db
    .prepare(`SELECT ${columns} FROM records WHERE topic = ? ORDER BY partition, offset`)
    .raw();
  const rowsFrom = db
    .prepare(
      `SELECT ${columns} FROM records WHERE topic = ? AND partition = ? AND offset >= ? ORDER BY offset`,
    )
    .raw();
  const counter = (sql: string): ((topic: string) => number) => {
    const counting = db.prepare(`SELECT count(*) FROM records WHERE topic = ?${sql}`).raw();
    return (topic) => (counting.all(topic) as [number][])[0]![0];
  };
  const schemas = new Map<number, KnownSchema>();
  for (const [id, subject, text] of db.prepare('SELECT id, subject, schema FROM schemas').raw().all() as [
    number,
    string,
    string,
  ][]) {
    const known = schemas.get(id) ?? { text, subjects: [] };
    if (known.text !== text) throw new Error(`schema id ${id} has two meanings`);
    schemas.set(id, { text, subjects: [...known.subjects, subject] });
  }
  return {
    keeps: 'latest',
    rows: (topic) => (rowsOf.all(topic) as Columns[]).map(rowOf),
    rowsFrom: (...place) => (rowsFrom.all(...place) as Columns[]).map(rowOf),
    count: counter(''),
    tableSize: counter(' AND value IS NOT NULL'),
    ...wireReader(schemas),
  };
}

function rowOf([topic, partition, offset, timestamp, key, headers, value]: Columns): LogRow {
  return {
    topic,
    partition,
    offset,
    timestamp,
    key,
    headers: JSON.parse(headers) as Record<string, string>,
    value,
  };
}

const emptyLog: FileLog = {
  keeps: 'latest',
  rows: () => [],
  rowsFrom: () => [],
  count: () => 0,
  tableSize: () => 0,
  ...wireReader(new Map()),
};

/** Null before the publisher has made the file and its tables. */
function openedOrNull(file: string): Database.Database | null {
  if (!existsSync(file)) return null;
  const db = new Database(`${pathToFileURL(file).href}?mode=ro`, { timeout: 5000 });
  db.exec('BEGIN');
  // The first read settles which state is seen.
  const made = db
    .prepare("SELECT count(*) FROM sqlite_master WHERE name IN ('records', 'schemas')")
    .raw()
    .all();
  if ((made as [number][])[0]![0] === 2) return db;
  closeReader(db);
  return null;
}
