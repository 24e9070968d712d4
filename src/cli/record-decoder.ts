import type { AvroSchema, SchemaRegistry } from '../avro/registry';
import { fullName, type RecordSchema } from '../avro/schemas';
import { readSchemaId } from '../avro/wire';
import { type WireType, wireType } from '../avro/wire-type';
import { HighwaterError } from '../errors';
import type { LogRecord } from '../log/commit-log';

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

function writerOf({ topic, partition, logOffset, key, value }: LogRecord): number {
  try {
    return readSchemaId(value!);
  } catch (cause) {
    const where = `partition ${partition} of topic ${topic}, offset ${logOffset}, key ${key}`;
    throw new HighwaterError(
      'VALUE_FOREIGN',
      `${where}: the value is not Avro in the Confluent wire format`,
      {
        cause,
      },
    );
  }
}

function typeName(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema;
  const named = schema as Partial<RecordSchema>;
  return named.name === undefined ? String(named.type) : fullName(named as RecordSchema);
}
