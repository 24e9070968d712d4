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

/** More than the lengths, attributes and deltas of a record take. */
const FIXED_BYTES = 64;
/** The lengths of a header's name and value. */
const HEADER_BYTES = 10;
/** For a record of 64 to 8,191 bytes, as nearly all are. */
const USUAL_LENGTH_BYTES = 2;

/** Encodes record after record of one batch, which stays below so many bytes unless it has a single record. */
export class RecordsEncoder {
  private scratch = takeScratch();
  private at = 0;
  private count = 0;
  /** Infinite, not 0: V8 would make it a field of small integers, and compile this class again at the first record. */
  private firstTimestamp = Number.POSITIVE_INFINITY;
  private maxTimestamp = Number.NEGATIVE_INFINITY;
  private finished: EncodedRecords | null = null;

  constructor(private readonly maxBytes: number) {}

  /** @returns false, having done nothing, if the batch would become too large or the record is older than its first record */
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

  /** @returns a function that restores the present state */
  mark(): () => void {
    const { at, count, firstTimestamp, maxTimestamp } = this;
    return () => Object.assign(this, { at, count, firstTimestamp, maxTimestamp });
  }

  /** Nothing can be added afterwards. Later calls return the same. */
  finish(): EncodedRecords {
    const { at, count, firstTimestamp, maxTimestamp, scratch } = this;
    this.finished ??= { bytes: scratch.subarray(0, at), count, firstTimestamp, maxTimestamp };
    return this.finished;
  }

  /** Lets another batch overwrite the bytes of this one. */
  release(): void {
    if (this.finished === null) throw new RangeError('this batch is not finished');
    // Given back only once, or two batches would share it.
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
 * Buffers of finished batches, for reuse: collecting a new buffer for each batch as garbage costs more than writing it. There are never
 * more than batches that were open at once: two for each partition of the feeds that catch up, each as large as a batch may be.
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
  // The length stands before the record.
  const length = at - bodyAt;
  const lengthBytes = sizeOfVarint(length);
  if (lengthBytes !== USUAL_LENGTH_BYTES) target.copyWithin(start + lengthBytes, bodyAt, at);
  writeVarint(target, start, length);
  return start + lengthBytes + length;
}
