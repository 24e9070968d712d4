import { pathToFileURL } from 'node:url';
import avro from 'avsc';
import Database from 'libsql';

/** One row of the table `records`. */
export interface LogRow {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Buffer | null;
}

export interface Decoded {
  readonly schemaId: number;
  /** Full name of the Avro type. */
  readonly type: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The two images inside an envelope as they lie there, null where there is none. */
export interface ImageBytes {
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** A log file at one moment: all reads see the same state, however the publisher goes on. */
export interface LogFile {
  /** Of one topic, by partition and offset. A topic that nobody wrote is empty. */
  rows(topic: string): LogRow[];
  count(topic: string): number;
  /** By the schema that wrote it. @throws Error when the value is not in the wire format or its schema is unknown */
  decode(value: Buffer): Decoded;
  imageBytes(envelope: Buffer): ImageBytes;
  subjectsOf(schemaId: number): readonly string[];
  close(): void;
}

const headerBytes = 5;
type Fields = { readonly fields: readonly { readonly name: string; readonly type: avro.Type }[] };

export function openLogFile(file: string): LogFile {
  const db = new Database(`${pathToFileURL(file).href}?mode=ro`, { timeout: 5000 });
  db.exec('BEGIN');
  const schemas = new Map<number, { text: string; subjects: string[] }>();
  const types = new Map<number, avro.Type>();
  const rowsOf = db
    .prepare(
      'SELECT topic, partition, offset, timestamp, key, headers, value FROM records WHERE topic = ? ORDER BY partition, offset',
    )
    .raw();
  const countOf = db.prepare('SELECT count(*) FROM records WHERE topic = ?').raw();
  for (const [id, subject, text] of db.prepare('SELECT id, subject, schema FROM schemas').raw().all() as [
    number,
    string,
    string,
  ][]) {
    const known = schemas.get(id) ?? { text, subjects: [] };
    if (known.text !== text) throw new Error(`schema id ${id} has two meanings`);
    schemas.set(id, { text, subjects: [...known.subjects, subject] });
  }

  function typeOf(value: Buffer): { schemaId: number; type: avro.Type } {
    if (value.length < headerBytes || value[0] !== 0)
      throw new Error(`no wire format: ${value.toString('hex', 0, 8)}`);
    const schemaId = value.readUInt32BE(1);
    const known = types.get(schemaId);
    if (known !== undefined) return { schemaId, type: known };
    const schema = schemas.get(schemaId);
    if (schema === undefined) throw new Error(`no schema ${schemaId}`);
    const type = avro.Type.forSchema(JSON.parse(schema.text) as avro.Schema);
    types.set(schemaId, type);
    return { schemaId, type };
  }

  return {
    rows: (topic) =>
      (rowsOf.all(topic) as [string, number, number, number, string, string, Buffer | null][]).map(
        ([name, partition, offset, timestamp, key, headers, value]) => ({
          topic: name,
          partition,
          offset,
          timestamp,
          key,
          headers: JSON.parse(headers) as Record<string, string>,
          value,
        }),
      ),
    count(topic) {
      const [row] = countOf.all(topic) as [number][];
      return row![0];
    },
    decode(value) {
      const { schemaId, type } = typeOf(value);
      const decoded = type.decode(value, headerBytes) as { value: Record<string, unknown>; offset: number };
      if (decoded.offset !== value.length) throw new Error(`${value.length - decoded.offset} bytes too many`);
      return { schemaId, type: type.name ?? '', value: decoded.value };
    },
    imageBytes(envelope) {
      const { type } = typeOf(envelope);
      const { fields } = type as unknown as Fields;
      if (fields[0]?.name !== 'before' || fields[1]?.name !== 'after')
        throw new Error('before and after come first');
      const skip = (at: number, index: number): number =>
        (fields[index]!.type.decode(envelope, at) as { offset: number }).offset;
      const middle = skip(headerBytes, 0);
      const end = skip(middle, 1);
      // Each is a union of null and the record: one byte says which.
      const image = (from: number, to: number): Buffer | null =>
        to - from > 1 ? envelope.subarray(from + 1, to) : null;
      return { before: image(headerBytes, middle), after: image(middle, end) };
    },
    subjectsOf: (schemaId) => schemas.get(schemaId)?.subjects ?? [],
    close() {
      db.close();
    },
  };
}

/** The image that a row of a current topic holds. */
export function imageOf(value: Buffer): Buffer {
  return value.subarray(headerBytes);
}
