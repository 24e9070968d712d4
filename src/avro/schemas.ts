import path from 'node:path';
import { readText } from '../bytes/read-text';
import type { FeedDefinition } from '../feeds/definition';
import type { AvroSchema } from './registry/registry';

/** An Avro record schema as parsed JSON, with the custom attributes that highwater's schemas use. */
export interface RecordSchema {
  readonly type: 'record';
  readonly name: string;
  readonly namespace?: string;
  readonly fields: readonly FieldSchema[];
  readonly [attribute: string]: unknown;
}

export interface FieldSchema {
  readonly name: string;
  readonly type: AvroSchema;
  /** The vendor's name, if Avro does not allow it: `1m_average_return` for `_1m_average_return`. */
  readonly vendorName?: string;
  /** Text that holds a decimal number: kept character by character, compared as a number. */
  readonly decimalText?: boolean;
  readonly [attribute: string]: unknown;
}

/** The schemas of everything that one feed publishes. */
export interface FeedSchemas {
  readonly record: RecordSchema;
  readonly envelope: RecordSchema;
  /** By type name. */
  readonly transitions: ReadonlyMap<string, RecordSchema>;
}

/** The schemas that come with highwater. */
export const schemaFolder = path.join(__dirname, '..', '..', 'schemas');

/** Reads one schema: a file name below `schemas/`, or an absolute path for a feed that is declared outside. */
export function readSchema(file: string): RecordSchema {
  const read = readText(path.resolve(schemaFolder, file));
  if ('failure' in read) throw new Error(`the schema ${file} cannot be read (${read.failure})`);
  return JSON.parse(read.text) as RecordSchema;
}

export function feedSchemas(feed: FeedDefinition, record = readSchema(feed.schema)): FeedSchemas {
  return {
    record,
    envelope: envelopeOf(feed, record),
    transitions: new Map(feed.transitions.map((t) => [t.type, readSchema(t.schema)])),
  };
}

/** `marketdata.ipos.Ipo`; only the name if there is no namespace. */
export function fullName({ name, namespace }: Pick<RecordSchema, 'name' | 'namespace'>): string {
  return namespace === undefined || name.includes('.') ? name : `${namespace}.${name}`;
}

/** Avro full name, or the type of a schema without a name. */
export function typeName(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema;
  const named = schema as Partial<RecordSchema>;
  return named.name === undefined ? String(named.type) : fullName(named as RecordSchema);
}

/** The namespace of a feed's change events, and what their `ce_type` begins with. */
export function eventNamespace({ name, namespace }: Pick<FeedDefinition, 'name' | 'namespace'>): string {
  return namespace ?? `marketdata.${name}`;
}

/** The envelope template with the feed's namespace, and its record in place of `Record`. */
export function envelopeOf(
  feed: Pick<FeedDefinition, 'name' | 'namespace'>,
  record: RecordSchema,
): RecordSchema {
  const template = readSchema('envelope.avsc');
  // Avro defines a named type once, where it is first used, and refers to it by name afterwards.
  const uses: readonly AvroSchema[] = [record, fullName(record)];
  let used = 0;
  const fields = template.fields.map((field) => {
    if (!Array.isArray(field.type) || field.type[1] !== 'Record') return field;
    return { ...field, type: ['null', uses[used++]] as AvroSchema };
  });
  return { ...template, namespace: eventNamespace(feed), fields };
}
