import { isDeepStrictEqual } from 'node:util';
import { type FieldShape, isListOfTexts, recordShape, type Shape, shapeOf } from '../avro/record-shape';
import type { RecordSchema } from '../avro/schemas';
import type { FeedDefinition } from '../feeds/definition';
import { hasUsualKeys } from '../feeds/row-keys';
import {
  EMPTY_IS_UNKNOWN,
  IS_SYMBOL,
  MEMBER_BYTES,
  MEMBER_NAME,
  MEMBER_NAME_BYTES,
  MEMBER_NEEDS,
  MEMBER_NULL_BRANCH,
  MEMBER_RULES,
  MEMBER_TYPE,
  MEMBER_VALUE_BRANCH,
  MEMBER_WITHIN,
  MOST_MEMBER_BYTES,
  ORDER_LENGTH,
  PLAN_BYTES,
  PLAN_COUNT,
  PLAN_MEMBERS,
  PLAN_ORDER,
  PLAN_SLOTS,
  SLACK,
  SLOT_BYTES,
  TYPE_BOOLEAN,
  TYPE_DOUBLE,
  TYPE_EXTRA,
  TYPE_ID,
  TYPE_INT,
  TYPE_LONG,
  TYPE_RECORD,
  TYPE_TEXT,
  TYPE_TEXTS,
  TYPE_UPDATED,
  ZERO_IS_UNKNOWN,
} from './assembly/layout';

/** The instructions by which the module reads rows of one feed. */
export interface Plan {
  /** Hold addresses, so they fit only the address that they were made for. */
  readonly bytes: Buffer;
  /** Address of the plan of a row. */
  readonly row: number;
  /** Address of the name of the answer's member that holds the rows. */
  readonly key: number;
  readonly keyBytes: number;
  /** Most bytes of an image, without the texts of its row. */
  readonly fixedBytes: number;
  readonly knowsSymbol: boolean;
}

/**
 * The feed's schema and its unknowns, as `assembly/` reads them. Null if the schema has other fields than unions of null with a text,
 * a number, a boolean, a list of texts or a record of these.
 *
 * @param base address at which the bytes will be
 */
export function createPlan(feed: FeedDefinition, schema: RecordSchema, base: number): Plan | null {
  // A member of this name is taken for an error report.
  if (feed.responseKey === 'errors') return null;
  if (!hasUsualKeys(feed) || !isAnswerPlain(feed)) return null;
  const writer = planWriter(feed, base);
  const row = writer.record(recordShape(schema).fields, '', '');
  if (row === null) return null;
  const name = Buffer.from(feed.responseKey);
  const key = writer.text(name);
  return { bytes: writer.bytes(), row, key, keyBytes: name.length, ...writer.found() };
}

/** Whether only the rows of an answer are needed, and the rows are a direct member of it. */
function isAnswerPlain({ responseKey, paging }: FeedDefinition): boolean {
  const hasNextWithin = paging.style === 'cursor' || (paging.style === 'link' && paging.from !== null);
  return responseKey !== '' && !responseKey.includes('.') && !hasNextWithin;
}

const ALIGNMENT = 16;
const PRIMITIVES = new Map([
  ['string', TYPE_TEXT],
  ['long', TYPE_LONG],
  ['int', TYPE_INT],
  ['double', TYPE_DOUBLE],
  ['boolean', TYPE_BOOLEAN],
]);
/** Fields that the decoder fills by name, with the only shapes that they can have. */
const OWN = new Map<string, readonly [shape: Shape, number]>([
  ['id', [shapeOf('string'), TYPE_ID]],
  ['updated', [shapeOf('long'), TYPE_UPDATED]],
  ['extra', [shapeOf({ type: 'map', values: 'string' }), TYPE_EXTRA]],
]);
const NO_RULE = -1;

function planWriter(feed: FeedDefinition, base: number) {
  const { unknowns } = feed;
  const companions = new Map(Object.entries(unknowns.zeroWithout));
  let memory = Buffer.alloc(4096);
  let used = 0;
  let members = 0;
  let knowsSymbol = feed.symbolField === null;

  /** @returns an offset into `memory`; the address is greater by `base` */
  function reserve(bytes: number): number {
    const at = Math.ceil(used / ALIGNMENT) * ALIGNMENT;
    used = at + bytes;
    if (used > memory.length) memory = Buffer.concat([memory, Buffer.alloc(used)]);
    return at;
  }

  function text(bytes: Buffer): number {
    // The module compares names in steps of sixteen bytes.
    const at = reserve(bytes.length + SLACK);
    bytes.copy(memory, at);
    return base + at;
  }

  /** @param vendorPrefix dotted path of the object with a dot behind it; @param avroPrefix the same in Avro's names */
  function record(fields: readonly FieldShape[], vendorPrefix: string, avroPrefix: string): number | null {
    if (!namesAreDistinct(fields, vendorPrefix === '') || chainsUnknowns(fields, vendorPrefix)) return null;
    const plan = reserve(PLAN_BYTES);
    const table = reserve(fields.length * MEMBER_BYTES);
    const order = reserve(ORDER_LENGTH * 2);
    memory.fill(0xff, order, order + ORDER_LENGTH * 2);
    const slots = reserve(fields.length * SLOT_BYTES);
    memory.writeInt32LE(base + table, plan + PLAN_MEMBERS);
    memory.writeInt32LE(fields.length, plan + PLAN_COUNT);
    memory.writeInt32LE(base + order, plan + PLAN_ORDER);
    memory.writeInt32LE(base + slots, plan + PLAN_SLOTS);
    members += fields.length;
    for (const [index, field] of fields.entries()) {
      if (!member(table + index * MEMBER_BYTES, field, fields, vendorPrefix, avroPrefix)) return null;
    }
    return base + plan;
  }

  /** @returns whether the module can write the field */
  function member(
    entry: number,
    field: FieldShape,
    fields: readonly FieldShape[],
    vendorPrefix: string,
    avroPrefix: string,
  ): boolean {
    const { vendorName, value } = field;
    if (typeof vendorName !== 'string' || !vendorName.isWellFormed()) return false;
    const own = vendorPrefix === '' ? OWN.get(field.name) : undefined;
    memory.writeInt32LE(NO_RULE, entry + MEMBER_NEEDS);
    if (own !== undefined) {
      const [shape, code] = own;
      memory.writeInt32LE(code, entry + MEMBER_TYPE);
      name(entry, code === TYPE_EXTRA ? null : vendorName);
      return vendorName === field.name && isDeepStrictEqual(value, shape);
    }

    const { nullBranch } = value;
    const code = codeOf(value);
    if (nullBranch === null || code === undefined) return false;
    memory.writeInt32LE(code, entry + MEMBER_TYPE);
    memory[entry + MEMBER_NULL_BRANCH] = zigzag(nullBranch);
    memory[entry + MEMBER_VALUE_BRANCH] = zigzag(1 - nullBranch);
    name(entry, vendorName);

    const path = vendorPrefix + vendorName;
    // In a field of another type, 0 is not a value or it is text.
    const isNumber = code === TYPE_LONG || code === TYPE_INT || code === TYPE_DOUBLE;
    const isSymbol = code === TYPE_TEXT && avroPrefix + field.name === feed.symbolField;
    knowsSymbol ||= isSymbol;
    const rules =
      (isNumber && unknowns.zero.includes(path) ? ZERO_IS_UNKNOWN : 0) |
      (unknowns.emptyText ? EMPTY_IS_UNKNOWN : 0) |
      (isSymbol ? IS_SYMBOL : 0);
    memory.writeInt32LE(rules, entry + MEMBER_RULES);
    const needs = isNumber ? companions.get(path) : undefined;
    memory.writeInt32LE(
      fields.findIndex((other) => other.name === needs),
      entry + MEMBER_NEEDS,
    );
    if (value.kind !== 'record') return true;
    const plan = record(value.fields, `${path}.`, `${avroPrefix}${field.name}.`);
    memory.writeInt32LE(plan ?? 0, entry + MEMBER_WITHIN);
    return plan !== null;
  }

  /** @param vendorName null: no member of the vendor's matches */
  function name(entry: number, vendorName: string | null): void {
    const bytes = Buffer.from(vendorName ?? '');
    // It may replace `memory`, so it comes before the writes.
    const address = text(bytes);
    memory.writeInt32LE(address, entry + MEMBER_NAME);
    memory.writeInt32LE(vendorName === null ? NO_RULE : bytes.length, entry + MEMBER_NAME_BYTES);
  }

  /** The decoder fills two fields with the same vendor name; the module could not. */
  function namesAreDistinct(fields: readonly FieldShape[], isRow: boolean): boolean {
    const names = new Set(fields.map(({ vendorName }) => vendorName));
    const avroNames = new Set(fields.map((field) => field.name));
    if (names.size !== fields.length) return false;
    return !isRow || [...OWN.keys()].every((own) => avroNames.has(own));
  }

  /** Whether an unknown zero depends on a field that depends on another field itself, or that is filled later. */
  function chainsUnknowns(fields: readonly FieldShape[], prefix: string): boolean {
    const needs = fields.map(({ vendorName }) => companions.get(prefix + vendorName));
    return fields.some(
      (field, i) => needs.includes(field.name) && (needs[i] !== undefined || OWN.has(field.name)),
    );
  }

  return {
    record,
    text,
    bytes: () => memory.subarray(0, used),
    found: () => ({ fixedBytes: members * MOST_MEMBER_BYTES + SLACK, knowsSymbol }),
  };
}

const zigzag = (branch: number): number => 2 * branch;

/** Undefined for a shape that the module cannot write. */
function codeOf(shape: Shape): number | undefined {
  if (shape.kind === 'record') return TYPE_RECORD;
  if (isListOfTexts(shape)) return TYPE_TEXTS;
  return shape.kind === 'plain' ? PRIMITIVES.get(shape.type) : undefined;
}
