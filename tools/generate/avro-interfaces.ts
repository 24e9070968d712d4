import type { AvroSchema } from '../../src/avro/registry';
import { type FieldSchema, fullName, type RecordSchema } from '../../src/avro/schemas';
import { closedTexts } from './closed-texts';
import { comment } from './comments';

// Ours, since neither library fits: @ovotech/avro-ts (needs TypeScript 4 at run time) writes every schema out as text beside
// its types, and avro-typescript writes `field?: null | undefined | string` for what is always there. Both drop `doc`.

const primitives: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: 'boolean',
  int: 'number',
  long: 'number',
  float: 'number',
  double: 'number',
  bytes: 'Buffer',
  string: 'string',
};

/** TypeScript of Avro records: an interface each, nested ones before those that hold them, each name once. */
export interface Interfaces {
  /** @throws Error when another record of the same short name looks different, or a schema is of a kind that no schema of ours is */
  add(schema: RecordSchema): void;
  /** The field with its doc, as a member of an interface. */
  member(field: FieldSchema, of: RecordSchema): string;
  readonly text: string;
}

export function createInterfaces(): Interfaces {
  const texts = new Map<string, string>();

  function add(schema: RecordSchema): void {
    const { name } = schema;
    const members = schema.fields.map((field) => member(field, schema)).join('');
    const doc = typeof schema.doc === 'string' ? comment(schema.doc) : '';
    const text = `${doc}export interface ${name} {\n${members}}\n`;
    const known = texts.get(name);
    if (known !== undefined && known !== text)
      throw new Error(`two records are named ${name}, and differ: ${fullName(schema)} is one of them`);
    texts.set(name, text);
  }

  function member(field: FieldSchema, of: RecordSchema): string {
    const closed = closedTexts[of.name]?.[field.name];
    const type = typeOf(field.type, closed);
    const doc = typeof field.doc === 'string' ? comment(field.doc, '  ') : '';
    return `${doc}  readonly ${field.name}: ${type};\n`;
  }

  function typeOf(schema: AvroSchema, closed?: readonly string[]): string {
    if (typeof schema === 'string') {
      if (schema === 'string' && closed) return closed.map((text) => `'${text}'`).join(' | ');
      return primitives[schema] ?? schema.split('.').at(-1)!;
    }
    if (isUnion(schema)) {
      const nullLast = [...schema.filter((branch) => branch !== 'null'), ...schema.filter(isNull)];
      return nullLast.map((branch) => typeOf(branch, closed)).join(' | ');
    }
    switch (schema.type) {
      case 'record':
        add(schema as unknown as RecordSchema);
        return schema.name as string;
      case 'array':
        return `readonly ${typeOf(schema.items as AvroSchema)}[]`;
      case 'map':
        return `Readonly<Record<string, ${typeOf(schema.values as AvroSchema)}>>`;
      default:
        if (typeof schema.type === 'string' && schema.type in primitives) return primitives[schema.type]!;
        throw new Error(`no type is known for ${JSON.stringify(schema)}`);
    }
  }

  return {
    add,
    member,
    get text() {
      return [...texts.values()].join('\n');
    },
  };
}

function isUnion(schema: AvroSchema): schema is readonly AvroSchema[] {
  return Array.isArray(schema);
}

function isNull(schema: AvroSchema): boolean {
  return schema === 'null';
}
