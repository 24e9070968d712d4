import { Type } from 'avsc';
import { arena } from '../arena';
import { type CompiledReader, compileReader } from './compiled-reader';
import type { AvroSchema } from './registry';
import { readSchemaId, WIRE_HEADER_BYTES, writeWireHeader } from './wire';

/** One Avro type with its registered id: values to and from the wire format. */
export interface WireType<T> {
  readonly schemaId: number;
  encode(value: T): Buffer;
  /** Into memory that the next value of any type is written to, unless it is kept: for comparing. */
  encodeShared(value: T): Buffer;
  /** The bytes of the latest `encodeShared`, for good. @throws RangeError when another value was written since */
  keep(shared: Buffer): Buffer;
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

export function wireType<T>(schema: AvroSchema, schemaId: number): WireType<T> {
  const type = forSchema(schema);
  const writers = new Map<number, Writer>([[schemaId, { schema, type, resolver: undefined }]]);
  /** Made when it is first needed. */
  let reader: CompiledReader | null = null;

  function encodeShared(value: T): Buffer {
    const end = encodeBehind(type, value, WIRE_HEADER_BYTES);
    writeWireHeader(arena.piece, arena.at, schemaId);
    return arena.written(end);
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
    keep: (shared) => arena.keep(shared),
    encode: (value) => arena.keep(encodeShared(value)),
    decode(value) {
      const { resolver } = writerOf(value);
      if (resolver === undefined) {
        reader ??= compileReader(type) ?? avscAlone;
        const read = reader(value);
        if (read !== undefined) return read as T;
      }
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

/** Of types that no reader is compiled for. */
const avscAlone: CompiledReader = () => undefined;

interface Writer {
  readonly schema: AvroSchema;
  readonly type: Type;
  /** Undefined for the own schema, and one that reads the same. */
  readonly resolver: ReturnType<Type['createResolver']> | undefined;
}

/**
 * Writes a value into the arena, behind so many bytes, which are left to whoever calls.
 * @returns where it ends
 */
export function encodeBehind(type: Type, value: unknown, bytes: number): number {
  arena.reserve(bytes);
  const end = type.encode(value, arena.piece, arena.at + bytes);
  if (end >= 0) return end;
  // avsc answers how many bytes are missing as a negative position.
  arena.reserve(arena.piece.length - arena.at - end);
  return encodeBehind(type, value, bytes);
}

export function forSchema(schema: AvroSchema): Type {
  return Type.forSchema(schema as Parameters<typeof Type.forSchema>[0], { registry: {} });
}
