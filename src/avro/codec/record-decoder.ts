import type { LogRecord } from '../../log/commit-log';
import type { SchemaRegistry } from '../registry/registry';
import { decodingOf, typeName, writerIdOf } from './foreign-value';
import { type WireType, wireType } from './wire-type';

/** A record of the log with its value decoded by the schema that it was written with. */
export interface DecodedRecord extends Omit<LogRecord, 'value'> {
  /** Avro full name; null for a tombstone. */
  readonly type: string | null;
  readonly value: unknown;
}

/**
 * Decodes values of any topic by the schema id that they carry; each schema is looked up once.
 * @throws HighwaterError SCHEMA_UNKNOWN, REGISTRY_*; VALUE_FOREIGN for a value that is not in the wire format, or does not fit its schema
 */
export function recordDecoder(registry: SchemaRegistry): (record: LogRecord) => Promise<DecodedRecord> {
  const known = new Map<number, { readonly name: string; readonly wire: WireType<unknown> }>();
  return async (record) => {
    const { value } = record;
    if (value === null) return { ...record, type: null };
    const id = writerIdOf(record);
    const schema = known.has(id) ? null : await registry.schemaById(id);
    return decodingOf(record, () => {
      if (schema !== null) known.set(id, { name: typeName(schema), wire: wireType(schema, id) });
      const { name, wire } = known.get(id)!;
      return { ...record, type: name, value: wire.decode(value) };
    });
  };
}
