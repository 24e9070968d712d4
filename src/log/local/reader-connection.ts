import { existsSync } from 'node:fs';
import type { SchemaRow } from '../../avro/local-registry';
import type { AvroSchema } from '../../avro/registry';
import type { TopicSpec } from '../commit-log';
import { hasTables } from './file-format';
import { attempt, type Connection, connectReadOnly, prepare, transact } from './sqlite';

/** One row of `records` and its place in the order of arrival over all topics. */
export interface StoredRecord {
  readonly arrival: number;
  readonly logOffset: number;
  readonly timestamp: number;
  readonly key: string;
  /** JSON object */
  readonly headers: string;
  readonly value: Buffer | null;
}

/** The questions that readers ask of the file. Each is answered from what is committed, without a lock. */
export interface ReaderConnection {
  /** All that `work` asks is answered from one state of the file. Keep it short: meanwhile the WAL cannot shrink. */
  snapshot<T>(work: () => T): T;
  /** Another number whenever another connection has committed. */
  dataVersion(): number;
  /** Null until a feed that writes the topic was acquired. */
  topic(name: string): TopicSpec | null;
  /** The offset of the first record that is kept; 0 for an empty partition. */
  firstOffset(topic: string, partition: number): number;
  /** The offset after the last one; 0 for an empty partition. */
  endOffset(topic: string, partition: number): number;
  /** The offset of the first record with this timestamp or a later one; null: there is none. */
  offsetSince(topic: string, partition: number, sinceMs: number): number | null;
  topicNames(): string[];
  records(topic: string, partition: number, fromOffset: number, limit: number): StoredRecord[];
  schemaById(id: number): AvroSchema | null;
  schemas(): SchemaRow[];
  owner(): FolderOwner | null;
  close(): void;
}

export interface FolderOwner {
  readonly pid: number;
  readonly host: string;
  readonly instance: string;
  /** ms */
  readonly since: number;
  readonly feeds: readonly string[];
}

/** Null while there is no file, or one that no publisher has prepared yet. @throws HighwaterError LOG_* */
export function openReaderConnection(file: string, busyTimeoutMs: number): ReaderConnection | null {
  if (!existsSync(file)) return null;
  return attempt(file, () => {
    const db = connectReadOnly(file, busyTimeoutMs);
    if (hasTables(db, file)) return readerConnection(db, file);
    db.close();
    return null;
  });
}

function readerConnection(db: Connection, file: string): ReaderConnection {
  const dataVersion = prepare(db, 'PRAGMA data_version');
  const topic = prepare(db, 'SELECT partitions, cleanup FROM topics WHERE topic = ?');
  const topicNames = prepare(db, 'SELECT topic FROM topics ORDER BY topic');
  const firstOffset = prepare(db, 'SELECT min(offset) FROM records WHERE topic = ? AND partition = ?');
  const offsetSince = prepare(
    db,
    'SELECT min(offset) FROM records WHERE topic = ? AND partition = ? AND timestamp >= ?',
  );
  const endOffset = endOffsetQuery(db);
  // Read as text a key would end at its first NUL character.
  const records = prepare(
    db,
    `SELECT rowid, offset, timestamp, CAST(key AS BLOB), headers, value FROM records
     WHERE topic = ? AND partition = ? AND offset >= ? ORDER BY offset LIMIT ?`,
  );
  const schema = prepare(db, 'SELECT schema FROM schemas WHERE id = ? LIMIT 1');
  const owner = prepare(db, 'SELECT pid, host, instance, since FROM publisher');
  const feeds = prepare(db, 'SELECT feed FROM feeds ORDER BY feed');
  const named =
    <A extends unknown[], R>(ask: (...args: A) => R) =>
    (...args: A): R =>
      attempt(file, () => ask(...args));

  return {
    snapshot: (work) => attempt(file, () => transact(db, 'DEFERRED', work)),
    dataVersion: named(() => (dataVersion.all() as [number][])[0]![0]),
    topic: named((name) => {
      const [row] = topic.all(name) as [number, TopicSpec['cleanup']][];
      return row === undefined ? null : { name, partitions: row[0], cleanup: row[1] };
    }),
    topicNames: named(() => (topicNames.all() as [string][]).map(([name]) => name)),
    firstOffset: named((name, partition) => {
      const [row] = firstOffset.all(name, partition) as [number | null][];
      return row?.[0] ?? 0;
    }),
    offsetSince: named((name, partition, sinceMs) => {
      const [row] = offsetSince.all(name, partition, sinceMs) as [number | null][];
      return row?.[0] ?? null;
    }),
    endOffset: named(endOffset),
    records: named((name, partition, fromOffset, limit) =>
      (records.all(name, partition, fromOffset, limit) as Row[]).map(stored),
    ),
    schemaById: named((id) => {
      const [row] = schema.all(id) as [string][];
      return row === undefined ? null : (JSON.parse(row[0]) as AvroSchema);
    }),
    schemas: named(schemaQuery(db)),
    owner: named(() => {
      const [row] = owner.all() as [number, string, string, number][];
      if (row === undefined) return null;
      const [pid, host, instance, since] = row;
      return { pid, host, instance, since, feeds: (feeds.all() as [string][]).map(([feed]) => feed) };
    }),
    close: () => void db.close(),
  };
}

/** @returns asks for the offset after a partition's last one */
export function endOffsetQuery(db: Connection): (topic: string, partition: number) => number {
  const last = prepare(db, 'SELECT max(offset) FROM records WHERE topic = ? AND partition = ?');
  return (topic, partition) => {
    const [row] = last.all(topic, partition) as [number | null][];
    return (row?.[0] ?? -1) + 1;
  };
}

/** @returns asks for all versions of all subjects */
export function schemaQuery(db: Connection): () => SchemaRow[] {
  const rows = prepare(db, 'SELECT id, subject, version, schema FROM schemas ORDER BY id, subject');
  return () =>
    (rows.all() as [number, string, number, string][]).map(([id, subject, version, schema]) => ({
      id,
      subject,
      version,
      schema,
    }));
}

type Row = [number, number, number, Buffer, string, Buffer | null];

function stored([arrival, logOffset, timestamp, key, headers, value]: Row): StoredRecord {
  return { arrival, logOffset, timestamp, key: key.toString('utf8'), headers, value };
}
