import type { AvroSchema } from './registry/registry';
import type { FieldSchema, RecordSchema } from './schemas';
import { recordWithin } from './value-shape';

/** The name of a field in the vendor's JSON. */
export function vendorNameOf(field: FieldSchema): string {
  return field.vendorName ?? field.name;
}

/** The field that holds a member of the vendor's; undefined when none does. */
export function fieldNamed(schema: RecordSchema, vendorName: string): FieldSchema | undefined {
  return schema.fields.find((field) => vendorNameOf(field) === vendorName);
}

/** The record that a field holds, alone or beside null; null when it holds something else. */
export function nestedRecord({ type }: Pick<FieldSchema, 'type'>): RecordSchema | null {
  const branches = (Array.isArray(type) ? type : [type]) as readonly AvroSchema[];
  const record = branches.find(
    (branch) => typeof branch === 'object' && 'type' in branch && branch.type === 'record',
  );
  return (record as RecordSchema | undefined) ?? null;
}

/** Whether a schema has every field of another, under the same names, also in the records within, lists and maps of them included. */
export function covers(wider: RecordSchema, narrower: RecordSchema): boolean {
  return narrower.fields.every((field) => {
    const same = wider.fields.find(({ name }) => name === field.name);
    if (same === undefined || vendorNameOf(same) !== vendorNameOf(field)) return false;
    const within = recordWithin(field.type);
    const other = recordWithin(same.type);
    return within === null || (other !== null && covers(other, within));
  });
}

/** A schema with the fields of another beside its own, also in the records within; itself when that adds none. */
export function merged(schema: RecordSchema, other: RecordSchema): RecordSchema {
  const names = new Set(schema.fields.flatMap((field) => [field.name, vendorNameOf(field)]));
  const added = other.fields.filter((field) => !names.has(field.name) && !names.has(vendorNameOf(field)));
  let isWider = added.length > 0;
  const fields = schema.fields.map((field) => {
    const within = nestedRecord(field);
    const namesake = other.fields.find(({ name }) => name === field.name);
    const otherWithin = namesake === undefined ? null : nestedRecord(namesake);
    if (within === null || otherWithin === null) return field;
    const wider = merged(within, otherWithin);
    if (wider === within) return field;
    isWider = true;
    const type = Array.isArray(field.type) ? field.type.map((one) => (one === within ? wider : one)) : wider;
    return { ...field, type };
  });
  return isWider ? { ...schema, fields: [...fields, ...added] } : schema;
}
