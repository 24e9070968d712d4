import { isDeepStrictEqual } from 'node:util';
import Big from 'big.js';
import { fieldNamed } from '../../avro/record-shape';
import type { AvroSchema } from '../../avro/registry/registry';
import type { FieldSchema, RecordSchema } from '../../avro/schemas';
import { shapeOf } from '../../avro/value-shape';
import { type FeedDefinition, usualShape } from '../../feeds/definition';
import type { RecordValues } from '../../types';
import { NUMERIC } from '../records/coerce';

/** Dotted Avro names of the fields in which two records differ for a reader; its id and its time stamp are never among them. */
export type Comparison = (before: RecordValues, after: RecordValues) => string[];

/**
 * Compiles the comparison of two records of a schema. Equal are (I6): what is unknown, however it is written (null, empty
 * text, 0, an empty list); decimal text of the same number; JSON text of the same value in `extra`. Lists and maps differ as a whole.
 */
export function createComparison(
  schema: RecordSchema,
  { idField, updatedField }: Pick<FeedDefinition, 'idField' | 'updatedField'> = usualShape,
): Comparison {
  const keys = [fieldNamed(schema, idField), fieldNamed(schema, updatedField)];
  const fields = fieldsOf(schema.fields.filter((field) => !keys.includes(field) && field.name !== 'extra'));
  return (before, after) => {
    const differing: string[] = [];
    collect(fields, before, after, '', differing);
    collectEntries(before.extra, after.extra, 'extra.', differing);
    return differing;
  };
}

type Equal = (before: unknown, after: unknown) => boolean;

interface ComparedField {
  readonly name: string;
  readonly equal: Equal;
  readonly nested: readonly ComparedField[] | null;
}

function fieldsOf(fields: readonly FieldSchema[]): ComparedField[] {
  return fields.map((field) => {
    const shape = shapeOf(field.type);
    return {
      name: field.name,
      equal: field.decimalText === true ? equalDecimalText : equalOf(field.type),
      nested: shape.kind === 'record' ? fieldsOf(shape.fields) : null,
    };
  });
}

function equalOf(type: AvroSchema): Equal {
  const shape = shapeOf(type);
  if (shape.kind === 'array') return equalLists(equalOf(shape.items));
  if (shape.kind === 'map') return equalMaps(equalOf(shape.values));
  if (shape.kind !== 'record') return equalValue;
  const fields = fieldsOf(shape.fields);
  return (before, after) => {
    const differing: string[] = [];
    // Of two items, one may be null: an unknown record among known ones is a difference.
    if (isUnknown(before) !== isUnknown(after)) return false;
    collect(fields, (before ?? NOTHING) as Values, (after ?? NOTHING) as Values, '', differing);
    return differing.length === 0;
  };
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
  for (const { name, equal, nested } of fields) {
    const old = before[name];
    const now = after[name];
    if (nested !== null)
      collect(nested, (old ?? NOTHING) as Values, (now ?? NOTHING) as Values, `${prefix}${name}.`, differing);
    else if (!equal(old, now)) differing.push(prefix + name);
  }
}

function collectEntries(before: Values, after: Values, prefix: string, differing: string[]): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!equalJsonText(entryOf(before, key), entryOf(after, key))) differing.push(prefix + key);
  }
}

/** The keys are the vendor's: one may be called `constructor`, which every object answers to. */
function entryOf(map: Values, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The vendor says "unknown" by null, by leaving out, by empty text and by 0, and changes between them. */
function known(value: unknown): unknown {
  return value === undefined || value === '' || value === 0 ? null : value;
}

function equalValue(before: unknown, after: unknown): boolean {
  // Stryker disable next-line ConditionalExpression: only the faster way to the same answer
  return before === after || known(before) === known(after);
}

export function equalDecimalText(before: unknown, after: unknown): boolean {
  if (equalValue(before, after)) return true;
  if (typeof before !== 'string' || typeof after !== 'string') return false;
  return NUMERIC.test(before) && NUMERIC.test(after) && new Big(before).eq(after);
}

/** Items have their places: an unknown one is not left out. */
function equalLists(equal: Equal): Equal {
  return (before, after) => {
    const [old, now] = [(before ?? []) as readonly unknown[], (after ?? []) as readonly unknown[]];
    return old.length === now.length && old.every((item, i) => equal(item, now[i]));
  };
}

/** An entry that is unknown is as one that is missing. */
function equalMaps(equal: Equal): Equal {
  return (before, after) => {
    const [old, now] = [(before ?? NOTHING) as Values, (after ?? NOTHING) as Values];
    const keys = new Set([...Object.keys(old), ...Object.keys(now)]);
    return [...keys].every((key) => equal(entryOf(old, key), entryOf(now, key)));
  };
}

function isUnknown(value: unknown): boolean {
  return value === null || value === undefined;
}

function equalJsonText(before: unknown, after: unknown): boolean {
  // Stryker disable next-line ConditionalExpression: only the faster way to the same answer
  if (before === after) return true;
  return isDeepStrictEqual(
    JSON.parse((before as string | undefined) ?? 'null'),
    JSON.parse((after as string | undefined) ?? 'null'),
  );
}
