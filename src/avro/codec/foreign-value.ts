import { type ErrorCode, HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { AvroSchema } from '../registry/registry';
import { fullName, type RecordSchema } from '../schemas';
import { readSchemaId } from './wire';

/** Id of the schema that a record's value was written with. @throws HighwaterError VALUE_FOREIGN */
export function writerIdOf(record: LogRecord): number {
  try {
    return readSchemaId(record.value!);
  } catch (cause) {
    throw foreignAt(record, 'the value is not Avro in the Confluent wire format', cause);
  }
}

/** An error about a record's value, which names the place of the record. */
function foreignAt(
  { topic, partition, logOffset, key }: LogRecord,
  why: string,
  cause: unknown,
): HighwaterError {
  const what = `partition ${partition} of topic ${topic}, offset ${logOffset}, key ${key}: ${why}`;
  return new HighwaterError('VALUE_FOREIGN', what, { cause });
}

/** Runs a step of decoding a record. @throws HighwaterError VALUE_FOREIGN with the place of the record; other errors as they are */
export function decodingOf<T>(record: LogRecord, step: () => T): T {
  try {
    return step();
  } catch (error) {
    const isForeign = error instanceof HighwaterError && error.code === 'VALUE_FOREIGN';
    throw isForeign ? foreignAt(record, error.message, error) : error;
  }
}

/**
 * Whether an error says that a value cannot be read, and another try would not help: another program wrote the value, or the registry
 * does not give out its schema.
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

/** Avro full name; of a schema without a name, its type. */
export function typeName(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema;
  const named = schema as Partial<RecordSchema>;
  return named.name === undefined ? String(named.type) : fullName(named as RecordSchema);
}
