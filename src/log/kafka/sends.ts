import type { Message } from 'kafkajs';
import type { ProducerRecord } from '../commit-log';
import { recordBytes } from '../record-bytes';
import { type EncodedRecords, RecordsEncoder } from './record-format';

/** Records that go to one partition by one request. */
export interface Send<T extends SentRecords> {
  /** @returns false, and nothing is done, where another send has to begin */
  add(record: ProducerRecord): boolean;
  /** How it becomes again what it is now. */
  mark(): () => void;
  /** Nothing can be added any more. What it returns never changes: a send is tried again with it. */
  finish(): T;
  /** What `finish` has returned is of no more use: the memory goes to other sends. */
  release(): void;
}

/** As brokers keep them, or as kafkajs takes them. */
export type SentRecords = EncodedRecords | PlainMessages;

export interface PlainMessages {
  readonly count: number;
  readonly messages: Message[];
}

/** @param maxBytes which a send stays below, unless it has a single record */
export type NewSend<T extends SentRecords = SentRecords> = (partition: number, maxBytes: number) => Send<T>;

/** More take too much memory at a time. */
const MESSAGES_PER_SEND = 1_000;

/** Beside key, value and headers: lengths, deltas, and the record's share of the batch header. */
const RECORD_OVERHEAD_BYTES = 96;

/** Record by record: what any kafkajs takes, at a third of the speed. */
export const asMessages: NewSend<PlainMessages> = (partition, maxBytes) => {
  const messages: Message[] = [];
  let bytes = 0;
  return {
    add(record) {
      const { key, value, headers, timestamp } = record;
      const more = recordBytes(record) + RECORD_OVERHEAD_BYTES;
      if (messages.length > 0 && (messages.length >= MESSAGES_PER_SEND || bytes + more > maxBytes))
        return false;
      bytes += more;
      // A copy: whoever gives it writes over it.
      const kept = value === null ? null : Buffer.from(value);
      messages.push({ ...{ key, value: kept, headers, partition }, timestamp: String(timestamp) });
      return true;
    },
    mark() {
      const before = { count: messages.length, bytes };
      return () => {
        messages.length = before.count;
        bytes = before.bytes;
      };
    },
    finish: () => ({ count: messages.length, messages }),
    release() {},
  };
};

/** Below the limit by what the batch has beside its records. */
const BATCH_HEADER_BYTES = 128;

export const asEncoded: NewSend<EncodedRecords> = (_partition, maxBytes) =>
  new RecordsEncoder(maxBytes - BATCH_HEADER_BYTES);
