import { isAbsolute, join } from 'node:path';
import { Type, types } from 'avsc';
import { type FieldShape, recordShape } from '../../avro/record-shape';
import { type RecordSchema, schemaFolder } from '../../avro/schemas';
import { readText } from '../../bytes/read-text';
import { shown } from '../mistake';

/** A declared record schema and its avsc type, or its mistake. */
export type DeclaredSchema =
  | { readonly schema: RecordSchema; readonly type: types.RecordType }
  | { readonly problem: string };

/** @param file as in a definition: a name below `schemas/`, or an absolute path */
export function declaredSchema(file: string): DeclaredSchema {
  const which = `the file ${shown(file)}`;
  const read = readText(isAbsolute(file) ? file : join(schemaFolder, file));
  if ('failure' in read) {
    const place = isAbsolute(file)
      ? ''
      : ', expected one beside the configuration file, or one that comes with highwater';
    return { problem: `${which} cannot be read (${read.failure})${place}` };
  }
  let schema: unknown;
  try {
    schema = JSON.parse(read.text);
  } catch {
    return { problem: `${which} is not JSON` };
  }
  const type = avroType(schema);
  if (typeof type === 'string') return { problem: `${which} is not a valid Avro schema: ${type}` };
  if (!(type instanceof types.RecordType) || type.name === undefined)
    return { problem: `${which} holds no Avro record with a name` };
  const record = schema as RecordSchema;
  // Assigning to it changes an object's prototype instead of making a member.
  if (recordPaths(record).avro.some((path) => path.split('.').includes('__proto__')))
    return { problem: `${which} has a field named __proto__, which cannot be a field in JavaScript` };
  return { schema: record, type };
}

/** The type, or why there is none. */
export function avroType(schema: unknown): Type | string {
  try {
    return Type.forSchema(schema as Parameters<typeof Type.forSchema>[0], { registry: {} });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Paths in a record: its fields and the fields of nested records. */
export type RecordPaths = ReturnType<typeof recordPaths>;

export function recordPaths(schema: RecordSchema) {
  /** Dotted Avro paths. */
  const avro: string[] = [];
  /** Dotted vendor path → Avro names of the fields of the same record. */
  const vendor = new Map<string, readonly string[]>();
  /** Dotted Avro path → dotted vendor path. */
  const vendorOf = new Map<string, string>();
  collect(recordShape(schema).fields, '', '');
  return { avro, vendor, vendorOf };

  function collect(fields: readonly FieldShape[], avroPrefix: string, vendorPrefix: string): void {
    const siblings = fields.map(({ name }) => name);
    for (const { name, vendorName, value } of fields) {
      const avroPath = avroPrefix + name;
      const vendorPath = vendorPrefix + vendorName;
      avro.push(avroPath);
      vendor.set(vendorPath, siblings);
      vendorOf.set(avroPath, vendorPath);
      if (value.kind === 'record') collect(value.fields, `${avroPath}.`, `${vendorPath}.`);
    }
  }
}
