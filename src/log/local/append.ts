import type { ProducerRecord, TopicSpec } from '../commit-log';
import { partitionOf } from '../partitioner';
import { isCompacted } from '../topics';

/** A topic that this process writes; one of no feed, for the time of one transaction. */
export interface OwnedTopic extends TopicSpec {
  readonly id: number;
  /** By partition: the offset that the next record gets. Moves only after a commit. */
  nextOffsets: number[];
}

/** Rows of one statement. Measured: below 50 the calls cost more than the rows, above nothing is gained. */
const ROWS = 50;

/** Columns of a row → the same many rows of a statement, and one. */
const forRows = (columns: number, sql: (rows: string) => string): [string, string] => {
  const row = `(${Array(columns).fill('?').join(', ')})`;
  return [sql(Array(ROWS).fill(row).join(', ')), sql(row)];
};

const INSERT = 0;
const REMEMBER = 2;
const FORGET = 4;

/** Statements of the steps. Each over many rows, as many as `ROWS`, then over one row. */
export const appendStatements: readonly string[] = [
  ...forRows(7, (rows) => `INSERT INTO records VALUES ${rows}`),
  ...forRows(
    4,
    (rows) =>
      `INSERT INTO latest VALUES ${rows}
       ON CONFLICT DO UPDATE SET partition = excluded.partition, offset = excluded.offset`,
  ),
  // The key is compared too, so that a row of `latest` which someone left behind by hand never costs another key its record.
  ...forRows(
    1,
    (keys) =>
      `DELETE FROM records WHERE rowid IN (
         SELECT r.rowid FROM latest l
         CROSS JOIN records r ON r.topic = ? AND r.partition = l.partition AND r.offset = l.offset AND r.key = l.key
         WHERE l.topic_id = ? AND l.key IN (${keys}))`,
  ),
];

/** A statement of `appendStatements` by its place, and its parameters. */
type Step = readonly [statement: number, parameters: readonly unknown[]];

export type AppendPlan = ReturnType<typeof planAppend>;

/** Records of a slice. Measured: some ten milliseconds. */
const SLICE = 1_000;

/** Records as a transaction writes them. */
export function planAppend(topics: ReadonlyMap<string, OwnedTopic>, records: readonly ProducerRecord[]) {
  const pending = new Map<OwnedTopic, number[]>();
  return {
    /**
     * The steps, slice by slice. A slice is planned when it is asked for, because planning all records at once would block for long.
     * The parameters of a step are overwritten by the next step.
     * @throws RangeError, TypeError for a record that cannot be written
     */
    *slices() {
      pending.clear();
      for (let i = 0; i < records.length; i += SLICE)
        yield sliceSteps(topics, records.slice(i, i + SLICE), pending);
    },
    /** The transaction is committed: the offsets are taken. */
    committed(): void {
      for (const [topic, next] of pending) topic.nextOffsets = next;
    },
  };
}

/** @param pending the next offsets, as far as earlier slices have taken them */
function* sliceSteps(
  topics: ReadonlyMap<string, OwnedTopic>,
  records: readonly ProducerRecord[],
  pending: Map<OwnedTopic, number[]>,
): Generator<Step> {
  const rows: unknown[][] = [];
  /** By topic, then key: where the key's latest record of this slice goes. */
  const latest = new Map<OwnedTopic, Map<string, { row: unknown[]; partition: number; offset: number }>>();
  for (const record of records) {
    const topic = topics.get(record.topic);
    if (topic === undefined) throw new RangeError(`${record.topic} is not a topic of this feed`);
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
  yield* chunked(INSERT, rows);
  for (const [topic, byKey] of latest) {
    const keys = [...byKey.keys()].map((key) => [key]);
    yield* chunked(FORGET, keys, [topic.name, topic.id]);
    const places = [...byKey].map(([key, { partition, offset }]) => [topic.id, key, partition, offset]);
    yield* chunked(REMEMBER, places);
  }
}

/** Steps of `ROWS` rows, and the remaining rows one by one. `first` are the leading parameters. */
function* chunked(
  statement: number,
  rows: readonly unknown[][],
  first: readonly unknown[] = [],
): Generator<Step> {
  let i = 0;
  // One list for all: to make one of hundreds of values for each call costs a third of the call.
  const parameters: unknown[] = [...first];
  for (; i + ROWS <= rows.length; i += ROWS) {
    let at = first.length;
    for (let row = i; row < i + ROWS; row++) {
      for (const value of rows[row]!) parameters[at++] = value;
    }
    yield [statement, parameters];
  }
  for (; i < rows.length; i++) yield [statement + 1, [...first, ...rows[i]!]];
}

/** The library ends the whole process over a parameter of a type that SQLite lacks, so none may come near it. */
function checked(record: ProducerRecord): ProducerRecord {
  const { key, timestamp, value } = record;
  if (typeof key !== 'string') throw new TypeError(`a record of ${record.topic} has a key that is not text`);
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
