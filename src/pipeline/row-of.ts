import { recordIn, vendorNameOf } from '../avro/record-shape';
import type { RecordSchema } from '../avro/schemas';

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
      putBack(members, row, path, path, JSON.parse(text));
    return row;
  };
}

interface Member {
  readonly name: string;
  readonly vendorName: string;
  readonly nested: readonly Member[] | null;
}

function membersOf(fields: RecordSchema['fields']): readonly Member[] {
  return fields.map((field) => {
    const within = recordIn(field);
    return {
      name: field.name,
      vendorName: vendorNameOf(field),
      nested: within === null ? null : membersOf(within.fields),
    };
  });
}

function rowOf(members: readonly Member[], record: Values): Row {
  // Without a prototype: a member may be called __proto__.
  const row: Row = Object.create(null);
  for (const { name, vendorName, nested } of members) {
    const value = record[name];
    if (value === null || value === undefined) continue;
    row[vendorName] = nested === null ? value : rowOf(nested, value as Values);
  }
  return row;
}

/** @param path what is left of the whole one within this object */
function putBack(members: readonly Member[], row: Row, path: string, whole: string, value: unknown): void {
  // The time stamp as it came: that in its field lacks what is said here.
  if (path === whole && path === 'updated') {
    row.updated = value;
    return;
  }
  const within = members.find(
    ({ vendorName, nested }) =>
      nested !== null && path.startsWith(`${vendorName}.`) && isMade(row[vendorName]),
  );
  if (within === undefined) {
    row[path] = value;
    return;
  }
  const rest = path.slice(within.vendorName.length + 1);
  putBack(within.nested!, row[within.vendorName] as Row, rest, whole, value);
}

/** By `rowOf`, not by JSON. */
function isMade(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}
