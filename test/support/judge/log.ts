import avro from 'avsc';

/** One record, wherever it was read from. */
export interface LogRow {
  /** Without the prefix of the installation. */
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

/** The bytes of the two images in an envelope, null if there is none. */
export interface ImageBytes {
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** A log at one moment: all reads see the same state, however the publisher goes on. */
export interface JudgedLog {
  /**
   * `latest`: of a compacted topic the latest record of each key, and no topic has gaps in its offsets, so that a record's
   * place tells how many were ever written. `all`: every record ever written, and each transaction ends in a gap.
   */
  readonly keeps: 'latest' | 'all';
  /** Records of one topic, in order within each partition. A topic that nobody wrote is empty. */
  rows(topic: string): readonly LogRow[];
  count(topic: string): number;
  /** Keys of a compacted topic whose latest record has a value. */
  tableSize(topic: string): number;
  /** By the schema that wrote it. @throws Error when the value is not in the wire format or its schema is unknown */
  decode(value: Buffer): Decoded;
  imageBytes(envelope: Buffer): ImageBytes;
  /** Without the prefix of the installation. */
  subjectsOf(schemaId: number): readonly string[];
}

/** A schema by its id. */
export interface KnownSchema {
  readonly text: string;
  readonly subjects: readonly string[];
}

const headerBytes = 5;
type Fields = { readonly fields: readonly { readonly name: string; readonly type: avro.Type }[] };

/** Reads values in the wire format: a zero byte, four bytes of the schema's id, Avro. */
export function wireReader(
  schemas: ReadonlyMap<number, KnownSchema>,
): Pick<JudgedLog, 'decode' | 'imageBytes' | 'subjectsOf'> {
  const types = new Map<number, avro.Type>();

  function typeOf(value: Buffer): { schemaId: number; type: avro.Type } {
    const schemaId = schemaIdOf(value);
    const known = types.get(schemaId);
    if (known !== undefined) return { schemaId, type: known };
    const schema = schemas.get(schemaId);
    if (schema === undefined) throw new Error(`no schema ${schemaId}`);
    const type = avro.Type.forSchema(JSON.parse(schema.text) as avro.Schema);
    types.set(schemaId, type);
    return { schemaId, type };
  }

  return {
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
  };
}

/** @throws Error when the value is not in the wire format */
export function schemaIdOf(value: Buffer): number {
  if (value.length < headerBytes || value[0] !== 0)
    throw new Error(`no wire format: ${value.toString('hex', 0, 8)}`);
  return value.readUInt32BE(1);
}

/** The image that a row of a current topic holds. */
export function imageOf(value: Buffer): Buffer {
  return value.subarray(headerBytes);
}
