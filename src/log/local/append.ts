import type { ProducerRecord, TopicSpec } from '../commit-log';
import { partitionOf } from '../partitioner';
import { isCompacted } from '../topics';
import { type Connection, prepare, type Statement } from './file/sqlite';

/** A topic that this process writes; one of no feed, for the time of one transaction. */
export interface OwnedTopic extends TopicSpec {
  readonly id: number;
  /** By partition: the offset that the next record gets. Moves only after a commit. */
  nextOffsets: number[];
}

/** Rows of one statement. Measured: below 50 the calls cost more than the rows, above nothing is gained. */
const ROWS = 50;

/**
 * Writes records within the caller's transaction; the topics move on when the caller says that it was committed.
 */
export interface Appender {
  append(topics: ReadonlyMap<string, OwnedTopic>, records: readonly ProducerRecord[]): Appended;
}

export interface Appended {
  /** The transaction is committed: the offsets are taken. */
  committed(): void;
}

export function appender(db: Connection): Appender {
  const insert = chunked(7, (rows) => prepare(db, `INSERT INTO records VALUES ${rows}`));
  const remember = chunked(4, (rows) =>
    prepare(
      db,
      `INSERT INTO latest VALUES ${rows}
       ON CONFLICT DO UPDATE SET partition = excluded.partition, offset = excluded.offset`,
    ),
  );
  // The key is compared too, so that a row of `latest` which someone left behind by hand never costs another key its record.
  const forget = chunked(1, (keys) =>
    prepare(
      db,
      `DELETE FROM records WHERE rowid IN (
         SELECT r.rowid FROM latest l
         CROSS JOIN records r ON r.topic = ? AND r.partition = l.partition AND r.offset = l.offset AND r.key = l.key
         WHERE l.topic_id = ? AND l.key IN (${keys}))`,
    ),
  );

  return {
    append(topics, records) {
      const pending = new Map<OwnedTopic, number[]>();
      const rows: unknown[][] = [];
      /** By topic, then key: where the key's latest record of this batch goes. */
      const latest = new Map<
        OwnedTopic,
        Map<string, { row: unknown[]; partition: number; offset: number }>
      >();
      for (const record of records) {
        const topic = topics.get(record.topic);
        if (topic === undefined) throw new RangeError(`${record.topic} is no topic of this feed`);
        const { key, timestamp, value } = checked(record);
        const partition = partitionOf(key, topic.partitions);
        const next = memo(pending, topic, () => [...topic.nextOffsets]);
        const offset = next[partition]!++;
        const row = [topic.name, partition, offset, timestamp, key, JSON.stringify(record.headers), value];
        if (isCompacted(topic)) memo(latest, topic, () => new Map()).set(key, { row, partition, offset });
        else rows.push(row);
      }
      for (const byKey of latest.values()) {
        for (const { row } of byKey.values()) rows.push(row);
      }
      insert(rows);
      for (const [topic, byKey] of latest) {
        forget(
          [...byKey.keys()].map((key) => [key]),
          [topic.name, topic.id],
        );
        remember([...byKey].map(([key, { partition, offset }]) => [topic.id, key, partition, offset]));
      }
      return {
        committed() {
          for (const [topic, next] of pending) topic.nextOffsets = next;
        },
      };
    },
  };
}

/** Inserts `ROWS` rows with one statement, and the remaining rows one by one. `first` are its leading parameters. */
function chunked(
  columns: number,
  prepareFor: (rows: string) => Statement,
): (rows: readonly unknown[][], first?: readonly unknown[]) => void {
  const row = `(${Array(columns).fill('?').join(', ')})`;
  const many = prepareFor(Array(ROWS).fill(row).join(', '));
  const one = prepareFor(row);
  return (rows, first = []) => {
    let i = 0;
    // One list for all: to make one of hundreds of values for each call costs a third of the call.
    const parameters: unknown[] = [...first];
    for (; i + ROWS <= rows.length; i += ROWS) {
      let at = first.length;
      for (let row = i; row < i + ROWS; row++) {
        for (const value of rows[row]!) parameters[at++] = value;
      }
      many.run(parameters);
    }
    for (; i < rows.length; i++) one.run([...first, ...rows[i]!]);
  };
}

/** The library ends the whole process over a parameter of a type that SQLite lacks, so none may come near it. */
function checked(record: ProducerRecord): ProducerRecord {
  const { key, timestamp, value } = record;
  if (typeof key !== 'string') throw new TypeError(`a record of ${record.topic} has a key that is no text`);
  if (!Number.isSafeInteger(timestamp)) {
    throw new TypeError(`record ${key} of ${record.topic} has the timestamp ${timestamp}`);
  }
  if (value !== null && !Buffer.isBuffer(value)) {
    throw new TypeError(`record ${key} of ${record.topic} has a value that is neither bytes nor null`);
  }
  return record;
}

function memo<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
