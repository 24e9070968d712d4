import type { LogRecord } from '../log/commit-log';
import { typeName, writerOf } from './record-writer';
import type { SchemaRegistry } from './registry';
import { type WireType, wireType } from './wire-type';

/** A record of the log with its value decoded by the schema that it was written with. */
export interface DecodedRecord extends Omit<LogRecord, 'value'> {
  /** Avro full name; null for a tombstone. */
  readonly type: string | null;
  readonly value: unknown;
}

/**
 * Decodes values of any topic by the schema id that they carry; each schema is looked up once.
 * @throws HighwaterError SCHEMA_UNKNOWN, VALUE_FOREIGN for a value that is not in the wire format
 */
export function recordDecoder(registry: SchemaRegistry): (record: LogRecord) => Promise<DecodedRecord> {
  const known = new Map<number, { readonly name: string; readonly wire: WireType<unknown> }>();
  return async (record) => {
    if (record.value === null) return { ...record, type: null };
    const id = writerOf(record);
    let writer = known.get(id);
    if (writer === undefined) {
      const schema = await registry.schemaById(id);
      writer = { name: typeName(schema), wire: wireType(schema, id) };
      known.set(id, writer);
    }
    return { ...record, type: writer.name, value: writer.wire.decode(record.value) };
  };
}
