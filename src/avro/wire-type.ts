import { Type } from 'avsc';
import type { AvroSchema } from './registry';
import { readSchemaId, WIRE_HEADER_BYTES, writeWireHeader } from './wire';

/** One Avro type with its registered id: values to and from the wire format. */
export interface WireType<T> {
  readonly schemaId: number;
  encode(value: T): Buffer;
  /** Into memory that the next call overwrites: for comparing without allocating. */
  encodeShared(value: T): Buffer;
  /** Reads what any registered writer wrote, by Avro's schema resolution. */
  decode(value: Buffer): T;
  /** What the writer wrote, in the shape of its own schema. */
  decodeAsWritten(value: Buffer): Readonly<Record<string, unknown>>;
  /** Makes values of another writer schema readable; call it before `decode` meets them. */
  addWriter(schemaId: number, schema: AvroSchema): void;
  knowsWriter(schemaId: number): boolean;
  /** Undefined when it is not known. */
  writerSchema(schemaId: number): AvroSchema | undefined;
  /** Ids of all that are known, the own among them. */
  writers(): readonly number[];
}

const FIRST_SCRATCH_BYTES = 64 * 1024;

export function wireType<T>(schema: AvroSchema, schemaId: number): WireType<T> {
  const type = forSchema(schema);
  const writers = new Map<number, Writer>([[schemaId, { schema, type, resolver: undefined }]]);
  let scratch = Buffer.allocUnsafeSlow(FIRST_SCRATCH_BYTES);

  function encodeShared(value: T): Buffer {
    let end = type.encode(value, scratch, WIRE_HEADER_BYTES);
    if (end < 0) {
      // avsc answers how many bytes are missing as a negative position.
      scratch = Buffer.allocUnsafeSlow((scratch.length - end) * 2);
      end = type.encode(value, scratch, WIRE_HEADER_BYTES);
    }
    writeWireHeader(scratch, schemaId);
    return scratch.subarray(0, end);
  }

  function writerOf(value: Buffer): Writer {
    const id = readSchemaId(value);
    const writer = writers.get(id);
    if (writer === undefined) throw new RangeError(`no writer schema loaded for id ${id}`);
    return writer;
  }

  return {
    schemaId,
    encodeShared,
    encode: (value) => Buffer.from(encodeShared(value)),
    decode(value) {
      const { resolver } = writerOf(value);
      return type.fromBuffer(value.subarray(WIRE_HEADER_BYTES), resolver) as T;
    },
    decodeAsWritten: (value) => writerOf(value).type.fromBuffer(value.subarray(WIRE_HEADER_BYTES)),
    addWriter(id, writer) {
      const writerType = forSchema(writer);
      const isSame = writerType.equals(type);
      const resolver = isSame ? undefined : type.createResolver(writerType);
      writers.set(id, { schema: writer, type: writerType, resolver });
    },
    knowsWriter: (id) => writers.has(id),
    writerSchema: (id) => writers.get(id)?.schema,
    writers: () => [...writers.keys()],
  };
}

interface Writer {
  readonly schema: AvroSchema;
  readonly type: Type;
  /** Undefined for the own schema, and one that reads the same. */
  readonly resolver: ReturnType<Type['createResolver']> | undefined;
}

function forSchema(schema: AvroSchema): Type {
  return Type.forSchema(schema as Parameters<typeof Type.forSchema>[0], { registry: {} });
}
