import { decodingOf, writerIdOf } from '../avro/codec/record-decoder';
import { type WireType, wireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { feedSchemas, fullName, type RecordSchema, readSchema, typeName } from '../avro/schemas';
import type { FeedDefinition } from '../feeds/definition';
import type { LogRecord } from '../log/commit-log';

/** A value with the name of its Avro type. Both null for a tombstone. */
export interface Decoded {
  readonly type: string | null;
  readonly value: unknown;
}

/**
 * Converts values of any version to the schemas of this version of the package, so they have the types that a program sees. Values
 * of unknown types stay as they were written. Schemas are looked up, and what resolves one to the other is made, once per writer's
 * schema.
 */
export interface Decoder {
  /** Makes `decode` know who wrote a value. Undefined when it does already. @throws HighwaterError SCHEMA_UNKNOWN, VALUE_FOREIGN, REGISTRY_* */
  prepare(record: LogRecord): Promise<void> | undefined;
  /** Decodes a record that `prepare` has been called for. @throws HighwaterError VALUE_FOREIGN when its bytes do not fit its schema */
  decode(record: LogRecord): Decoded;
}

interface Reader {
  readonly type: string;
  readonly wire: WireType<unknown>;
}

/** Not an id that any registry gives. */
const OWN = -1;

export function createDecoder(registry: SchemaRegistry, feeds: readonly FeedDefinition[]): Decoder {
  const known = new Map(knownSchemas(feeds).map((schema) => [fullName(schema), schema]));
  /** By type name: one reader for all who write it. */
  const readers = new Map<string, Reader>();
  /** By the writer's schema id. */
  const byWriter = new Map<number, Reader>();
  const preparing = new Map<number, Promise<void>>();

  async function addWriter(id: number): Promise<void> {
    const schema = await registry.schemaById(id);
    const type = typeName(schema);
    const own = known.get(type);
    if (own === undefined) {
      byWriter.set(id, { type, wire: wireType(schema, id) });
      return;
    }
    let reader = readers.get(type);
    if (reader === undefined) {
      reader = { type, wire: wireType(own, OWN) };
      readers.set(type, reader);
    }
    reader.wire.addWriter(id, schema);
    byWriter.set(id, reader);
  }

  return {
    prepare(record) {
      if (record.value === null) return undefined;
      const id = writerIdOf(record);
      if (byWriter.has(id)) return undefined;
      let adding = preparing.get(id);
      if (adding === undefined) {
        // A schema that could not be fetched is asked for again.
        adding = addWriter(id).finally(() => preparing.delete(id));
        preparing.set(id, adding);
      }
      return adding;
    },
    decode(record) {
      const { value } = record;
      if (value === null) return { type: null, value: null };
      const { type, wire } = byWriter.get(value.readUInt32BE(1))!;
      return { type, value: decodingOf(record, () => wire.decode(value)) };
    },
  };
}

function knownSchemas(feeds: readonly FeedDefinition[]): RecordSchema[] {
  const own = feeds.flatMap((feed) => {
    const { record, envelope, transitions } = feedSchemas(feed);
    return [record, envelope, ...transitions.values()];
  });
  return [...own, readSchema('source-offset.avsc'), readSchema('dead-letter.avsc')];
}
