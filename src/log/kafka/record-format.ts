import type { ProducerRecord } from '../commit-log';

/** Records of one batch as brokers keep them (record format v2), without the header of the batch. */
export interface EncodedRecords {
  readonly bytes: Buffer;
  readonly count: number;
  /** Least and greatest timestamp, ms: the header of the batch has them, each record its distance from the first. */
  readonly firstTimestamp: number;
  readonly maxTimestamp: number;
}

/** A record takes less: its lengths, its attributes, its deltas. */
const FIXED_BYTES = 64;
/** Of each header: the lengths of its name and its value. */
const HEADER_BYTES = 10;
/** UTF-8 has at most so many for one unit of UTF-16. */
const MOST_BYTES_A_UNIT = 3;
/** Of a record from 64 to 8,191 bytes, which nearly all are. */
const USUAL_LENGTH_BYTES = 2;

/** Grows to the largest batch; what was encoded is copied out of it. */
let scratch = Buffer.allocUnsafeSlow(1 << 20);

/** @param records at least one */
export function encodeRecords(records: readonly ProducerRecord[]): EncodedRecords {
  let [firstTimestamp, maxTimestamp] = [Number.POSITIVE_INFINITY, 0];
  for (const { timestamp } of records) {
    if (timestamp < firstTimestamp) firstTimestamp = timestamp;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
  }
  let at = 0;
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!;
    makeRoom(at, mostBytes(record));
    at = writeRecord(at, record, i, record.timestamp - firstTimestamp);
  }
  return {
    bytes: Buffer.from(scratch.subarray(0, at)),
    count: records.length,
    ...{ firstTimestamp, maxTimestamp },
  };
}

function mostBytes({ key, value, headers }: ProducerRecord): number {
  let [units, count] = [key.length, 0];
  for (const name in headers) {
    units += name.length + headers[name]!.length;
    count++;
  }
  return FIXED_BYTES + count * HEADER_BYTES + units * MOST_BYTES_A_UNIT + (value?.length ?? 0);
}

function makeRoom(at: number, bytes: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * scratch.length, at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

/** @returns where the record ends */
function writeRecord(
  start: number,
  { key, value, headers }: ProducerRecord,
  offsetDelta: number,
  timestampDelta: number,
): number {
  const bodyAt = start + USUAL_LENGTH_BYTES;
  let at = bodyAt;
  scratch[at++] = 0; // attributes: none are defined
  at = writeVarint(at, timestampDelta);
  at = writeVarint(at, offsetDelta);
  at = writeText(at, key);
  if (value === null) {
    scratch[at++] = 1; // length -1
  } else {
    at = writeVarint(at, value.length);
    at += value.copy(scratch, at);
  }
  let count = 0;
  for (const _ in headers) count++;
  at = writeVarint(at, count);
  for (const name in headers) {
    at = writeText(at, name);
    at = writeText(at, headers[name]!);
  }
  // The length stands before what it is the length of.
  const length = at - bodyAt;
  const lengthBytes = sizeOfVarint(length);
  if (lengthBytes !== USUAL_LENGTH_BYTES) scratch.copyWithin(start + lengthBytes, bodyAt, at);
  writeVarint(start, length);
  return start + lengthBytes + length;
}

/** Its length in UTF-8, and the text. Nearly all are ASCII, and short: a call of Buffer's would take longer than the loop. */
function writeText(start: number, text: string): number {
  const units = text.length;
  let at = writeVarint(start, units);
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return writeLongText(start, text);
    scratch[at++] = unit;
  }
  return at;
}

function writeLongText(start: number, text: string): number {
  const at = writeVarint(start, Buffer.byteLength(text));
  return at + scratch.write(text, at);
}

/** Zigzag, as all numbers of a record; none of these is negative. @param value whole, below 2^52 */
function writeVarint(start: number, value: number): number {
  let at = start;
  let rest = value * 2;
  while (rest >= 0x80) {
    scratch[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  scratch[at++] = rest;
  return at;
}

function sizeOfVarint(value: number): number {
  let [bytes, rest] = [1, value * 2];
  while (rest >= 0x80) {
    bytes++;
    rest = Math.floor(rest / 0x80);
  }
  return bytes;
}
