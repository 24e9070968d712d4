import { isDeepStrictEqual } from 'node:util';
import Big from 'big.js';
import { type FieldShape, fieldsAt, type RecordShape, type Shape } from '../../avro/record-shape';
import { type FeedDefinition, usualShape } from '../../feeds/definition';
import { keyPaths } from '../../feeds/row-keys';
import { parseJson } from '../../json/parse-json';
import type { RecordValues } from '../../types';
import { NUMERIC } from '../records/coerce';

/** Dotted Avro names of the fields in which two records differ for a reader, without the id and the time stamp. */
export type Comparison = (before: RecordValues, after: RecordValues) => string[];

/**
 * Compiles the comparison of two records of a shape. These values are equal (I6): unknown values in any form (null, empty text, 0,
 * an empty list), decimal texts of the same number, and JSON texts of the same value in `extra`. A list or a map differs as a
 * whole.
 */
export function createComparison(
  shape: RecordShape,
  feed: Pick<FeedDefinition, 'idField' | 'updatedField'> = usualShape,
): Comparison {
  const keys = keyPaths(feed).map((path) => fieldsAt(shape, path)?.at(-1));
  const fields = fieldsOf(
    shape.fields.filter(({ name }) => name !== 'extra'),
    keys,
  );
  return (before, after) => {
    const differing: string[] = [];
    collect(fields, before, after, '', differing);
    // A time stamp with more digits than its field takes is in `extra`, too.
    collectEntries(before.extra, after.extra, feed.updatedField, differing);
    return differing;
  };
}

type Equal = (before: unknown, after: unknown) => boolean;

interface ComparedField {
  readonly name: string;
  readonly equal: Equal;
  readonly nested: readonly ComparedField[] | null;
}

/** @param without fields that are not compared, at any depth */
function fieldsOf(
  fields: readonly FieldShape[],
  without: readonly (FieldShape | undefined)[] = [],
): ComparedField[] {
  return fields
    .filter((field) => !without.includes(field))
    .map(({ name, isDecimalText, value }) => ({
      name,
      equal: isDecimalText ? equalDecimalText : equalOf(value),
      nested: value.kind === 'record' ? fieldsOf(value.fields, without) : null,
    }));
}

function equalOf(shape: Shape): Equal {
  if (shape.kind === 'array') return equalLists(equalOf(shape.items));
  if (shape.kind === 'map') return equalMaps(equalOf(shape.items));
  if (shape.kind !== 'record') return equalValue;
  const fields = fieldsOf(shape.fields);
  return (before, after) => {
    const differing: string[] = [];
    // One of two items may be null. That is a difference, even if every field of the other item is unknown.
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

function collectEntries(before: Values, after: Values, without: string | null, differing: string[]): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (key === without || equalJsonText(entryOf(before, key), entryOf(after, key))) continue;
    differing.push(`extra.${key}`);
  }
}

/** The vendor chooses the keys. One may be `constructor`, which every object inherits. */
function entryOf(map: Values, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The vendor says "unknown" by null, a missing member, empty text or 0, and changes between these. */
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

/** Items are compared by position, so an unknown item counts. */
function equalLists(equal: Equal): Equal {
  return (before, after) => {
    const [old, now] = [(before ?? []) as readonly unknown[], (after ?? []) as readonly unknown[]];
    return old.length === now.length && old.every((item, i) => equal(item, now[i]));
  };
}

/** An unknown entry equals a missing entry. */
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
  return isDeepStrictEqual(comparable(before), comparable(after));
}

/** Numbers that JavaScript does not have are compared by their value too. */
function comparable(text: unknown): unknown {
  return parseJson((text as string | undefined) ?? 'null', (number) => new Big(number));
}
