import { MOST_BYTES_A_UNIT, MOST_VARINT_BYTES, writeText, writeVarint } from '../../bytes/varint-text';
import { isListOfTexts, type RecordShape, type Shape } from '../record-shape';

/**
 * Writes a value of one schema from `start` on. @returns its end; negative if the memory is too short or the value needs avsc,
 * which then writes it or throws the error
 */
export type PlainWriter = (value: object, target: Buffer, start: number) => number;

interface Part {
  readonly name: string;
  readonly write: (value: unknown, target: Buffer, start: number) => number;
}

/** Not written, or not to the end. */
const NONE = -1;

/**
 * Writes the same bytes as avsc in a fifth of the time: avsc asks for the length of each short text by a call into C++. A lone surrogate
 * becomes U+FFFD, where avsc's bytes are not UTF-8. Null for a record with other fields than texts, longs, lists of texts, and
 * records of these.
 */
export function plainWriter({ fields }: RecordShape): PlainWriter | null {
  const parts: Part[] = [];
  for (const { name, value } of fields) {
    const write = writerOf(value);
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

function writerOf(shape: Shape): Part['write'] | null {
  if (shape.nullBranch !== null) return null;
  if (isListOfTexts(shape)) return texts;
  if (shape.kind === 'plain') return shape.type === 'string' ? text : shape.type === 'long' ? long : null;
  const write = shape.kind === 'record' ? plainWriter(shape) : null;
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
  // An empty block ends the list.
  return at < 0 ? NONE : long(0, target, at);
}
