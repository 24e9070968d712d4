/** An Avro schema, as far as the program's own ones go. */
export type AvroSchema = string | AvroSchema[] | AvroType;

interface AvroType {
  readonly type: string | AvroType;
  readonly name?: string;
  readonly fields?: readonly { readonly name: string; readonly type: AvroSchema }[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
}

type Json = Record<string, unknown>;

/**
 * A value as `toString` of Connect's data types writes it, which is what its file sink does. A map may come in any order.
 * @param extra members that are added to the record, as text
 * @returns all texts that are right
 */
export function connectTexts(record: Json, schema: AvroType, extra: Readonly<Json> = {}): string[] {
  const parts = schema.fields!.flatMap(({ name, type }) => {
    const value = record[name];
    return value === null || value === undefined ? [] : [texts(value, type).map((text) => `${name}=${text}`)];
  });
  const added = Object.entries(extra).map(([name, value]) => [`${name}=${String(value)}`]);
  return product([...parts, ...added]).map((members) => `Struct{${members.join(',')}}`);
}

/** The one type beside null. */
function branch(schema: AvroSchema): string | AvroType {
  if (Array.isArray(schema)) return branch(schema.find((one) => one !== 'null')!);
  return schema;
}

function texts(value: unknown, schema: AvroSchema): string[] {
  const type = branch(schema);
  if (typeof type === 'string') return [type === 'double' ? javaDouble(value as number) : String(value)];
  switch (type.type) {
    case 'record':
      return connectTexts(value as Json, type);
    case 'array': {
      const items = (value as unknown[]).map((item) => texts(item, type.items!));
      return product(items).map((list) => `[${list.join(', ')}]`);
    }
    case 'map': {
      const entries = Object.entries(value as Json).map(([key, one]) => `${key}=${String(one)}`);
      return orders(entries).map((list) => `{${list.join(', ')}}`);
    }
    default:
      // A primitive type with attributes beside it.
      return texts(value, type.type as AvroSchema);
  }
}

/** As `Double.toString`. */
export function javaDouble(value: number): string {
  const size = Math.abs(value);
  const withPoint = (text: string) => (text.includes('.') ? text : `${text}.0`);
  if (size === 0 || (size >= 1e-3 && size < 1e7))
    return withPoint(Object.is(value, -0) ? '-0' : String(value));
  const [digits, exponent] = value.toExponential().split('e') as [string, string];
  return `${withPoint(digits)}E${Number(exponent)}`;
}

function product(choices: readonly (readonly string[])[]): string[][] {
  return choices.reduce<string[][]>(
    (lists, one) => lists.flatMap((list) => one.map((text) => [...list, text])),
    [[]],
  );
}

function orders(entries: readonly string[]): string[][] {
  if (entries.length < 2) return [[...entries]];
  return entries.flatMap((first, i) =>
    orders(entries.filter((_, other) => other !== i)).map((rest) => [first, ...rest]),
  );
}
