import { statSync } from 'node:fs';
import path from 'node:path';
import type { SchemaRow } from '../../../avro/registry/local-registry';
import type { AvroSchema } from '../../../avro/registry/registry';
import type { ProducerRecord, TopicSpec } from '../../commit-log';
import { hasTables } from './file-format';
import { gapsQuery } from './gaps';
import {
  attempt,
  type Connection,
  cell,
  closedAfter,
  closedOnFailure,
  connectReadOnly,
  Damaged,
  jsonOf,
  pragma,
  prepare,
  sizeOf,
  textOf,
  transact,
} from './sqlite';

/** One row of `records` and its place in the order of arrival over all topics. */
export interface StoredRecord {
  readonly arrival: number;
  readonly logOffset: number;
  readonly timestamp: number;
  readonly key: string;
  readonly headers: ProducerRecord['headers'];
  readonly value: Buffer | null;
}

export type ReaderConnection = ReturnType<typeof readerConnection>;

/** Bytes of the embedded log's file and of its write-ahead log. */
export interface LogSpace {
  readonly total: number;
  /** Bytes of them that are free for new records. */
  readonly free: number;
}

export interface FolderOwner {
  readonly pid: number;
  readonly host: string;
  readonly instance: string;
  /** ms */
  readonly since: number;
  readonly feeds: readonly string[];
}

/** The file of the embedded log in a data folder. */
export const logFile = (dataDir: string): string => path.resolve(dataDir, 'highwater.db');

/** One look into a log. @returns null as `openReaderConnection` @throws HighwaterError LOG_* */
export function lookInto<T>(file: string, look: (reader: ReaderConnection) => T): T | null {
  const reader = openReaderConnection(file);
  return reader && closedAfter(reader, look);
}

/** Null if there is no file, or if no publisher has prepared it yet. @throws HighwaterError LOG_* */
export function openReaderConnection(file: string, busyTimeoutMs?: number): ReaderConnection | null {
  return attempt(file, () => {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
    const db = connectReadOnly(file, busyTimeoutMs);
    const reader = closedOnFailure(db, () => (hasTables(db, file) ? readerConnection(db, file) : null));
    if (reader === null) db.close();
    return reader;
  });
}

/** The questions that readers ask of the file. Each statement sees the committed records, without a lock. */
function readerConnection(db: Connection, file: string) {
  const dataVersion = prepare(db, 'PRAGMA data_version');
  const topic = prepare(db, 'SELECT partitions, CAST(cleanup AS BLOB) FROM topics WHERE topic = ?');
  const topicNames = prepare(db, 'SELECT CAST(topic AS BLOB) FROM topics ORDER BY topic');
  const firstOffset = prepare(db, 'SELECT min(offset) FROM records WHERE topic = ? AND partition = ?');
  const offsetSince = prepare(
    db,
    'SELECT min(offset) FROM records WHERE topic = ? AND partition = ? AND timestamp >= ?',
  );
  // A changed bit can make any column a text.
  const records = prepare(
    db,
    `SELECT rowid, offset, iif(typeof(timestamp) = 'integer', timestamp, NULL),
       CAST(key AS BLOB), CAST(headers AS BLOB), CAST(value AS BLOB) FROM records
     WHERE topic = ? AND partition = ? AND offset >= ? ORDER BY offset LIMIT ?`,
  );
  const schema = prepare(db, 'SELECT CAST(schema AS BLOB) FROM schemas WHERE id = ? LIMIT 1');
  const owner = prepare(db, 'SELECT pid, CAST(host AS BLOB), CAST(instance AS BLOB), since FROM publisher');
  const feeds = prepare(db, 'SELECT CAST(feed AS BLOB) FROM feeds ORDER BY feed');
  const named =
    <A extends unknown[], R>(ask: (...args: A) => R) =>
    (...args: A): R =>
      attempt(file, () => ask(...args));

  return {
    /** All that `work` asks is answered from one state of the file. Keep it short: the WAL cannot shrink while it is open. */
    snapshot: <T>(work: () => T): T => attempt(file, () => transact(db, 'DEFERRED', work)),
    /** Another number whenever another connection has committed. */
    dataVersion: named(() => cell<number>(dataVersion)!),
    /** Null until a feed that writes the topic was acquired. */
    topic: named((name: string): TopicSpec | null => {
      const [row] = topic.all(name) as [number, Buffer][];
      if (row === undefined) return null;
      return { name, partitions: row[0], cleanup: textOf(row[1]) as TopicSpec['cleanup'] };
    }),
    topicNames: named(() => (topicNames.all() as [Buffer][]).map(([name]) => textOf(name))),
    /** The offset of the first record that is kept; 0 for an empty partition. */
    firstOffset: named((name: string, partition: number) => cell<number>(firstOffset, name, partition) ?? 0),
    /** The offset of the first record with this timestamp or a later one; null: there is none. */
    offsetSince: named((name: string, partition: number, sinceMs: number) =>
      cell<number>(offsetSince, name, partition, sinceMs),
    ),
    endOffset: named(endOffsetQuery(db)),
    gaps: named(gapsQuery(db)),
    records: named((name: string, partition: number, fromOffset: number, limit: number): StoredRecord[] => {
      let next = fromOffset;
      return (records.all(name, partition, fromOffset, limit) as Row[]).map((row) => {
        const record = stored(row);
        // A reader that goes on behind the last one would else read the same records for ever.
        if (!(record.logOffset >= next)) throw new Damaged('the offsets in it do not ascend');
        next = record.logOffset + 1;
        return record;
      });
    }),
    schemaById: named((id: number): AvroSchema | null => {
      const [row] = schema.all(id) as [Buffer][];
      return row === undefined ? null : jsonOf<AvroSchema>(row[0]);
    }),
    schemas: named(schemaQuery(db)),
    owner: named((): FolderOwner | null => {
      const [row] = owner.all() as [number, Buffer, Buffer, number][];
      if (row === undefined) return null;
      const [pid, host, instance, since] = row;
      const owned = (feeds.all() as [Buffer][]).map(([feed]) => textOf(feed));
      return { pid, host: textOf(host), instance: textOf(instance), since, feeds: owned };
    }),
    space: named((): LogSpace => {
      const pageBytes = Number(pragma(db, 'page_size'));
      const bytes = (pages: string) => Number(pragma(db, pages)) * pageBytes;
      return { total: bytes('page_count') + sizeOf(`${file}-wal`), free: bytes('freelist_count') };
    }),
    /** Reads every page. @throws HighwaterError LOG_CORRUPT */
    assertWhole: named(() => {
      const found = String(pragma(db, 'integrity_check(1)'));
      if (found !== 'ok') throw new Damaged(found);
    }),
    close: () => void db.close(),
  };
}

/** @returns asks for the offset after a partition's last one; 0 for an empty partition */
export function endOffsetQuery(db: Connection): (topic: string, partition: number) => number {
  const last = prepare(db, 'SELECT max(offset) FROM records WHERE topic = ? AND partition = ?');
  return (topic, partition) => (cell<number>(last, topic, partition) ?? -1) + 1;
}

/** @returns asks for all versions of all subjects */
export function schemaQuery(db: Connection): () => SchemaRow[] {
  const rows = prepare(
    db,
    'SELECT id, CAST(subject AS BLOB), version, CAST(schema AS BLOB) FROM schemas ORDER BY id, subject',
  );
  return () =>
    (rows.all() as [number, Buffer, number, Buffer][]).map(([id, subject, version, schema]) => ({
      id,
      subject: textOf(subject),
      version,
      schema: jsonOf<AvroSchema>(schema),
    }));
}

export function schemaInsert(db: Connection): (row: SchemaRow) => void {
  const insert = prepare(db, 'INSERT INTO schemas VALUES (?, ?, ?, ?)');
  return ({ id, subject, version, schema }) =>
    void insert.run([id, subject, version, JSON.stringify(schema)]);
}

type Row = [number, number, number | null, Buffer, Buffer, Buffer | null];

function stored([arrival, logOffset, timestamp, key, headers, value]: Row): StoredRecord {
  if (timestamp === null) throw new Damaged('a timestamp in it is not a number');
  return { arrival, logOffset, timestamp, key: textOf(key), headers: jsonOf(headers), value };
}
