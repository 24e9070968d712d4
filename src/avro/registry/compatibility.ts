import { isDeepStrictEqual } from 'node:util';
import { type Schema, Type, types } from 'avsc';
import { HighwaterError } from '../../errors';
import type {
  AvroSchema,
  Incompatibility,
  RegisteredVersion,
  SchemaStanding,
  SchemaVersion,
} from './registry';

/** Compares a schema with all versions of a subject, in ascending order. */
export function schemaStanding(schema: AvroSchema, versions: readonly RegisteredVersion[]): SchemaStanding {
  const latest = versions.at(-1);
  if (latest === undefined) {
    const reason = incompatibility(schema, []);
    return reason === null ? { state: 'new' } : { state: 'incompatible', reason };
  }
  const same = versions.find((one) => isSameSchema(one.schema, schema));
  if (same !== undefined) return { state: 'registered', id: same.id, version: same.version };
  const reason = incompatibility(schema, versions);
  return reason === null
    ? { state: 'compatible', latest: latest.version }
    : { state: 'incompatible', reason };
}

/** The order of attributes has no meaning in JSON. */
export function isSameSchema(a: AvroSchema, b: AvroSchema): boolean {
  return isDeepStrictEqual(a, b);
}

/**
 * Why a schema cannot be the next version; null if it can. FULL_TRANSITIVE: every earlier version can be read with the new
 * schema, and what the new one writes can be read with every earlier version.
 */
export function incompatibility(
  schema: AvroSchema,
  earlier: readonly SchemaVersion[],
): Incompatibility | null {
  const next = parse(schema);
  if (typeof next === 'string') {
    return { version: null, field: '', problem: `it is not an Avro schema: ${next}` };
  }
  for (const { version, schema: earlierSchema } of earlier) {
    const previous = parse(earlierSchema);
    if (typeof previous === 'string') {
      return { version, field: '', problem: `version ${version} is not an Avro schema: ${previous}` };
    }
    const forward = misread(previous, next);
    if (forward !== null)
      return broken(version, `readers of version ${version} cannot read what it writes`, forward);
    const backward = misread(next, previous);
    if (backward !== null) return broken(version, `it cannot read what version ${version} wrote`, backward);
  }
  return null;
}

function broken(version: number, what: string, { field, reason }: Misread): Incompatibility {
  const place = field === '' ? 'the whole schema' : `field ${field}`;
  return { version, field, problem: `${what}: ${place}: ${reason}` };
}

export function incompatible(subject: string, { field, problem }: Incompatibility): HighwaterError {
  const details =
    field === ''
      ? {
          remedy:
            'Correct the schema. If its name or namespace was changed (also by `namespace` of the feed), change it back.',
        }
      : {};
  return new HighwaterError('SCHEMA_INCOMPATIBLE', `new schema for ${subject}: ${problem}`, details);
}

/** The type, or what is wrong with the schema. */
function parse(schema: AvroSchema): Type | string {
  try {
    // A registry of names of its own: by default avsc would let one schema refer to another's types.
    return Type.forSchema(schema as Schema, { registry: {} });
  } catch (error) {
    return (error as Error).message;
  }
}

interface Misread {
  /** Dotted path, empty at the top. */
  readonly field: string;
  readonly reason: string;
}

interface SchemaPath {
  readonly field: string;
  /** The records around it, so that a recursive type is walked once. */
  readonly within: readonly Type[];
}

/** Why `reader` cannot resolve `writer`, at the innermost field; null if it can. */
function misread(reader: Type, writer: Type, at: SchemaPath = { field: '', within: [] }): Misread | null {
  const reason = refusal(reader, writer);
  return reason === null ? null : (innerMisread(reader, writer, at) ?? { field: at.field, reason });
}

/** Descends as long as both schemas have the same structure. avsc names the types that clash, but not their field. */
function innerMisread(reader: Type, writer: Type, at: SchemaPath): Misread | null {
  if (reader instanceof types.RecordType && writer instanceof types.RecordType) {
    return reader.name === writer.name && !at.within.includes(reader)
      ? fieldMisread(reader, writer, at)
      : null;
  }
  if (reader instanceof types.EnumType && writer instanceof types.EnumType && reader.name === writer.name) {
    const unknown = writer.symbols.filter((symbol) => !reader.symbols.includes(symbol));
    return { field: at.field, reason: `its enum lacks ${unknown.join(', ')}` };
  }
  if (reader instanceof types.ArrayType && writer instanceof types.ArrayType) {
    return misread(reader.itemsType, writer.itemsType, { ...at, field: `${at.field}[]` });
  }
  if (reader instanceof types.MapType && writer instanceof types.MapType) {
    return misread(reader.valuesType, writer.valuesType, { ...at, field: `${at.field}{}` });
  }
  if (!isUnion(reader) && !isUnion(writer)) return null;
  const unread = branches(writer).find((branch) => refusal(reader, branch) !== null);
  const namesake =
    unread &&
    branches(reader).find(({ typeName, name }) => typeName === unread.typeName && name === unread.name);
  return unread && namesake ? misread(namesake, unread, at) : null;
}

function fieldMisread(reader: types.RecordType, writer: types.RecordType, at: SchemaPath): Misread | null {
  for (const wanted of reader.fields) {
    const field = at.field === '' ? wanted.name : `${at.field}.${wanted.name}`;
    const written = writer.fields.find(({ name }) => name === wanted.name || wanted.aliases.includes(name));
    if (written === undefined) {
      if (wanted.defaultValue() === undefined)
        return { field, reason: 'it is not written and has no default' };
      continue;
    }
    const found = misread(wanted.type, written.type, { field, within: [...at.within, reader] });
    if (found !== null) return found;
  }
  return null;
}

/** The error of avsc; null if it can resolve. */
function refusal(reader: Type, writer: Type): string | null {
  try {
    reader.createResolver(writer);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function isUnion(type: Type): type is types.UnwrappedUnionType | types.WrappedUnionType {
  return type instanceof types.UnwrappedUnionType || type instanceof types.WrappedUnionType;
}

/** The types of a union, or the type itself. */
export function branches(type: Type): readonly Type[] {
  return isUnion(type) ? type.types : [type];
}
