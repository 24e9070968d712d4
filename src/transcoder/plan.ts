import { isDeepStrictEqual } from 'node:util';
import { type FieldShape, isListOfTexts, recordShape, type Shape, shapeOf } from '../avro/record-shape';
import type { RecordSchema } from '../avro/schemas';
import type { FeedDefinition } from '../feeds/definition';
import { hasUsualKeys } from '../feeds/row-keys';
import { isNextInBody } from '../source/next-page';
import * as layout from './assembly/layout';

/** The instructions by which the module reads rows of one feed. */
export type Plan = NonNullable<ReturnType<typeof createPlan>>;

/**
 * The feed's schema and its unknowns, as `assembly/` reads them. Null if the schema has other fields than unions of null with a text,
 * a number, a boolean, a list of texts or a record of these.
 *
 * @param base address at which the bytes will be
 */
export function createPlan(feed: FeedDefinition, schema: RecordSchema, base: number) {
  // A member of this name is taken for an error report.
  if (feed.responseKey === 'errors') return null;
  if (!hasUsualKeys(feed) || !isAnswerPlain(feed)) return null;
  const writer = planWriter(feed, base);
  const row = writer.record(recordShape(schema).fields, '', '');
  if (row === null) return null;
  const name = Buffer.from(feed.responseKey);
  const key = writer.text(name);
  return {
    /** Hold addresses, so they fit only the address that they were made for. */
    bytes: writer.bytes(),
    /** Address of the plan of a row. */
    row,
    /** Address of the name of the answer's member that holds the rows. */
    key,
    keyBytes: name.length,
    ...writer.found(),
  };
}

/** Whether only the rows of an answer are needed, and the rows are a direct member of it. */
function isAnswerPlain({ responseKey, paging }: FeedDefinition): boolean {
  return responseKey !== '' && !responseKey.includes('.') && !isNextInBody(paging);
}

const ALIGNMENT = 16;
const PRIMITIVES = new Map([
  ['string', layout.TYPE_TEXT],
  ['long', layout.TYPE_LONG],
  ['int', layout.TYPE_INT],
  ['double', layout.TYPE_DOUBLE],
  ['boolean', layout.TYPE_BOOLEAN],
]);
/** Fields that the decoder fills by name, with the only shapes that they can have. */
const OWN = new Map<string, readonly [shape: Shape, number]>([
  ['id', [shapeOf('string'), layout.TYPE_ID]],
  ['updated', [shapeOf('long'), layout.TYPE_UPDATED]],
  ['extra', [shapeOf({ type: 'map', values: 'string' }), layout.TYPE_EXTRA]],
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
    const at = reserve(bytes.length + layout.SLACK);
    bytes.copy(memory, at);
    return base + at;
  }

  /** @param vendorPrefix dotted path of the object with a dot behind it; @param avroPrefix the same in Avro's names */
  function record(fields: readonly FieldShape[], vendorPrefix: string, avroPrefix: string): number | null {
    if (!namesAreDistinct(fields, vendorPrefix === '') || chainsUnknowns(fields, vendorPrefix)) return null;
    const plan = reserve(layout.PLAN_BYTES);
    const table = reserve(fields.length * layout.MEMBER_BYTES);
    const order = reserve(layout.ORDER_LENGTH * 2);
    memory.fill(0xff, order, order + layout.ORDER_LENGTH * 2);
    const slots = reserve(fields.length * layout.SLOT_BYTES);
    memory.writeInt32LE(base + table, plan + layout.PLAN_MEMBERS);
    memory.writeInt32LE(fields.length, plan + layout.PLAN_COUNT);
    memory.writeInt32LE(base + order, plan + layout.PLAN_ORDER);
    memory.writeInt32LE(base + slots, plan + layout.PLAN_SLOTS);
    members += fields.length;
    for (const [index, field] of fields.entries()) {
      if (!member(table + index * layout.MEMBER_BYTES, field, fields, vendorPrefix, avroPrefix)) return null;
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
    memory.writeInt32LE(NO_RULE, entry + layout.MEMBER_NEEDS);
    if (own !== undefined) {
      const [shape, code] = own;
      memory.writeInt32LE(code, entry + layout.MEMBER_TYPE);
      name(entry, code === layout.TYPE_EXTRA ? null : vendorName);
      return vendorName === field.name && isDeepStrictEqual(value, shape);
    }

    const { nullBranch } = value;
    const code = codeOf(value);
    if (nullBranch === null || code === undefined) return false;
    memory.writeInt32LE(code, entry + layout.MEMBER_TYPE);
    memory[entry + layout.MEMBER_NULL_BRANCH] = zigzag(nullBranch);
    memory[entry + layout.MEMBER_VALUE_BRANCH] = zigzag(1 - nullBranch);
    name(entry, vendorName);

    const path = vendorPrefix + vendorName;
    // In a field of another type, 0 is not a value or it is text.
    const isNumber = code === layout.TYPE_LONG || code === layout.TYPE_INT || code === layout.TYPE_DOUBLE;
    const isSymbol = code === layout.TYPE_TEXT && avroPrefix + field.name === feed.symbolField;
    knowsSymbol ||= isSymbol;
    const rules =
      (isNumber && unknowns.zero.includes(path) ? layout.ZERO_IS_UNKNOWN : 0) |
      (unknowns.emptyText ? layout.EMPTY_IS_UNKNOWN : 0) |
      (isSymbol ? layout.IS_SYMBOL : 0) |
      (feed.omit.includes(path) ? layout.IS_OMITTED : 0);
    memory.writeInt32LE(rules, entry + layout.MEMBER_RULES);
    const needs = isNumber ? companions.get(path) : undefined;
    memory.writeInt32LE(
      fields.findIndex((other) => other.name === needs),
      entry + layout.MEMBER_NEEDS,
    );
    if (value.kind !== 'record') return true;
    const plan = record(value.fields, `${path}.`, `${avroPrefix}${field.name}.`);
    memory.writeInt32LE(plan ?? 0, entry + layout.MEMBER_WITHIN);
    return plan !== null;
  }

  /** @param vendorName null: no member of the vendor's matches */
  function name(entry: number, vendorName: string | null): void {
    const bytes = Buffer.from(vendorName ?? '');
    // It may replace `memory`, so it comes before the writes.
    const address = text(bytes);
    memory.writeInt32LE(address, entry + layout.MEMBER_NAME);
    memory.writeInt32LE(vendorName === null ? NO_RULE : bytes.length, entry + layout.MEMBER_NAME_BYTES);
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
    found: () => ({
      /** Most bytes of an image, without the texts of its row. */
      fixedBytes: members * layout.MOST_MEMBER_BYTES + layout.SLACK,
      knowsSymbol,
    }),
  };
}

const zigzag = (branch: number): number => 2 * branch;

/** Undefined for a shape that the module cannot write. */
function codeOf(shape: Shape): number | undefined {
  if (shape.kind === 'record') return layout.TYPE_RECORD;
  if (isListOfTexts(shape)) return layout.TYPE_TEXTS;
  return shape.kind === 'plain' ? PRIMITIVES.get(shape.type) : undefined;
}
