import { nestedRecord, vendorNameOf } from '../avro/record-shape';
import type { AvroSchema } from '../avro/registry/registry';
import type { FieldSchema, RecordSchema } from '../avro/schemas';
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

/** What the module reads rows of one feed by. */
export interface Plan {
  /** For one place in memory. */
  readonly bytes: Buffer;
  /** Where in memory the plan of a row begins, and the name of the answer's member that holds the rows. */
  readonly row: number;
  readonly key: number;
  readonly keyBytes: number;
  /** What an image takes at most, beside the texts of its row. */
  readonly fixedBytes: number;
  readonly knowsSymbol: boolean;
}

/**
 * The feed's schema and its unknowns, as `assembly/` reads them. Null for a schema with anything but fields that are null or a
 * text, a number, a boolean, a list of texts or a record of such, which is what `decode.ts` coerces to.
 *
 * @param base where in memory the bytes are going to be
 */
export function createPlan(feed: FeedDefinition, schema: RecordSchema, base: number): Plan | null {
  // Whatever comes under this key is an error report first.
  if (feed.responseKey === 'errors') return null;
  if (!hasUsualKeys(feed) || !isAnswerPlain(feed)) return null;
  const writer = planWriter(feed, base);
  const row = writer.record(schema, '', '');
  if (row === null) return null;
  const name = Buffer.from(feed.responseKey);
  const key = writer.text(name);
  return { bytes: writer.bytes(), row, key, keyBytes: name.length, ...writer.found() };
}

/** Whether the rows are all that is to be read of an answer, and lie right below its top. */
function isAnswerPlain({ responseKey, paging }: FeedDefinition): boolean {
  const hasNextWithin = paging.style === 'cursor' || (paging.style === 'link' && paging.from !== null);
  return responseKey !== '' && !responseKey.includes('.') && !hasNextWithin;
}

const ALIGNMENT = 16;
const PRIMITIVES = new Map<AvroSchema | undefined, number>([
  ['string', TYPE_TEXT],
  ['long', TYPE_LONG],
  ['int', TYPE_INT],
  ['double', TYPE_DOUBLE],
  ['boolean', TYPE_BOOLEAN],
]);
/** Those that the decoder sees to by name, in the only types that they can have. */
const OWN = new Map<string, readonly [type: AvroSchema, number]>([
  ['id', ['string', TYPE_ID]],
  ['updated', ['long', TYPE_UPDATED]],
  ['extra', [{ type: 'map', values: 'string' }, TYPE_EXTRA]],
]);
const NO_RULE = -1;

function planWriter(feed: FeedDefinition, base: number) {
  const { unknowns } = feed;
  const companions = new Map(Object.entries(unknowns.zeroWithout));
  let memory = Buffer.alloc(4096);
  let used = 0;
  let members = 0;
  let knowsSymbol = feed.symbolField === null;

  /** Offset into `memory`; the address is `base` more. */
  function reserve(bytes: number): number {
    const at = Math.ceil(used / ALIGNMENT) * ALIGNMENT;
    used = at + bytes;
    if (used > memory.length) memory = Buffer.concat([memory, Buffer.alloc(used)]);
    return at;
  }

  function text(bytes: Buffer): number {
    // Names are compared sixteen bytes at a time.
    const at = reserve(bytes.length + SLACK);
    bytes.copy(memory, at);
    return base + at;
  }

  /** @param vendorPrefix dotted path of the object with a dot behind it; @param avroPrefix the same in Avro's names */
  function record(schema: RecordSchema, vendorPrefix: string, avroPrefix: string): number | null {
    const { fields } = schema;
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

  /** @returns whether there is a way to write it */
  function member(
    entry: number,
    field: FieldSchema,
    fields: readonly FieldSchema[],
    vendorPrefix: string,
    avroPrefix: string,
  ): boolean {
    const vendorName = vendorNameOf(field);
    if (typeof vendorName !== 'string' || !vendorName.isWellFormed()) return false;
    const own = vendorPrefix === '' ? OWN.get(field.name) : undefined;
    memory.writeInt32LE(NO_RULE, entry + MEMBER_NEEDS);
    if (own !== undefined) {
      const [type, code] = own;
      memory.writeInt32LE(code, entry + MEMBER_TYPE);
      name(entry, code === TYPE_EXTRA ? null : vendorName);
      return vendorName === field.name && isSame(field.type, type);
    }

    const branches = field.type;
    if (!Array.isArray(branches) || branches.length !== 2 || !branches.includes('null')) return false;
    const nullBranch = branches.indexOf('null');
    const type = branches[1 - nullBranch] as AvroSchema;
    const within = nestedRecord(field);
    const code = within !== null ? TYPE_RECORD : isTexts(type) ? TYPE_TEXTS : PRIMITIVES.get(type);
    if (code === undefined) return false;
    memory.writeInt32LE(code, entry + MEMBER_TYPE);
    memory[entry + MEMBER_NULL_BRANCH] = zigzag(nullBranch);
    memory[entry + MEMBER_VALUE_BRANCH] = zigzag(1 - nullBranch);
    name(entry, vendorName);

    const path = vendorPrefix + vendorName;
    // Of other types a number is no value, or text: only a value can be 0.
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
    if (within === null) return true;
    const plan = record(within, `${path}.`, `${avroPrefix}${field.name}.`);
    memory.writeInt32LE(plan ?? 0, entry + MEMBER_WITHIN);
    return plan !== null;
  }

  /** Null: no member of the vendor's is meant, whatever its name. */
  function name(entry: number, vendorName: string | null): void {
    const bytes = Buffer.from(vendorName ?? '');
    // Before anything is written: it may move the memory.
    const address = text(bytes);
    memory.writeInt32LE(address, entry + MEMBER_NAME);
    memory.writeInt32LE(vendorName === null ? NO_RULE : bytes.length, entry + MEMBER_NAME_BYTES);
  }

  /** Of two fields with one name the decoder fills both. */
  function namesAreDistinct(fields: readonly FieldSchema[], isRow: boolean): boolean {
    const names = new Set(fields.map(vendorNameOf));
    const avroNames = new Set(fields.map((field) => field.name));
    if (names.size !== fields.length) return false;
    return !isRow || [...OWN.keys()].every((own) => avroNames.has(own));
  }

  /** Whether an unknown zero depends on a field whose own zero depends on another, or on one that is filled later. */
  function chainsUnknowns(fields: readonly FieldSchema[], prefix: string): boolean {
    const needs = fields.map((field) => companions.get(prefix + vendorNameOf(field)));
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

function isTexts(type: AvroSchema): boolean {
  return typeof type === 'object' && 'type' in type && type.type === 'array' && type.items === 'string';
}

function isSame(type: AvroSchema, expected: AvroSchema): boolean {
  if (typeof type !== 'object' || typeof expected !== 'object') return type === expected;
  return (
    'type' in type && 'type' in expected && type.type === expected.type && type.values === expected.values
  );
}
