import type { FieldShape, RecordShape, Shape } from '../../avro/record-shape';
import { ExactNumber } from '../../json/exact-number';
import { parseJson } from '../../json/parse-json';
import { memberNamed, memberNames } from './member-path';

type Values = Readonly<Record<string, unknown>>;
type Row = Record<string, unknown>;

/**
 * The reverse of decoding: from a record to the row that it was decoded from, as far as the record tells. Unknown values are left
 * out, and the values in `extra` are put back in their places. Decoding that row by the same schema gives the record again; by
 * another schema, the record that this schema would have made of the row.
 */
export function createRowOf(shape: RecordShape): (record: Values) => Row {
  const fields = shape.fields.filter(({ name }) => name !== 'extra');
  return (record) => {
    const row = rowOf(fields, record);
    for (const [path, text] of Object.entries(record.extra as Readonly<Record<string, string>>))
      putBack(fields, row, path, parseJson(text));
    return row;
  };
}

function rowOf(fields: readonly FieldShape[], record: Values): Row {
  // Without a prototype, because a member may be called __proto__.
  const row: Row = Object.create(null);
  for (const { name, vendorName, value: shape } of fields) {
    const value = record[name];
    if (value !== null && value !== undefined) row[vendorName] = rowValue(shape, value);
  }
  return row;
}

function rowValue(shape: Shape, value: unknown): unknown {
  if (value === null) return null;
  if (typeof value === 'bigint') return new ExactNumber(String(value));
  if (shape.kind === 'record') return rowOf(shape.fields, value as Values);
  if (shape.kind === 'array') return (value as unknown[]).map((item) => rowValue(shape.items, item));
  if (shape.kind !== 'map') return value;
  const map: Row = Object.create(null);
  for (const [key, item] of Object.entries(value as Values)) map[key] = rowValue(shape.items, item);
  return map;
}

/** @param path the part of the whole path that lies within this object */
function putBack(fields: readonly FieldShape[], row: Row, path: string, value: unknown): void {
  const nameInPath = memberNames(fields);
  const isPut = fields.some(({ vendorName, value: shape }) => {
    const name = nameInPath(vendorName);
    return path.startsWith(name) && putWithin(shape, row[vendorName], path.slice(name.length), value);
  });
  if (!isPut) row[memberNamed(path)] = value;
}

/** @returns whether the path leads there */
function putWithin(shape: Shape, made: unknown, path: string, value: unknown): boolean {
  if (shape.kind === 'record') {
    if (!path.startsWith('.') || !isMade(made)) return false;
    putBack(shape.fields, made, path.slice(1), value);
    return true;
  }
  if (shape.kind !== 'array' && shape.kind !== 'map') return false;
  const [step, place] = PLACE.exec(path) ?? [];
  if (place === undefined || !(shape.kind === 'array' ? Array.isArray(made) : isMade(made))) return false;
  const item = (made as Row)[JSON.parse(place)];
  return putWithin(shape.items, item, path.slice(step!.length), value);
}

/** `[0]` or `["key"]`, as `decode.ts` names the items of lists and maps. */
const PLACE = /^\[(\d+|"(?:[^"\\]|\\.)*")\]/;

/** By `rowOf`, not by JSON. */
function isMade(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}
