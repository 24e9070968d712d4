import { type ErrorCode, HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { SchemaLookup } from '../registry/registry';
import { typeName } from '../schemas';
import { readSchemaId } from './wire';
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
export function recordDecoder(registry: SchemaLookup): (record: LogRecord) => Promise<DecodedRecord> {
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

/** Id of the schema that a record's value was written with. @throws HighwaterError VALUE_FOREIGN */
export function writerIdOf(record: LogRecord): number {
  try {
    return readSchemaId(record.value!);
  } catch (cause) {
    throw foreignAt(record, 'the value is not Avro in the Confluent wire format', cause);
  }
}

function foreignAt(
  { topic, partition, logOffset, key }: LogRecord,
  why: string,
  cause: unknown,
  remedy?: string,
): HighwaterError {
  const what = `partition ${partition} of topic ${topic}, offset ${logOffset}, key ${key}: ${why}`;
  return new HighwaterError('VALUE_FOREIGN', what, { cause, ...(remedy !== undefined && { remedy }) });
}

/** The value names a schema, and has another form: ids begin anew in a new registry. */
const replacedRegistry =
  'If highwater wrote the topic, the registry was probably emptied or replaced, and its ids now mean other schemas: point to the registry that the value was written with (SCHEMA_REGISTRY_URL), or restore it from its backup. Otherwise find out which program wrote the value: only highwater should write to this topic.';

/** Runs a step of decoding a record. @throws HighwaterError VALUE_FOREIGN with the place of the record; other errors as they are */
export function decodingOf<T>(record: LogRecord, step: () => T): T {
  try {
    return step();
  } catch (error) {
    const isForeign = error instanceof HighwaterError && error.code === 'VALUE_FOREIGN';
    throw isForeign ? foreignAt(record, error.message, error, replacedRegistry) : error;
  }
}

/**
 * Whether an error says that a value cannot be read and that another try would not help: another program wrote the value, or the
 * registry does not give out its schema.
 */
export function isUnreadable(error: unknown): error is HighwaterError {
  return error instanceof HighwaterError && UNREADABLE.has(error.code);
}

const UNREADABLE: ReadonlySet<ErrorCode> = new Set([
  'VALUE_FOREIGN',
  'SCHEMA_UNKNOWN',
  'REGISTRY_REFUSED',
  'REGISTRY_UNAUTHORIZED',
]);
