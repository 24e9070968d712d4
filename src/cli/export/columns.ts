import type { AvroSchema } from '../../avro/registry/registry';
import { type FieldSchema, fullName, type RecordSchema } from '../../avro/schemas';
import { recordJson } from '../../json/json-text';

/** A column of an export. A `struct` has a child for each of its fields, a `list` one child. `json` is any value, as JSON text. */
export interface Column {
  readonly name: string;
  readonly kind: keyof typeof scalars | 'json' | 'struct' | 'list';
  readonly children: readonly Column[];
}

/** Avro's plain and logical types, and numbers that the vendor writes as text. */
const scalars = {
  string: 'string',
  boolean: 'boolean',
  int: 'int',
  long: 'long',
  float: 'float',
  double: 'double',
  date: 'date',
  'timestamp-millis': 'timestamp-millis',
  'timestamp-micros': 'timestamp-micros',
  decimal: 'decimal',
} as const;

const isScalar = (name: unknown): name is keyof typeof scalars => Object.hasOwn(scalars, String(name));

export const plainColumn = (name: string, kind: Column['kind']): Column => ({ name, kind, children: [] });

/** @param named the records and enums so far by full name, because Avro defines each once */
export function columnsOf(schema: RecordSchema, named = new Map<string, Column>()): Column[] {
  return schema.fields.map((field) => columnOf(field, schema.namespace, named));
}

/** The columns of several versions of a schema: those of the first one, then what each other one adds, also within structs. */
export function mergedColumns(versions: readonly (readonly Column[])[]): readonly Column[] {
  const found = new Map<string, Column>();
  for (const column of versions.flat()) {
    const first = found.get(column.name) ?? column;
    const added = first.kind === column.kind ? column.children : [];
    found.set(column.name, { ...first, children: mergedColumns([first.children, added]) });
  }
  return [...found.values()];
}

/** Whether the values of some columns can be written into others. */
export function haveRoom(columns: readonly Column[], values: readonly Column[]): boolean {
  return values.every((value) => {
    const own = columns.find(({ name }) => name === value.name);
    return own && plainKind(own) === plainKind(value) && haveRoom(own.children, value.children);
  });
}

/** A version may say more of a text or a number than another. */
function plainKind({ kind }: Column): Column['kind'] {
  if (kind === 'decimal') return 'string';
  if (kind === 'date') return 'int';
  return kind.startsWith('timestamp') ? 'long' : kind;
}

type Complex = RecordSchema & { readonly items: AvroSchema; readonly logicalType?: unknown };

/** @param namespace of the record that has the field */
function columnOf(field: FieldSchema, namespace: string | undefined, named: Map<string, Column>): Column {
  const { name, type } = field;
  const within = (inner: AvroSchema, as = name) =>
    columnOf({ ...field, name: as, type: inner }, namespace, named);
  const inNamespace = (one: object): string => fullName({ namespace, ...one } as RecordSchema);
  if (Array.isArray(type)) {
    const [one, ...more] = (type as readonly AvroSchema[]).filter((branch) => branch !== 'null');
    return one === undefined || more.length > 0 ? plainColumn(name, 'json') : within(one);
  }
  if (typeof type === 'string') {
    const known = named.get(inNamespace({ name: type }));
    if (known !== undefined) return { ...known, name };
    const kind = field.decimalText === true && type === 'string' ? 'decimal' : type;
    return plainColumn(name, isScalar(kind) ? kind : 'json');
  }
  const complex = type as unknown as Complex;
  const kept = (column: Column): Column => {
    named.set(inNamespace(complex), column);
    return column;
  };
  switch (complex.type as string) {
    case 'record': {
      const children = columnsOf({ namespace, ...complex } as RecordSchema, named);
      return kept(children.length === 0 ? plainColumn(name, 'json') : { name, kind: 'struct', children });
    }
    case 'enum':
      return kept(plainColumn(name, 'string'));
    case 'array':
      return { name, kind: 'list', children: [within(complex.items, 'element')] };
    case 'map':
      return plainColumn(name, 'json');
    default:
      return isScalar(complex.logicalType) && complex.logicalType !== 'decimal'
        ? plainColumn(name, complex.logicalType)
        : within(complex.type as AvroSchema);
  }
}

type Members = Readonly<Record<string, unknown>>;

/**
 * A value with its scalars converted. Structs and lists stay; all else is null or what `scalar` returns.
 * @param scalar is not called for null
 */
export function converted(
  column: Column,
  value: unknown,
  scalar: (column: Column, value: unknown) => unknown,
): unknown {
  if (value === null || value === undefined) return null;
  const { kind, children } = column;
  if (kind === 'list') return (value as unknown[]).map((one) => converted(children[0]!, one, scalar));
  if (kind !== 'struct') return scalar(column, value);
  const members = children.map((child) => [
    child.name,
    converted(child, (value as Members)[child.name], scalar),
  ]);
  return Object.fromEntries(members);
}

/** Times as ISO 8601 text in UTC; all other values as they are. */
export function readable({ kind }: Column, value: unknown): unknown {
  if (kind === 'date') return isoTime(Number(value) * 86_400_000).slice(0, -14);
  if (kind === 'timestamp-millis') return isoTime(Number(value));
  if (kind !== 'timestamp-micros') return value;
  const micros = BigInt(value as number);
  const rest = BigInt.asUintN(64, ((micros % 1_000n) + 1_000n) % 1_000n);
  return isoTime(Number((micros - rest) / 1_000n)).replace('Z', `${String(rest).padStart(3, '0')}Z`);
}

/** A time that JavaScript cannot write stays a number. */
function isoTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

/** Names of a column's cells in a row of CSV: dotted for the fields of structs. */
export function cellNames({ name, kind, children }: Column): string[] {
  return kind === 'struct' ? children.flatMap(cellNames).map((child) => `${name}.${child}`) : [name];
}

/** The cells of a readable value, as CSV writes them: nothing for null, JSON for lists and maps. */
export function cells({ kind, children }: Column, value: unknown): string[] {
  if (kind === 'struct')
    return children.flatMap((child) => cells(child, (value as Members | null)?.[child.name] ?? null));
  if (value === null) return [''];
  const text = typeof value === 'object' ? recordJson(value) : String(value);
  return [text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text];
}
