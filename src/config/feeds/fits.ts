import { type Type, types } from 'avsc';
import { branches } from '../../avro/registry/compatibility';

/** Dotted Avro paths of a record's fields that cannot be null. */
export function neverNull(record: types.RecordType, prefix = ''): string[] {
  return record.fields.flatMap(({ name, type }) => {
    const own = takesNull(type) ? [] : [prefix + name];
    const held = heldRecord(type, prefix + name);
    return held === null ? own : [...own, ...neverNull(held.record, `${held.path}.`)];
  });
}

/** The record that a type holds, also as the items of lists and maps, and the path to it. */
function heldRecord(
  type: Type,
  path: string,
): { readonly record: types.RecordType; readonly path: string } | null {
  const held = branches(type).find(({ typeName }) => typeName !== 'null');
  if (held instanceof types.RecordType) return { record: held, path };
  if (held instanceof types.ArrayType) return heldRecord(held.itemsType, `${path}[]`);
  return held instanceof types.MapType ? heldRecord(held.valuesType, `${path}[]`) : null;
}

export function takesNull(type: Type): boolean {
  return branches(type).some(({ typeName }) => typeName === 'null');
}

/** The type at a dotted Avro path; undefined when there is none. */
export function typeAt(record: types.RecordType, path: string): Type | undefined {
  const [name, ...rest] = path.split('.');
  const type = record.fields.find((field) => field.name === name)?.type;
  if (type === undefined || rest.length === 0) return type;
  const within = branches(type).find((branch) => branch instanceof types.RecordType);
  return within && typeAt(within, rest.join('.'));
}

/** Whether every value of a type but null can be written as another. */
export function fits(type: Type, into: Type): boolean {
  const wider = branches(into);
  return branches(type)
    .filter(({ typeName }) => typeName !== 'null')
    .every((one) =>
      wider.some((other) => other.equals(one) || promotions[one.typeName]?.includes(other.typeName)),
    );
}

/** The values of a type besides null, for people. */
export function typeText(type: Type): string {
  const names = branches(type).map((branch) => branch.branchName ?? branch.typeName);
  return names.filter((name) => name !== 'null').join(' or ');
}

const promotions: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['double'],
  float: ['double'],
};
