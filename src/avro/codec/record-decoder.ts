import { type ErrorCode, HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { SchemaLookup } from '../registry/registry';
import { fullName, type RecordSchema, typeName } from '../schemas';
import { readSchemaId } from './wire';
import { type WireType, wireType } from './wire-type';

/** A record of the log with its value decoded. */
export interface DecodedRecord extends Omit<LogRecord, 'value'> {
  /** Avro full name; null for a tombstone. */
  readonly type: string | null;
  readonly value: unknown;
}

/** Decodes values of any topic by the schema id that they carry. Each schema is looked up and compiled once. */
export type Decoder = ReturnType<typeof valueDecoder>;

interface Reader {
  readonly type: string;
  readonly wire: WireType<unknown>;
}

/** Not an id that any registry gives. */
const OWN = -1;

/**
 * @param own schemas to which values of their type are converted, whichever version wrote them. Values of other types stay as they were
 * written
 */
export function valueDecoder(registry: SchemaLookup, own: readonly RecordSchema[] = []) {
  const known = new Map(own.map((schema) => [fullName(schema), schema]));
  /** By type name: one reader for all who write it. */
  const readers = new Map<string, Reader>();
  /** By the writer's schema id. */
  const byWriter = new Map<number, Reader>();
  const preparing = new Map<number, Promise<void>>();

  async function addWriter(id: number): Promise<void> {
    const schema = await registry.schemaById(id);
    const type = typeName(schema);
    const ownSchema = known.get(type);
    if (ownSchema === undefined) {
      byWriter.set(id, { type, wire: wireType(schema, id) });
      return;
    }
    const reader = readers.get(type) ?? { type, wire: wireType(ownSchema, OWN) };
    readers.set(type, reader);
    reader.wire.addWriter(id, schema);
    byWriter.set(id, reader);
  }

  return {
    /** Makes `decode` know who wrote a value. Undefined when it does already. @throws HighwaterError SCHEMA_UNKNOWN, VALUE_FOREIGN, REGISTRY_* */
    prepare(record: LogRecord): Promise<void> | undefined {
      if (record.value === null) return undefined;
      const id = writerIdOf(record);
      if (byWriter.has(id)) return undefined;
      // A schema that could not be fetched is asked for again.
      const adding = preparing.get(id) ?? addWriter(id).finally(() => preparing.delete(id));
      preparing.set(id, adding);
      return adding;
    },
    /** Decodes a record that `prepare` has been called for. @throws HighwaterError VALUE_FOREIGN when its bytes do not fit its schema */
    decode(record: LogRecord): Pick<DecodedRecord, 'type' | 'value'> {
      const { value } = record;
      if (value === null) return { type: null, value: null };
      const { type, wire } = byWriter.get(value.readUInt32BE(1))!;
      try {
        return { type, value: wire.decode(value) };
      } catch (error) {
        const isForeign = error instanceof HighwaterError && error.code === 'VALUE_FOREIGN';
        throw isForeign ? foreignAt(record, error.message, error, replacedRegistry) : error;
      }
    },
  };
}

/**
 * Decodes values by the schemas that they were written with.
 * @throws HighwaterError SCHEMA_UNKNOWN, REGISTRY_*; VALUE_FOREIGN for a value that is not in the wire format, or does not fit its schema
 */
export function recordDecoder(registry: SchemaLookup): (record: LogRecord) => Promise<DecodedRecord> {
  const decoder = valueDecoder(registry);
  return async (record) => {
    await decoder.prepare(record);
    return { ...record, ...decoder.decode(record) };
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
