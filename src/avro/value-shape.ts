import type { AvroSchema } from './registry/registry';
import type { FieldSchema, RecordSchema } from './schemas';

/** What a field, an item of a list or a value of a map holds beside null, as far as records of feeds may hold it. */
export type Shape =
  | { readonly kind: 'plain'; readonly type: PlainType }
  | { readonly kind: 'enum'; readonly symbols: readonly string[] }
  | { readonly kind: 'record'; readonly fields: readonly FieldSchema[] }
  | { readonly kind: 'array'; readonly items: AvroSchema }
  | { readonly kind: 'map'; readonly values: AvroSchema }
  /** Nothing of a row can be decoded to it. */
  | { readonly kind: 'none'; readonly what: string };

export type PlainType = 'string' | 'long' | 'int' | 'double' | 'float' | 'boolean';

const PLAIN: ReadonlySet<unknown> = new Set<PlainType>([
  'string',
  'long',
  'int',
  'double',
  'float',
  'boolean',
]);

export function shapeOf(type: AvroSchema | undefined): Shape {
  if (Array.isArray(type)) {
    const branches = (type as readonly AvroSchema[]).filter((branch) => branch !== 'null');
    if (branches.length === 1) return shapeOf(branches[0]);
    return { kind: 'none', what: `a union of ${branches.map(nameOf).join(' and ') || 'null alone'}` };
  }
  if (typeof type !== 'object' || type === null) {
    if (PLAIN.has(type)) return { kind: 'plain', type: type as PlainType };
    return { kind: 'none', what: nameOf(type) };
  }
  const { type: name, fields, symbols, items, values } = type as unknown as Partial<ComplexSchema>;
  switch (name) {
    case 'record':
      return { kind: 'record', fields: fields! };
    case 'enum':
      return { kind: 'enum', symbols: symbols! };
    case 'array':
      return { kind: 'array', items: items! };
    case 'map':
      return { kind: 'map', values: values! };
    default:
      // A type with attributes, such as a logical type: readers see the type beneath it.
      return shapeOf(name);
  }
}

interface ComplexSchema {
  readonly type: AvroSchema;
  readonly fields: readonly FieldSchema[];
  readonly symbols: readonly string[];
  readonly items: AvroSchema;
  readonly values: AvroSchema;
}

export function takesNull(type: AvroSchema): boolean {
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}

/** The record that a type holds: itself, beside null, or as the items of lists and the values of maps; null when there is none. */
export function recordWithin(type: AvroSchema): RecordSchema | null {
  const shape = shapeOf(type);
  if (shape.kind === 'array') return recordWithin(shape.items);
  if (shape.kind === 'map') return recordWithin(shape.values);
  if (shape.kind !== 'record') return null;
  const branches = (Array.isArray(type) ? type : [type]) as readonly AvroSchema[];
  return branches.find((branch) => shapeOf(branch).kind === 'record') as unknown as RecordSchema;
}

/** For people. */
function nameOf(type: unknown): string {
  if (typeof type === 'string') return type;
  const { type: of, name } = (type ?? {}) as { readonly type?: unknown; readonly name?: unknown };
  return typeof name === 'string' ? `${nameOf(of)} ${name}` : nameOf(of ?? 'nothing');
}
