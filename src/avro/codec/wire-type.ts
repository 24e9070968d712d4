import { Type, types } from 'avsc';
import { arena } from '../../bytes/arena';
import { HighwaterError } from '../../errors';
import type { AvroSchema } from '../registry/registry';
import { typeName } from '../schemas';
import { type CompiledReader, compileReader } from './compiled-reader';
import { type LongTap, takeWideLongs, WholeLongType } from './long-type';
import { readSchemaId, WIRE_HEADER_BYTES, writeWireHeader } from './wire';

/** Encodes and decodes values of one Avro type, with its registered id, in the wire format. */
export interface WireType<T> {
  readonly schemaId: number;
  encode(value: T): Buffer;
  /** For comparing: the next encoded value of any type overwrites the bytes, unless `keep` is called. */
  encodeShared(value: T): Buffer;
  /** Keeps the bytes of the latest `encodeShared`. @throws RangeError if another value was written since */
  keep(shared: Buffer): Buffer;
  /**
   * Reads a value of any known writer by Avro's schema resolution. Time and memory depend only on the number of bytes.
   * @throws HighwaterError VALUE_FOREIGN if the bytes are not a value of the writer's schema
   */
  decode(value: Buffer): T;
  /** The value in the writer's own schema. @throws as `decode` */
  decodeAsWritten(value: Buffer): Readonly<Record<string, unknown>>;
  /**
   * Makes values of another writer schema readable. Call it before `decode`.
   * @throws HighwaterError VALUE_FOREIGN if it is not an Avro schema, or this type cannot read its values
   */
  addWriter(schemaId: number, schema: AvroSchema): void;
  knowsWriter(schemaId: number): boolean;
  /** Undefined if the writer is unknown. */
  writerSchema(schemaId: number): AvroSchema | undefined;
  /** Ids of all known writers, including the own schema. */
  writers(): readonly number[];
}

export function wireType<T>(schema: AvroSchema, schemaId: number): WireType<T> {
  const type = usable(schema, schemaId, () => forSchema(schema));
  const writers = new Map<number, Writer>([[schemaId, writerWith(schema, type)]]);

  function encodeShared(value: T): Buffer {
    const end = encodeBehind(type, value, WIRE_HEADER_BYTES);
    writeWireHeader(arena.piece, arena.at, schemaId);
    return arena.written(end);
  }

  function writerOfValue(value: Buffer): Writer {
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
      const writer = writerOfValue(value);
      // Every value is read in this way first: avsc relies on what a value claims.
      const written = readAsWritten(value, writer);
      if (writer.resolver === undefined) return written as T;
      return type.fromBuffer(value.subarray(WIRE_HEADER_BYTES), writer.resolver) as T;
    },
    decodeAsWritten: (value) =>
      readAsWritten(value, writerOfValue(value)) as Readonly<Record<string, unknown>>,
    addWriter(id, written) {
      const writer = usable(written, id, () => {
        const writerType = forSchema(written);
        const isSame = writerType.equals(type);
        return isSame
          ? writerWith(written, type)
          : writerWith(written, writerType, type.createResolver(writerType));
      });
      writers.set(id, writer);
    },
    knowsWriter: (id) => writers.has(id),
    writerSchema: (id) => writers.get(id)?.schema,
    writers: () => [...writers.keys()],
  };
}

interface Writer {
  readonly schema: AvroSchema;
  readonly type: Type;
  /** Undefined for the own schema and an equal one. */
  readonly resolver: ReturnType<Type['createResolver']> | undefined;
  /** Compiled when it is first needed. */
  reader: CompiledReader | undefined;
}

function writerWith(schema: AvroSchema, type: Type, resolver?: Writer['resolver']): Writer {
  return { schema, type, resolver, reader: undefined };
}

/** Compiles the schema of a writer. @throws HighwaterError VALUE_FOREIGN */
function usable<T>(schema: AvroSchema, id: number, use: () => T): T {
  try {
    return use();
  } catch (cause) {
    const what = `values of schema ${id} (${typeName(schema)}) cannot be read: ${(cause as Error).message}`;
    throw new HighwaterError('VALUE_FOREIGN', what, { cause });
  }
}

/** @throws HighwaterError VALUE_FOREIGN */
function readAsWritten(value: Buffer, writer: Writer): unknown {
  writer.reader ??= compileReader(writer.type);
  try {
    return writer.reader(value);
  } catch (cause) {
    const name = `${typeName(writer.schema)}, id ${readSchemaId(value)}`;
    const what = `the value does not fit the schema that it names (${name}): ${(cause as Error).message}`;
    throw new HighwaterError('VALUE_FOREIGN', what, { cause });
  }
}

/**
 * Writes a value into the arena, behind so many bytes that the caller fills.
 * @returns the end of the value
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
  /** A union that is passed on to avsc. */
  let passed: unknown = null;
  return Type.forSchema(schema as Parameters<typeof Type.forSchema>[0], {
    registry: {},
    typeHook(given, options) {
      if (given === 'long' || isOfType(given, 'long')) return new WholeLongType();
      if (isOfType(given, 'map'))
        return new MapOfAnyNames(given as ConstructorParameters<typeof types.MapType>[0], options);
      if (!Array.isArray(given)) return undefined;
      const isPassed = given === passed;
      passed = isPassed ? null : given;
      if (isPassed) return undefined;
      const union = Type.forSchema(given, options);
      takeWideLongs(union);
      return union;
    },
  });
}

function isOfType(schema: unknown, name: string): boolean {
  return typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === name;
}

/** Reads an entry named `__proto__` as well. avsc assigns to it, which makes no member. */
class MapOfAnyNames extends types.MapType {
  protected _read(tap: LongTap & { readString(): string }): Record<string, unknown> {
    const values = this.valuesType as unknown as { _read(tap: LongTap): unknown };
    const entries: [string, unknown][] = [];
    for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
      // A negative count comes with the size of its block.
      if (count < 0) tap.readLong();
      for (let i = Math.abs(count); i > 0; i--) entries.push([tap.readString(), values._read(tap)]);
    }
    return Object.fromEntries(entries);
  }
}
