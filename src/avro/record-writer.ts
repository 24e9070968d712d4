import { HighwaterError } from '../errors';
import type { LogRecord } from '../log/commit-log';
import type { AvroSchema } from './registry';
import { fullName, type RecordSchema } from './schemas';
import { readSchemaId } from './wire';

/** Id of the schema that a record's value was written with. @throws HighwaterError VALUE_FOREIGN */
export function writerOf({ topic, partition, logOffset, key, value }: LogRecord): number {
  try {
    return readSchemaId(value!);
  } catch (cause) {
    const where = `partition ${partition} of topic ${topic}, offset ${logOffset}, key ${key}`;
    const what = `${where}: the value is not Avro in the Confluent wire format`;
    throw new HighwaterError('VALUE_FOREIGN', what, { cause });
  }
}

/** Avro full name; of a schema without a name, its type. */
export function typeName(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema;
  const named = schema as Partial<RecordSchema>;
  return named.name === undefined ? String(named.type) : fullName(named as RecordSchema);
}
