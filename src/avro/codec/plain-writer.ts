import { MOST_BYTES_A_UNIT, MOST_VARINT_BYTES, writeText, writeVarint } from '../../bytes/varint-text';
import type { FieldSchema, RecordSchema } from '../schemas';

/**
 * Writes a value of one schema, from `start` on. Negative where it does not fit before the end of the memory, or is none that this
 * writes: then avsc is to write it, or to say what is wrong with it.
 */
export type PlainWriter = (value: object, target: Buffer, start: number) => number;

interface Part {
  readonly name: string;
  readonly write: (value: unknown, target: Buffer, start: number) => number;
}

/** Not written, or not to the end. */
const NONE = -1;

/**
 * The same bytes as avsc's, in a fifth of the time: of short texts it asks for the length of each one by a call into C++.
 * Of half a surrogate pair it writes U+FFFD, where avsc's bytes are none of UTF-8. Null for a record with other than texts, longs, lists of texts, and records of these.
 */
export function plainWriter({ fields }: RecordSchema): PlainWriter | null {
  const parts: Part[] = [];
  for (const { name, type } of fields) {
    const write = fieldWriterOf(type);
    if (write === null) return null;
    parts.push({ name, write });
  }
  return (value, target, start) => {
    const values = value as Readonly<Record<string, unknown>>;
    let at = start;
    for (const { name, write } of parts) {
      at = write(values[name], target, at);
      if (at < 0) return NONE;
    }
    return at;
  };
}

function fieldWriterOf(type: FieldSchema['type']): Part['write'] | null {
  if (type === 'string') return text;
  if (type === 'long') return long;
  if (typeof type !== 'object' || type === null || Array.isArray(type)) return null;
  const named = type as { readonly type: unknown; readonly items?: unknown; readonly logicalType?: unknown };
  if (named.logicalType !== undefined) return null;
  if (named.type === 'array') return named.items === 'string' ? texts : null;
  if (named.type !== 'record') return null;
  const write = plainWriter(type as unknown as RecordSchema);
  if (write === null) return null;
  return (value, target, start) =>
    typeof value === 'object' && value !== null ? write(value, target, start) : NONE;
}

function text(value: unknown, target: Buffer, start: number): number {
  if (typeof value !== 'string') return NONE;
  const most = MOST_VARINT_BYTES + value.length * MOST_BYTES_A_UNIT;
  return start + most > target.length ? NONE : writeText(target, start, value);
}

function long(value: unknown, target: Buffer, start: number): number {
  if (typeof value !== 'number' || !(value >= 0 && value < 2 ** 52) || !Number.isInteger(value)) return NONE;
  return start + MOST_VARINT_BYTES > target.length ? NONE : writeVarint(target, start, value);
}

function texts(value: unknown, target: Buffer, start: number): number {
  if (!Array.isArray(value)) return NONE;
  let at = value.length === 0 ? start : long(value.length, target, start);
  for (const each of value) {
    if (at < 0) return NONE;
    at = text(each, target, at);
  }
  // A block of none is the end.
  return at < 0 ? NONE : long(0, target, at);
}
