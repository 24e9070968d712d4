import { MOST_BYTES_A_UNIT, sizeOfVarint, writeText, writeVarint } from '../../../bytes/varint-text';
import type { ProducerRecord } from '../../commit-log';

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
/** Of a record from 64 to 8,191 bytes, which nearly all are. */
const USUAL_LENGTH_BYTES = 2;

/** Encodes record after record of one batch, which stays below so many bytes unless it has a single record. */
export class RecordsEncoder {
  private scratch = takeScratch();
  private at = 0;
  private count = 0;
  /** Infinite, not 0: V8 would take it for a field of small integers, and compile all of this again for the first record. */
  private firstTimestamp = Number.POSITIVE_INFINITY;
  private maxTimestamp = Number.NEGATIVE_INFINITY;
  private finished: EncodedRecords | null = null;

  constructor(private readonly maxBytes: number) {}

  /** @returns false, and nothing is done, where the batch would become too large by it, or the record is older than its first one */
  add(record: ProducerRecord): boolean {
    if (this.finished !== null) throw new RangeError('this batch is finished');
    const { key, value, headers, timestamp } = record;
    let [units, headerCount] = [key.length, 0];
    for (const name in headers) {
      units += name.length + headers[name]!.length;
      headerCount++;
    }
    const most = FIXED_BYTES + headerCount * HEADER_BYTES + units * MOST_BYTES_A_UNIT + (value?.length ?? 0);
    if (this.count === 0) this.firstTimestamp = timestamp;
    else if (this.at + most > this.maxBytes || timestamp < this.firstTimestamp) return false;
    this.makeRoom(most);
    const [offsetDelta, timestampDelta] = [this.count, timestamp - this.firstTimestamp];
    this.at = writeRecord(this.scratch, this.at, record, headerCount, offsetDelta, timestampDelta);
    this.count++;
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp;
    return true;
  }

  /** How it becomes again what it is now. */
  mark(): () => void {
    const { at, count, firstTimestamp, maxTimestamp } = this;
    return () => Object.assign(this, { at, count, firstTimestamp, maxTimestamp });
  }

  /** Nothing can be added behind it. The same, asked again. */
  finish(): EncodedRecords {
    const { at, count, firstTimestamp, maxTimestamp, scratch } = this;
    this.finished ??= { bytes: scratch.subarray(0, at), count, firstTimestamp, maxTimestamp };
    return this.finished;
  }

  /** Another batch is going to be written over the bytes of this one. */
  release(): void {
    if (this.finished === null) throw new RangeError('this batch is not finished');
    // Given back once: two who write to it would not know of each other.
    if (this.scratch !== NOTHING) free.push(this.scratch);
    this.scratch = NOTHING;
  }

  private makeRoom(bytes: number): void {
    const { at, scratch } = this;
    if (at + bytes <= scratch.length) return;
    this.scratch = Buffer.allocUnsafeSlow(Math.max(2 * scratch.length, at + bytes));
    scratch.copy(this.scratch, 0, 0, at);
  }
}

/**
 * Where batches that are done were encoded: a buffer of its own for each batch costs more than writing it, for what the collector does
 * about such an amount of memory. There are never more of them than batches that were open at once: one for each partition of the
 * feeds that catch up, twice, each as large as a batch may be.
 */
const free: Buffer[] = [];
const NOTHING = Buffer.alloc(0);

function takeScratch(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(16 * 1024);
}

/** @returns where the record ends */
function writeRecord(
  target: Buffer,
  start: number,
  { key, value, headers }: ProducerRecord,
  headerCount: number,
  offsetDelta: number,
  timestampDelta: number,
): number {
  const bodyAt = start + USUAL_LENGTH_BYTES;
  let at = bodyAt;
  target[at++] = 0; // attributes: none are defined
  at = writeVarint(target, at, timestampDelta);
  at = writeVarint(target, at, offsetDelta);
  at = writeText(target, at, key);
  if (value === null) {
    target[at++] = 1; // length -1
  } else {
    at = writeVarint(target, at, value.length);
    at += value.copy(target, at);
  }
  at = writeVarint(target, at, headerCount);
  for (const name in headers) {
    at = writeText(target, at, name);
    at = writeText(target, at, headers[name]!);
  }
  // The length stands before what it is the length of.
  const length = at - bodyAt;
  const lengthBytes = sizeOfVarint(length);
  if (lengthBytes !== USUAL_LENGTH_BYTES) target.copyWithin(start + lengthBytes, bodyAt, at);
  writeVarint(target, start, length);
  return start + lengthBytes + length;
}
