import { isDeepStrictEqual } from 'node:util';
import Big from 'big.js';
import type { AvroSchema } from '../avro/registry';
import type { FieldSchema, RecordSchema } from '../avro/schemas';
import type { VendorRecord } from '../types';
import { NUMERIC } from './coerce';

/** Dotted Avro names of the fields in which two records differ for a reader; `id` and `updated` are never among them. */
export type Comparison = (before: VendorRecord, after: VendorRecord) => string[];

/**
 * Compiles the comparison of two records of a schema. Equal are (I6): what is unknown, however it is written (null, empty
 * text, 0, an empty list); decimal text of the same number; JSON text of the same value in `extra`.
 */
export function createComparison(schema: RecordSchema): Comparison {
  const fields = fieldsOf(schema.fields.filter((field) => field.name !== 'id' && field.name !== 'updated'));
  return (before, after) => {
    const differing: string[] = [];
    collect(fields, before, after, '', differing);
    return differing;
  };
}

type Equal = (before: unknown, after: unknown) => boolean;

interface ComparedField {
  readonly name: string;
  readonly equal: Equal;
  readonly nested: readonly ComparedField[] | null;
  readonly isMap: boolean;
}

function fieldsOf(fields: readonly FieldSchema[]): ComparedField[] {
  return fields.map((field) => {
    const type: AvroSchema | undefined = Array.isArray(field.type)
      ? field.type.find((b) => b !== 'null')
      : field.type;
    const complex = typeof type === 'object' && 'type' in type ? type.type : null;
    return {
      name: field.name,
      equal: field.decimalText === true ? equalDecimalText : complex === 'array' ? equalList : equalValue,
      nested: complex === 'record' ? fieldsOf((type as unknown as RecordSchema).fields) : null,
      isMap: complex === 'map',
    };
  });
}

type Values = Readonly<Record<string, unknown>>;
const NOTHING: Values = {};

function collect(
  fields: readonly ComparedField[],
  before: Values,
  after: Values,
  prefix: string,
  differing: string[],
): void {
  for (const { name, equal, nested, isMap } of fields) {
    const old = before[name];
    const now = after[name];
    if (nested !== null)
      collect(nested, (old ?? NOTHING) as Values, (now ?? NOTHING) as Values, `${prefix}${name}.`, differing);
    else if (isMap)
      collectEntries((old ?? NOTHING) as Values, (now ?? NOTHING) as Values, `${prefix}${name}.`, differing);
    else if (!equal(old, now)) differing.push(prefix + name);
  }
}

function collectEntries(before: Values, after: Values, prefix: string, differing: string[]): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!equalJsonText(before[key], after[key])) differing.push(prefix + key);
  }
}

/** The vendor says "unknown" by null, by leaving out, by empty text and by 0, and changes between them. */
function known(value: unknown): unknown {
  return value === undefined || value === '' || value === 0 ? null : value;
}

function equalValue(before: unknown, after: unknown): boolean {
  return before === after || known(before) === known(after);
}

export function equalDecimalText(before: unknown, after: unknown): boolean {
  if (equalValue(before, after)) return true;
  if (typeof before !== 'string' || typeof after !== 'string') return false;
  return NUMERIC.test(before) && NUMERIC.test(after) && new Big(before).eq(after);
}

function equalList(before: unknown, after: unknown): boolean {
  return isDeepStrictEqual(before ?? [], after ?? []);
}

function equalJsonText(before: unknown, after: unknown): boolean {
  if (before === after) return true;
  return isDeepStrictEqual(
    JSON.parse((before as string | undefined) ?? 'null'),
    JSON.parse((after as string | undefined) ?? 'null'),
  );
}
