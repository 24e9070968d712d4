import { recordKeys } from '../../avro/record-keys';
import {
  type FieldShape,
  fieldsAt,
  isListOfTexts,
  type RecordShape,
  type Shape,
} from '../../avro/record-shape';
import type { FeedDefinition } from '../../feeds/definition';
import { idPaths, memberReader, rowKeys } from '../../feeds/row-keys';
import { expectedTime } from '../../feeds/time-format';
import { ExactNumber, isJsonObject } from '../../json/exact-number';
import { jsonText, jsonTextAsSent } from '../../json/json-text';
import { isTooDeep, TOO_DEEP } from '../../json/limits';
import { UnreadableRow } from '../../json/unreadable-row';
import { FENCE_KEY } from '../../log/commit-log';
import { EncodedRecord } from '../../transcoder/encoded-record';
import type { RecordValues, Rejected, VendorRecord } from '../../types';
import { type Coercion, coercionOf, DRIFTED } from './coerce';
import { memberNames, type NamesInPaths } from './member-path';

/** Rows of a page as records of the feed's schema, and rows that cannot be records. Nothing is dropped (I8). */
export interface Decoded {
  readonly records: readonly VendorRecord[];
  /** The row of each record, at the same place. */
  readonly rows: readonly unknown[];
  readonly rejected: readonly Rejected[];
}

export type Decoder = (rows: readonly unknown[]) => Decoded;

type Row = Readonly<Record<string, unknown>>;

/** Compiles a decoder from the shape of the feed's records and its declared unknowns. A bad row never affects the other rows. */
export function createDecoder(feed: FeedDefinition, shape: RecordShape): Decoder {
  const keys = rowKeys(feed);
  const { updatedField, updatedFormat: format } = feed;
  const updatedFields = updatedField === null ? [] : fieldsAt(shape, updatedField)!;
  const ownId = ownIdField(feed, shape);
  const ownUpdated = updatedFields.length === 1 ? updatedFields[0]! : null;
  const plan = membersOf(
    shape.fields.filter((field) => field !== ownId && field !== ownUpdated && field.name !== 'extra'),
    '',
    feed,
    shape.fields,
  );
  const handled = new Set([ownId, ownUpdated].flatMap((field) => field?.vendorName ?? []));
  const idName = ownId?.name ?? null;
  const asId = ownId === null ? null : idValueOf(ownId.value);
  const keysOfRecord = idName === null || ownUpdated === null ? recordKeys(feed, shape) : null;
  const updatedNames = updatedFields.map(({ name }) => name);
  const readUpdated = updatedField === null ? null : memberReader(updatedField);

  const decodeRecord = (row: Row, id: string, updated: number): VendorRecord => {
    const extra: Record<string, string> = Object.create(null);
    const values: Record<string, unknown> = { ...plan.blank };
    if (idName !== null) values[idName] = asId === null ? id : asId(id);
    decodeMembers(plan, '', handled, row, values, extra);
    if (readUpdated !== null) {
      const raw = readUpdated(row);
      if (format === 'seconds' && !isMilliseconds(raw, updated)) extra[updatedField!] = extraText(raw);
      putAt(
        values,
        updatedNames,
        format === 'seconds' ? updated : format === 'milliseconds' ? Number(raw) : raw,
      );
    }
    values.extra = sorted(extra);
    if (keysOfRecord !== null && keysOfRecord.id(values) !== id)
      throw new RangeError(`the id ${describe(id)} cannot be told from the fields of its record`);
    return { id, updated, values: values as unknown as RecordValues };
  };

  return (page) => {
    const records: VendorRecord[] = [];
    const rows: unknown[] = [];
    const rejected: Rejected[] = [];
    for (const row of page) {
      if (row instanceof EncodedRecord && row.id !== FENCE_KEY) {
        records.push(row);
        rows.push(row);
        continue;
      }
      if (row instanceof UnreadableRow) {
        const { reason, raw, whole } = row;
        rejected.push({ reason, raw, whole });
        continue;
      }
      const id = keys.id(row);
      const updated = keys.updated(row);
      if (id === null || updated === null || id === FENCE_KEY) {
        rejected.push({ reason: reasonFor(row, id, updated, feed), raw: jsonText(row) });
        continue;
      }
      try {
        records.push(decodeRecord(row as Row, id, updated));
        rows.push(row);
      } catch (error) {
        rejected.push({ reason: failureOf(row, error), raw: jsonText(row) });
      }
    }
    return { records, rows, rejected };
  };
}

/** The field that is the id by itself; null for an id of several members, or of one within another. */
function ownIdField(feed: FeedDefinition, shape: RecordShape): FieldShape | null {
  const [path = '', ...others] = idPaths(feed);
  const [field, ...within] = fieldsAt(shape, path)!;
  return others.length === 0 && within.length === 0 ? field! : null;
}

/** @throws RangeError when the record has no object to put it into */
function putAt(values: Record<string, unknown>, names: readonly string[], value: unknown): void {
  let within = values;
  for (const name of names.slice(0, -1)) {
    if (!isJsonObject(within[name]))
      throw new RangeError(`${names.join('.')} is not where the schema has it`);
    within = within[name];
  }
  within[names.at(-1)!] = value;
}

/** Converts an id's text to the value of its field; null if the value is the text. */
function idValueOf(shape: Shape): ((id: string) => unknown) | null {
  if (shape.kind !== 'plain' || shape.type === 'string') return null;
  const coerce = coercionOf(shape, false);
  return (id) => {
    const value = coerce(id);
    // The key and the field must be the same id: "007" and 7 are different ids.
    if (String(value) !== id)
      throw new RangeError(`the id ${describe(id)} is not a whole number of the schema's ${shape.type}`);
    return value;
  };
}

type Extra = Record<string, string>;

/** How one object of the vendor becomes one Avro record. */
interface MembersPlan {
  readonly members: readonly Member[];
  /** 0 in `name` is unknown if `needs` of the same record is unknown. */
  readonly zeros: readonly { readonly name: string; readonly needs: string }[];
  readonly known: ReadonlySet<string>;
  readonly nameInPath: NamesInPaths;
  /**
   * The record with all fields null. Each record begins as a copy of it. An object that gets its members one by one, by names that
   * are not in the program, takes three times as long to make and to encode.
   */
  readonly blank: Readonly<Record<string, unknown>>;
}

interface Member {
  readonly name: string;
  readonly vendorName: string;
  /** `vendorName` as a part of a path. */
  readonly nameInPath: string;
  /** Used if `within` is null. */
  readonly coerce: Coercion;
  readonly within: ValueDecoder | null;
  readonly zeroIsUnknown: boolean;
}

/**
 * Decodes a record, a list or a map. A member of a record that does not fit goes into `extra` under its path. A list or a map with
 * an item that does not fit is DRIFTED as a whole.
 * @param path dotted vendor path of the value; `[0]` and `["key"]` name the items of lists and maps
 */
type ValueDecoder = (raw: unknown, path: string, extra: Extra) => unknown;

/** @param prefix dotted vendor path of the object with a dot behind it; empty at the top */
function membersOf(
  fields: readonly FieldShape[],
  prefix: string,
  feed: FeedDefinition,
  allFields = fields,
): MembersPlan {
  const nameInPath = memberNames(fields);
  const members = fields.map(({ name, vendorName, value }): Member => {
    const path = prefix + vendorName;
    return {
      name,
      vendorName,
      nameInPath: nameInPath(vendorName),
      coerce: coercionOf(value, feed.unknowns.emptyText),
      within: decoderWithin(value, path, feed),
      zeroIsUnknown: feed.unknowns.zero.includes(path),
    };
  });
  const companions = new Map(Object.entries(feed.unknowns.zeroWithout));
  return {
    members,
    zeros: members.flatMap(({ name, vendorName }) => {
      const needs = companions.get(prefix + vendorName);
      // Stryker disable next-line ConditionalExpression,ArrayDeclaration: no member without a name is ever null
      return needs === undefined ? [] : [{ name, needs }];
    }),
    known: new Set(members.map((member) => member.vendorName)),
    nameInPath,
    blank: Object.fromEntries(allFields.map(({ name }) => [name, null])),
  };
}

/** Null if a coercion decodes the value. */
function decoderWithin(shape: Shape, path: string, feed: FeedDefinition): ValueDecoder | null {
  if (shape.kind === 'record') return recordDecoder(membersOf(shape.fields, `${path}.`, feed));
  if (shape.kind === 'map') return mapDecoder(itemDecoder(shape.items, path, feed));
  if (shape.kind !== 'array' || isListOfTexts(shape)) return null;
  return listDecoder(itemDecoder(shape.items, path, feed));
}

function recordDecoder(plan: MembersPlan): ValueDecoder {
  return (raw, path, extra) => {
    if (!isJsonObject(raw)) return DRIFTED;
    const nested: Record<string, unknown> = { ...plan.blank };
    decodeMembers(plan, `${path}.`, NONE, raw, nested, extra);
    return nested;
  };
}

function listDecoder(item: ValueDecoder): ValueDecoder {
  return (raw, path, extra) => {
    if (raw === '') return null;
    if (!Array.isArray(raw)) return DRIFTED;
    const items: unknown[] = [];
    const drifted: Extra = {};
    for (const [index, each] of raw.entries()) {
      const value = item(each, `${path}[${index}]`, drifted);
      if (value === DRIFTED) return DRIFTED;
      items.push(value);
    }
    Object.assign(extra, drifted);
    return items;
  };
}

function mapDecoder(item: ValueDecoder): ValueDecoder {
  return (raw, path, extra) => {
    if (raw === '') return null;
    if (!isJsonObject(raw)) return DRIFTED;
    const entries: Record<string, unknown> = Object.create(null);
    const drifted: Extra = {};
    for (const key of Object.keys(raw)) {
      const name = key.toWellFormed();
      const value = item(raw[key], `${path}[${JSON.stringify(name)}]`, drifted);
      // Two keys that Avro's text cannot tell apart would swallow one another.
      if (value === DRIFTED || name in entries) return DRIFTED;
      entries[name] = value;
    }
    Object.assign(extra, drifted);
    return sorted(entries);
  };
}

/** An unknown item is null if the schema takes null. */
function itemDecoder(shape: Shape, path: string, feed: FeedDefinition): ValueDecoder {
  const unknown = shape.nullBranch === null ? DRIFTED : null;
  const within: ValueDecoder = decoderWithin(shape, `${path}[]`, feed) ?? coercionOf(shape, false);
  return (raw, at, extra) =>
    raw === null || raw === undefined ? unknown : (within(raw, at, extra) ?? unknown);
}

/** @param prefix as in `membersOf`, with the position in each list and map on the way */
function decodeMembers(
  plan: MembersPlan,
  prefix: string,
  handled: ReadonlySet<string>,
  row: Readonly<Record<string, unknown>>,
  record: Record<string, unknown>,
  extra: Extra,
): void {
  let present = 0;
  for (const member of plan.members) {
    // A member may be named like an inherited property: constructor.
    const raw = Object.hasOwn(row, member.vendorName) ? row[member.vendorName] : undefined;
    // Stryker disable next-line UpdateOperator: a wrong count only makes it look at the names for nothing
    if (raw !== undefined) present++;
    record[member.name] = decodeMember(member, raw, prefix, extra);
  }
  for (const { name, needs } of plan.zeros) {
    if (record[name] === 0 && record[needs] === null) record[name] = null;
  }
  for (const name of handled) if (Object.hasOwn(row, name)) present++;
  let members = 0;
  // Stryker disable next-line UpdateOperator: as above
  for (const _ in row) members++; // without a list of the names, which is rarely needed
  // Stryker disable next-line ConditionalExpression,ArithmeticOperator: as above
  if (members === present) return;
  for (const name of Object.keys(row)) {
    if (plan.known.has(name) || handled.has(name)) continue;
    extra[prefix + plan.nameInPath(name)] = extraText(row[name]);
  }
}

function decodeMember(member: Member, raw: unknown, prefix: string, extra: Extra): unknown {
  if (raw === undefined || raw === null) return null;
  const { within, nameInPath } = member;
  const value = within === null ? member.coerce(raw) : within(raw, prefix + nameInPath, extra);
  if (value === DRIFTED) {
    extra[prefix + nameInPath] = extraText(raw);
    return null;
  }
  return value === 0 && member.zeroIsUnknown ? null : value;
}

function extraText(value: unknown): string {
  if (isTooDeep(value)) throw new RangeError(TOO_DEEP);
  return jsonTextAsSent(value);
}

function failureOf(row: unknown, error: unknown): string {
  return isTooDeep(row) ? TOO_DEEP : `the row cannot be decoded: ${(error as Error).message}`;
}

const NONE: ReadonlySet<string> = new Set();

/** The order of the vendor's members must make no difference. */
function sorted<T>(entries: Record<string, T>): Record<string, T> {
  const names = Object.keys(entries);
  // Stryker disable next-line ConditionalExpression,EqualityOperator: only a faster way to the same result
  return names.length < 2
    ? entries
    : Object.fromEntries(names.sort().map((name) => [name, entries[name] as T]));
}

/** Whether the raw value tells a reader no more than its whole seconds: it is text of digits, or milliseconds. */
function isMilliseconds(raw: unknown, seconds: number): boolean {
  const value = Number(raw);
  return value === seconds || Math.floor(value / 1000) === seconds;
}

function reasonFor(row: unknown, id: string | null, updated: number | null, feed: FeedDefinition): string {
  if (id === FENCE_KEY)
    return `the id ${id} is reserved: highwater's own records in the compacted topics have it as their key`;
  if (isTooDeep(row)) return TOO_DEEP;
  if (!isJsonObject(row)) return `the row is not an object but ${kindOf(row)}`;
  const { updatedField, updatedFormat } = feed;
  const lacking = idPaths(feed).filter((path) => rowKeys({ ...feed, idField: path }).id(row) === null);
  const missing = [
    ...lacking.map((path) => `${path} (${describeFor(memberReader(path)(row), 'text or a whole number')})`),
    ...(updated === null
      ? [`${updatedField} (${describeFor(memberReader(updatedField!)(row), expectedTime[updatedFormat])})`]
      : []),
  ];
  return `the record has no usable ${missing.join(' and no usable ')}`;
}

function kindOf(row: unknown): string {
  if (row instanceof ExactNumber) return 'number';
  return Array.isArray(row) ? 'an array' : row === null ? 'null' : typeof row;
}

function describeFor(value: unknown, expected: string): string {
  return value === undefined ? 'missing' : `${describe(value)}, expected ${expected}`;
}

function describe(value: unknown): string {
  return value === undefined ? 'missing' : jsonTextAsSent(value).slice(0, 80).toWellFormed();
}
