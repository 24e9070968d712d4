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
  /** Makes values of another writer schema readable; call it before `decode` meets them. */
  addWriter(schemaId: number, schema: AvroSchema): void;
  knowsWriter(schemaId: number): boolean;
}

const FIRST_SCRATCH_BYTES = 64 * 1024;

export function wireType<T>(schema: AvroSchema, schemaId: number): WireType<T> {
  const type = forSchema(schema);
  const decoders = new Map<number, (bytes: Buffer) => T>([
    [schemaId, (bytes) => type.fromBuffer(bytes) as T],
  ]);
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

  return {
    schemaId,
    encodeShared,
    encode: (value) => Buffer.from(encodeShared(value)),
    decode(value) {
      const writer = readSchemaId(value);
      const decoder = decoders.get(writer);
      if (decoder === undefined) throw new RangeError(`no writer schema loaded for id ${writer}`);
      return decoder(value.subarray(WIRE_HEADER_BYTES));
    },
    addWriter(id, writer) {
      const writerType = forSchema(writer);
      const resolver = type.createResolver(writerType);
      decoders.set(id, (bytes) => type.fromBuffer(bytes, resolver) as T);
    },
    knowsWriter: (id) => decoders.has(id),
  };
}

function forSchema(schema: AvroSchema): Type {
  return Type.forSchema(schema as Parameters<typeof Type.forSchema>[0], { registry: {} });
}
