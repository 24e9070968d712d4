import { HighwaterError } from '../../../errors';
import type { LogRecord } from '../../commit-log';
import { decompress } from '../connection/compression';
import { type Checksum, crc32c } from './crc32c';

/** A batch as brokers keep it (record format v2), decompressed. https://kafka.apache.org/documentation/#recordbatch */
export interface RecordBatch {
  readonly baseOffset: bigint;
  /** Compaction removes records and does not change this. */
  readonly lastOffset: bigint;
  /** -1 if the producer has none. */
  readonly producerId: bigint;
  readonly inTransaction: boolean;
  /** Its only record is a marker that ends a transaction. */
  readonly isControl: boolean;
  /** In ms. Records hold their distance from it. */
  readonly firstTimestamp: number;
  /** When the broker appended it, in ms, if the topic is set to LogAppendTime; null: records have their own times. */
  readonly appendedMs: number | null;
  readonly count: number;
  /** The records. */
  readonly bytes: Buffer;
}

/** Bytes of a batch before its records. */
export const HEADER_BYTES = 61;
/** Header bytes that the length of the batch does not count: the length itself, and the offset. */
export const UNCOUNTED_BYTES = 12;
/** Where the part begins that the checksum is over. */
export const BEHIND_CHECKSUM = 21;
/** Where its fields begin. */
const at = {
  baseOffset: 0,
  length: 8,
  format: 16,
  checksum: 17,
  attributes: BEHIND_CHECKSUM,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  count: 57,
} as const;
export const FORMAT = 2;
/** Bits of the attributes. */
export const TRANSACTIONAL = 16;
const [CODEC, APPEND_TIME, CONTROL] = [7, 8, 32] as const;

/**
 * The batches of an answer up to a batch that is cut off (brokers fill an answer to the byte) or cannot be read. A reader that goes on
 * behind them meets that batch as the first one.
 * @param place for errors: `ipos/0`
 * @throws HighwaterError LOG_UNREADABLE when the first one is damaged, or has a format of before transactions
 */
export async function readBatches(records: Buffer, place: string): Promise<RecordBatch[]> {
  const { batches, failure } = wholeBatches(records, place);
  const checksum = await crc32c();
  // In parallel: each batch is decompressed in another thread.
  const read = await Promise.allSettled(
    batches.map(async (batch) => {
      assertUndamaged(batch, checksum, place);
      return readBatch(batch, place);
    }),
  );
  const readable: RecordBatch[] = [];
  for (const one of read) {
    if (one.status === 'fulfilled') readable.push(one.value);
    else if (readable.length > 0) break;
    else throw one.reason;
  }
  if (readable.length === 0 && failure !== null) throw failure;
  return readable;
}

/** @returns the leading batches that are whole, and the fault of the batch behind them, unless that is only cut off */
function wholeBatches(records: Buffer, place: string) {
  const batches: Buffer[] = [];
  for (let start = 0; start + HEADER_BYTES <= records.length; ) {
    const end = start + UNCOUNTED_BYTES + records.readInt32BE(start + at.length);
    const format = records[start + at.format];
    const batch = () => `the batch of ${place} at offset ${records.readBigInt64BE(start + at.baseOffset)}`;
    if (format !== FORMAT) return { batches, failure: otherFormat(batch(), format) };
    if (end < start + HEADER_BYTES) {
      return { batches, failure: new HighwaterError('LOG_UNREADABLE', `${batch()} has no length`) };
    }
    if (end > records.length) break;
    batches.push(records.subarray(start, end));
    start = end;
  }
  return { batches, failure: null };
}

/** kafkajs does not check the sum, and nothing else detects damage to an uncompressed value. */
function assertUndamaged(batch: Buffer, checksum: Checksum, place: string): void {
  const told = batch.readUInt32BE(at.checksum);
  const found = checksum(batch.subarray(BEHIND_CHECKSUM));
  if (told === found) return;
  const what = `the batch of ${place} at offset ${batch.readBigInt64BE(at.baseOffset)} is damaged: its checksum is ${hex(found)}, and ought to be ${hex(told)}`;
  throw new HighwaterError('LOG_UNREADABLE', what);
}

const hex = (sum: number): string => sum.toString(16).padStart(8, '0');

async function readBatch(batch: Buffer, place: string): Promise<RecordBatch> {
  const attributes = batch.readInt16BE(at.attributes);
  const baseOffset = batch.readBigInt64BE(at.baseOffset);
  const maxTimestamp = Number(batch.readBigInt64BE(at.maxTimestamp));
  const header = {
    baseOffset,
    lastOffset: baseOffset + BigInt(batch.readInt32BE(at.lastOffsetDelta)),
    firstTimestamp: Number(batch.readBigInt64BE(at.firstTimestamp)),
    appendedMs: (attributes & APPEND_TIME) === 0 ? null : maxTimestamp,
    producerId: batch.readBigInt64BE(at.producerId),
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControl: (attributes & CONTROL) !== 0,
    count: batch.readInt32BE(at.count),
  };
  const bytes = batch.subarray(HEADER_BYTES);
  // Compaction has emptied it: there is nothing to decompress.
  if (header.count === 0) return { ...header, bytes };
  try {
    return { ...header, bytes: await decompress(attributes & CODEC, bytes) };
  } catch (cause) {
    // The batch is fine: this machine lacks the codec.
    if (cause instanceof HighwaterError) throw cause;
    const what = `the batch of ${place} at offset ${baseOffset} cannot be decompressed: ${(cause as Error).message}`;
    throw new HighwaterError('LOG_UNREADABLE', what, { cause });
  }
}

/**
 * The records of a batch, one at a time. Their values are views of the batch: copy a value to keep it.
 * @throws HighwaterError LOG_UNREADABLE if the bytes are not records
 */
export function* recordsOf(topic: string, partition: number, batch: RecordBatch): Generator<LogRecord> {
  const { baseOffset, firstTimestamp, appendedMs, bytes, count } = batch;
  const decoder = new RecordsDecoder(bytes);
  const base = Number(baseOffset);
  for (let i = 0; i < count; i++) {
    const record = decoder.next();
    if (record === null) {
      const what = `record ${i + 1} of ${count} in the batch of ${topic}/${partition} at offset ${baseOffset} cannot be decoded`;
      throw new HighwaterError('LOG_UNREADABLE', what);
    }
    const { offsetDelta, timestampDelta, key, value, headers } = record;
    const timestamp = appendedMs ?? firstTimestamp + timestampDelta;
    yield { topic, partition, logOffset: base + offsetDelta, timestamp, key, headers, value };
  }
}

function otherFormat(batch: string, format: number | undefined): HighwaterError {
  const what = `${batch} has format ${format}; only format ${FORMAT} is read, which Kafka has used since 0.11`;
  return new HighwaterError('LOG_UNREADABLE', what, {
    remedy:
      'Publish to topics of your own (HIGHWATER_TOPIC_PREFIX), or let retention remove such old records.',
  });
}

/**
 * Decodes record after record of one batch (format v2). Names of headers, and most of their values, equal those of the record
 * before. An equal text is compared, not decoded.
 */
export class RecordsDecoder {
  private at = 0;
  private readonly names: string[] = [];
  private readonly texts: string[] = [];

  constructor(private readonly bytes: Buffer) {}

  /**
   * Its offset and its time, in ms, are relative to the batch. A missing key is empty. The value is a view.
   * @returns null when what stands there is no record
   */
  next() {
    const length = this.varint();
    const end = this.at + length;
    if (!(length > 0 && end <= this.bytes.length)) return null;
    this.at++; // attributes: none are defined
    const timestampDelta = this.varint();
    const offsetDelta = this.varint();
    const key = this.text(this.varint(), '');
    const valueLength = this.varint();
    const value = valueLength < 0 ? null : this.bytes.subarray(this.at, this.at + valueLength);
    this.at += Math.max(valueLength, 0);
    const headers = this.headers(end);
    return this.at === end ? { offsetDelta, timestampDelta, key, value, headers } : null;
  }

  /** If several have one name, the last one counts. */
  private headers(end: number): Record<string, string> {
    const headers: Record<string, string> = {};
    const count = this.varint();
    for (let i = 0; i < count && this.at < end; i++) {
      const name = this.text(this.varint(), this.names[i] ?? '');
      const text = this.text(this.varint(), this.texts[i] ?? '');
      this.names[i] = name;
      this.texts[i] = text;
      headers[name] = text;
    }
    return headers;
  }

  /** @param length in bytes; below 0 there is no text, which counts as empty. @param guess the probable text */
  private text(length: number, guess: string): string {
    if (length <= 0) return '';
    const start = this.at;
    this.at += length;
    if (guess.length === length) {
      let i = 0;
      // An ASCII byte equals its UTF-16 unit. A unit from 0x80 on takes more bytes, so a text of this length is another one.
      while (i < length && this.bytes[start + i]! < 0x80 && this.bytes[start + i] === guess.charCodeAt(i))
        i++;
      if (i === length) return guess;
    }
    return this.bytes.toString('utf8', start, this.at);
  }

  /** Zigzag. Exact up to 2^52; no length or time distance is larger. */
  private varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    let value = byte & 0x7f;
    for (let factor = 0x80; byte >= 0x80; factor *= 0x80) {
      byte = bytes[this.at++]!;
      value += (byte & 0x7f) * factor;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
