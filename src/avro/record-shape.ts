import { isDeepStrictEqual } from 'node:util';
import type { AvroSchema } from './registry/registry';
import type { FieldSchema, RecordSchema } from './schemas';

/** A record schema, compiled for all code that decodes, compares or takes apart records of a feed. */
export interface RecordShape {
  readonly fields: readonly FieldShape[];
}

export interface FieldShape {
  readonly name: string;
  /** The name in the vendor's JSON. */
  readonly vendorName: string;
  readonly isDecimalText: boolean;
  readonly value: Shape;
}

/** The values that a field, a list or a map may hold, beside null, as far as records of feeds may hold them. */
export type Shape = Kind & {
  /** Index of null in the union; null if the schema does not take null. */
  readonly nullBranch: number | null;
};

type Kind =
  | { readonly kind: 'plain'; readonly type: PlainType }
  | { readonly kind: 'enum'; readonly symbols: readonly string[] }
  | { readonly kind: 'record'; readonly fields: readonly FieldShape[] }
  | { readonly kind: 'array' | 'map'; readonly items: Shape }
  /** No value of a row can be decoded to it. */
  | { readonly kind: 'none'; readonly what: string };

export type PlainType = 'string' | 'long' | 'int' | 'double' | 'float' | 'boolean';

const PLAIN: ReadonlySet<unknown> = new Set(['string', 'long', 'int', 'double', 'float', 'boolean']);

const shapes = new WeakMap<RecordSchema, RecordShape>();

export function recordShape(schema: RecordSchema): RecordShape {
  const shape = shapes.get(schema) ?? { fields: schema.fields.map(fieldShape) };
  shapes.set(schema, shape);
  return shape;
}

function fieldShape({ name, vendorName = name, decimalText, type }: FieldSchema): FieldShape {
  return { name, vendorName, isDecimalText: decimalText === true, value: shapeOf(type) };
}

export function shapeOf(type: AvroSchema): Shape {
  if (!Array.isArray(type)) return { ...kindOf(type), nullBranch: null };
  const branches = (type as readonly AvroSchema[]).filter((branch) => branch !== 'null');
  const kind: Kind =
    branches.length === 1
      ? kindOf(branches[0]!)
      : { kind: 'none', what: `a union of ${branches.map(nameOf).join(' and ') || 'null alone'}` };
  const nullBranch = type.indexOf('null');
  return { ...kind, nullBranch: nullBranch < 0 ? null : nullBranch };
}

function kindOf(type: AvroSchema): Kind {
  if (PLAIN.has(type)) return { kind: 'plain', type: type as PlainType };
  if (typeof type !== 'object') return { kind: 'none', what: nameOf(type) };
  const { type: name, fields, symbols, items, values } = type as unknown as ComplexSchema;
  switch (name) {
    case 'record':
      return { kind: 'record', fields: fields.map(fieldShape) };
    case 'enum':
      return { kind: 'enum', symbols };
    case 'array':
      return { kind: 'array', items: shapeOf(items) };
    case 'map':
      return { kind: 'map', items: shapeOf(values) };
    default:
      // A type with attributes, such as a logical type. Readers see the type beneath it.
      return name === undefined ? { kind: 'none', what: nameOf(type) } : kindOf(name);
  }
}

interface ComplexSchema {
  readonly type: AvroSchema | undefined;
  readonly fields: readonly FieldSchema[];
  readonly symbols: readonly string[];
  readonly items: AvroSchema;
  readonly values: AvroSchema;
}

/** For people. */
function nameOf(type: unknown): string {
  if (typeof type === 'string') return type;
  const { type: of, name } = (type ?? {}) as { readonly type?: unknown; readonly name?: unknown };
  return typeof name === 'string' ? `${nameOf(of)} ${name}` : nameOf(of ?? 'nothing');
}

/** The field that holds a member of the vendor's JSON. */
export function fieldNamed({ fields }: RecordShape, vendorName: string): FieldShape | undefined {
  return fields.find((field) => field.vendorName === vendorName);
}

/**
 * The fields through which a dotted path of the vendor's JSON leads, the last one with the value; null if there is none. A field for a
 * member whose name is the whole path goes first.
 */
export function fieldsAt(shape: RecordShape, path: string): readonly FieldShape[] | null {
  const own = fieldNamed(shape, path);
  if (own !== undefined) return [own];
  for (const field of shape.fields) {
    const { vendorName, value } = field;
    if (value.kind !== 'record' || !path.startsWith(`${vendorName}.`)) continue;
    const within = fieldsAt(value, path.slice(vendorName.length + 1));
    if (within !== null) return [field, ...within];
  }
  return null;
}

export function isListOfTexts(shape: Shape): boolean {
  if (shape.kind !== 'array') return false;
  const { items } = shape;
  return items.kind === 'plain' && items.type === 'string' && items.nullBranch === null;
}

/** The record that a value is, or that the items of its lists and maps are. */
export function recordWithin(shape: Shape): RecordShape | null {
  if (shape.kind === 'array' || shape.kind === 'map') return recordWithin(shape.items);
  return shape.kind === 'record' ? shape : null;
}

/** Whether a shape has every field of another under the same names, also in all records within. */
export function covers(wider: RecordShape, narrower: RecordShape): boolean {
  return narrower.fields.every(({ name, vendorName, value }) => {
    const same = wider.fields.find((field) => field.name === name);
    if (same?.vendorName !== vendorName) return false;
    const within = recordWithin(value);
    const other = recordWithin(same.value);
    return within === null || (other !== null && covers(other, within));
  });
}

/**
 * The schema that has every field of both, also in the records within: one of the two if that is enough, else the first one with the fields
 * that the other adds. Two fields for one member of the vendor's JSON stay one.
 */
export function merged(schema: RecordSchema, other: RecordSchema): RecordSchema {
  if (covers(recordShape(schema), recordShape(other))) return schema;
  if (covers(recordShape(other), recordShape(schema))) return other;
  const names = new Set(schema.fields.flatMap(namesOf));
  const added = other.fields.filter((field) => !namesOf(field).some((name) => names.has(name)));
  const fields = schema.fields.map((field) => {
    const namesake = other.fields.find(({ name }) => name === field.name);
    return namesake === undefined ? field : { ...field, type: mergedType(field.type, namesake.type) };
  });
  const both = { ...schema, fields: [...fields, ...added] };
  return isDeepStrictEqual(both, schema) ? schema : both;
}

const namesOf = ({ name, vendorName = name }: FieldSchema): string[] => [name, vendorName];

/** As `merged`, for the records that a type is or holds. */
function mergedType(type: AvroSchema, other: AvroSchema): AvroSchema {
  if (Array.isArray(type)) return type.map((branch) => mergedType(branch, other));
  const others = [other].flat() as readonly AvroSchema[];
  const same = others.find((one) => constructorOf(one) === constructorOf(type));
  const [own, more] = [type, same] as unknown as readonly [ComplexSchema, ComplexSchema];
  switch (same && constructorOf(type)) {
    case 'record':
      return merged(type as RecordSchema, same as RecordSchema);
    case 'array':
      return { ...own, items: mergedType(own.items, more.items) };
    case 'map':
      return { ...own, values: mergedType(own.values, more.values) };
    default:
      return type;
  }
}

/** `record`, `array`, `map`, …; undefined for a type that is only a name. */
function constructorOf(type: AvroSchema): unknown {
  return typeof type === 'object' && 'type' in type ? type.type : undefined;
}
