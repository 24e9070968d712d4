import { vendorNameOf } from '../../avro/record-shape';
import type { AvroSchema } from '../../avro/registry/registry';
import type { RecordSchema } from '../../avro/schemas';
import { shapeOf } from '../../avro/value-shape';

type Values = Readonly<Record<string, unknown>>;
type Row = Record<string, unknown>;

/**
 * Compiles the way back: from a record of a schema to the row that it was decoded from, as far as the record tells. What
 * was unknown is left out, and what went into `extra` stands where it came from. Decoding that row by the same schema
 * gives the record again; by another schema, what that one would have made of it.
 */
export function createRowOf(schema: RecordSchema): (record: Values) => Row {
  const members = membersOf(schema.fields.filter(({ name }) => name !== 'extra'));
  return (record) => {
    const row = rowOf(members, record);
    for (const [path, text] of Object.entries(record.extra as Readonly<Record<string, string>>))
      putBack(members, row, path, JSON.parse(text));
    return row;
  };
}

interface Member {
  readonly name: string;
  readonly vendorName: string;
  readonly within: Within | null;
}

/** What holds other values by names that are not the vendor's, or paths can lead into. */
type Within =
  | { readonly kind: 'record'; readonly members: readonly Member[] }
  | { readonly kind: 'array' | 'map'; readonly items: Within };

function membersOf(fields: RecordSchema['fields']): readonly Member[] {
  return fields.map((field) => ({
    name: field.name,
    vendorName: vendorNameOf(field),
    within: withinOf(field.type),
  }));
}

/** Null where no record is within. */
function withinOf(type: AvroSchema): Within | null {
  const shape = shapeOf(type);
  if (shape.kind === 'record') return { kind: 'record', members: membersOf(shape.fields) };
  if (shape.kind !== 'array' && shape.kind !== 'map') return null;
  const items = withinOf(shape.kind === 'array' ? shape.items : shape.values);
  return items === null ? null : { kind: shape.kind, items };
}

function rowOf(members: readonly Member[], record: Values): Row {
  // Without a prototype: a member may be called __proto__.
  const row: Row = Object.create(null);
  for (const { name, vendorName, within } of members) {
    const value = record[name];
    if (value === null || value === undefined) continue;
    row[vendorName] = within === null ? value : rowValue(within, value);
  }
  return row;
}

function rowValue(within: Within, value: unknown): unknown {
  if (value === null) return null;
  if (within.kind === 'record') return rowOf(within.members, value as Values);
  if (within.kind === 'array') return (value as unknown[]).map((item) => rowValue(within.items, item));
  const map: Row = Object.create(null);
  for (const [key, item] of Object.entries(value as Values)) map[key] = rowValue(within.items, item);
  return map;
}

/** @param path what is left of the whole one within this object */
function putBack(members: readonly Member[], row: Row, path: string, value: unknown): void {
  const isPut = members.some(
    ({ vendorName, within }) =>
      within !== null &&
      path.startsWith(vendorName) &&
      putWithin(within, row[vendorName], path.slice(vendorName.length), value),
  );
  if (!isPut) row[path] = value;
}

/** @returns whether the path leads there */
function putWithin(within: Within, made: unknown, path: string, value: unknown): boolean {
  if (within.kind === 'record') {
    if (!path.startsWith('.') || !isMade(made)) return false;
    putBack(within.members, made, path.slice(1), value);
    return true;
  }
  const [step, place] = PLACE.exec(path) ?? [];
  if (place === undefined) return false;
  const key: unknown = JSON.parse(place);
  if (within.kind === 'array')
    return (
      Array.isArray(made) && putWithin(within.items, made[key as number], path.slice(step!.length), value)
    );
  return isMade(made) && putWithin(within.items, made[key as string], path.slice(step!.length), value);
}

/** `[0]` or `["key"]`, as `decode.ts` names the items of lists and maps. */
const PLACE = /^\[(\d+|"(?:[^"\\]|\\.)*")\]/;

/** By `rowOf`, not by JSON. */
function isMade(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}
