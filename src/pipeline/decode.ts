import type { FieldSchema, RecordSchema } from '../avro/schemas';
import type { FeedDefinition } from '../feeds/definition';
import { jsonText } from '../json-text';
import { EncodedRecord } from '../transcoder/encoded-record';
import type { Rejected, VendorRecord } from '../types';
import { type Coercion, coercionOf, DRIFTED } from './coerce';
import { rowId, rowUpdated } from './row';

/** Rows of a page as records of the feed's schema, and those that cannot be records. Nothing is dropped (I8). */
export interface Decoded {
  readonly records: readonly VendorRecord[];
  /** The row of each record, at the same place. */
  readonly rows: readonly unknown[];
  readonly rejected: readonly Rejected[];
}

export type Decoder = (rows: readonly unknown[]) => Decoded;

/** Compiles a decoder from the feed's schema and its declared unknowns. */
export function createDecoder(feed: FeedDefinition, schema: RecordSchema): Decoder {
  const fields = schema.fields.filter(
    (field) => field.name !== 'id' && field.name !== 'updated' && field.name !== 'extra',
  );
  const plan = membersOf(fields, '', feed);
  const before = new Set(['id', 'updated']);

  const decodeRecord = (
    row: Readonly<Record<string, unknown>>,
    id: string,
    updated: number,
  ): VendorRecord => {
    const extra: Record<string, string> = Object.create(null);
    const record: Record<string, unknown> = { ...plan.blank };
    record.id = id;
    decodeMembers(plan, before, row, record, extra);
    if (row.updated !== updated && !isMilliseconds(row.updated, updated))
      extra.updated = JSON.stringify(row.updated);
    record.updated = updated;
    record.extra = sorted(extra);
    return record as unknown as VendorRecord;
  };

  return (page) => {
    const records: VendorRecord[] = [];
    const rows: unknown[] = [];
    const rejected: Rejected[] = [];
    for (const row of page) {
      if (row instanceof EncodedRecord) {
        records.push(row);
        rows.push(row);
        continue;
      }
      const id = rowId(row);
      const updated = rowUpdated(row);
      if (id !== null && updated !== null) {
        records.push(decodeRecord(row as Record<string, unknown>, id, updated));
        rows.push(row);
      } else rejected.push({ reason: reasonFor(row, id, updated), raw: jsonText(row) });
    }
    return { records, rows, rejected };
  };
}

/** How one object of the vendor becomes one Avro record. */
interface MembersPlan {
  readonly members: readonly Member[];
  /** 0 is unknown in `name` where `needs` of the same record is. */
  readonly zeros: readonly { readonly name: string; readonly needs: string }[];
  readonly known: ReadonlySet<string>;
  /** Dotted vendor path of the object with a dot behind it; empty at the top. */
  readonly prefix: string;
  /**
   * The record with nothing in it. Each record begins as a copy: objects that get their members one by one, by names that are
   * not in the program, take three times as long to make, and to encode.
   */
  readonly blank: Readonly<Record<string, unknown>>;
}

interface Member {
  readonly name: string;
  readonly vendorName: string;
  readonly coerce: Coercion;
  readonly nested: MembersPlan | null;
  readonly zeroIsUnknown: boolean;
}

function membersOf(fields: readonly FieldSchema[], prefix: string, feed: FeedDefinition): MembersPlan {
  const members = fields.map((field): Member => {
    const vendorName = field.vendorName ?? field.name;
    const path = prefix + vendorName;
    const type = Array.isArray(field.type) ? field.type.find((branch) => branch !== 'null') : field.type;
    const isRecord = typeof type === 'object' && type !== null && 'type' in type && type.type === 'record';
    return {
      name: field.name,
      vendorName,
      coerce: coercionOf(type, feed.unknowns.emptyText),
      nested: isRecord ? membersOf((type as unknown as RecordSchema).fields, `${path}.`, feed) : null,
      zeroIsUnknown: feed.unknowns.zero.includes(path),
    };
  });
  const names = members.map(({ name }) => name);
  const all = prefix === '' ? ['id', ...names, 'updated', 'extra'] : names;
  return {
    members,
    zeros: members.flatMap(({ name, vendorName }) => {
      const needs = feed.unknowns.zeroWithout[prefix + vendorName];
      return needs === undefined ? [] : [{ name, needs }];
    }),
    known: new Set(members.map((member) => member.vendorName)),
    prefix,
    blank: Object.fromEntries(all.map((name) => [name, null])),
  };
}

function decodeMembers(
  plan: MembersPlan,
  handled: ReadonlySet<string>,
  row: Readonly<Record<string, unknown>>,
  record: Record<string, unknown>,
  extra: Record<string, string>,
): void {
  let present = 0;
  for (const member of plan.members) {
    // Not what every object has: a member may be called constructor.
    const raw = Object.hasOwn(row, member.vendorName) ? row[member.vendorName] : undefined;
    if (raw !== undefined) present++;
    record[member.name] = decodeMember(member, raw, plan.prefix, extra);
  }
  for (const { name, needs } of plan.zeros) {
    if (record[name] === 0 && record[needs] === null) record[name] = null;
  }
  let members = 0;
  for (const _ in row) members++; // a list of their names is only made where it is needed
  if (members === present + handled.size) return;
  for (const name of Object.keys(row)) {
    if (plan.known.has(name) || handled.has(name)) continue;
    extra[(plan.prefix + name).toWellFormed()] = JSON.stringify(row[name]);
  }
}

function decodeMember(member: Member, raw: unknown, prefix: string, extra: Record<string, string>): unknown {
  if (raw === undefined || raw === null) return null;
  if (member.nested !== null && isObject(raw)) {
    const nested: Record<string, unknown> = { ...member.nested.blank };
    decodeMembers(member.nested, NONE, raw, nested, extra);
    return nested;
  }
  const value = member.coerce(raw);
  if (value === DRIFTED) {
    extra[prefix + member.vendorName] = JSON.stringify(raw);
    return null;
  }
  return value === 0 && member.zeroIsUnknown ? null : value;
}

const NONE: ReadonlySet<string> = new Set();

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The order of the vendor's members must not make a difference. */
function sorted(extra: Record<string, string>): Record<string, string> {
  const names = Object.keys(extra);
  return names.length < 2
    ? extra
    : Object.fromEntries(names.sort().map((name) => [name, extra[name] as string]));
}

/** Brought to whole seconds without a loss that a reader could miss: text of digits, or milliseconds. */
function isMilliseconds(raw: unknown, seconds: number): boolean {
  const value = Number(raw);
  return value === seconds || Math.floor(value / 1000) === seconds;
}

function reasonFor(row: unknown, id: string | null, updated: number | null): string {
  if (!isObject(row))
    return `the row is not an object but ${Array.isArray(row) ? 'an array' : row === null ? 'null' : typeof row}`;
  const missing = [
    ...(id === null ? [`id (${describe(row.id)})`] : []),
    ...(updated === null ? [`updated (${describe(row.updated)})`] : []),
  ];
  return `the record has no usable ${missing.join(' and no usable ')}`;
}

function describe(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 80).toWellFormed();
}
