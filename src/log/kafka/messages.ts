import type { Message } from 'kafkajs';
import type { ProducerRecord } from '../commit-log';
import { partitionOf } from '../partitioner';
import { recordBytes } from '../record-bytes';
import type { ToMessages } from './record-block';

/** What one partition gets of a batch: sends to be made one after the other. */
export interface PartitionSends {
  readonly topic: string;
  readonly partition: number;
  readonly sends: Message[][];
}

/**
 * Messages of one send. kafkajs groups them in a time that grows with the square of their number, and makes one record batch
 * of them, which the broker refuses above its limit.
 */
const MESSAGES_PER_SEND = 1_000;

/** Beside key, value and headers: lengths, deltas, and the record's share of the batch header. */
const RECORD_OVERHEAD_BYTES = 96;

/**
 * Records by the partition of their key, in their order, cut into sends that no broker refuses for their size. The partition is
 * ours to say: kafkajs's own partitioner computes the same with big integers, for 8 µs a record.
 */
export function partitionSends(
  records: readonly ProducerRecord[],
  partitionsOf: (topic: string) => number,
  maxBatchBytes: number,
  toMessages: ToMessages,
): PartitionSends[] {
  const places = new Map<string, Place>();
  for (const record of records) {
    const { topic, key } = record;
    const partition = partitionOf(key, partitionsOf(topic));
    const name = `${partition} ${topic}`;
    let place = places.get(name);
    if (place === undefined) {
      place = { topic, partition, sends: [[]], bytes: 0 };
      places.set(name, place);
    }
    const bytes = recordBytes(record) + RECORD_OVERHEAD_BYTES;
    const last = place.sends.at(-1)!;
    if (last.length > 0 && (last.length >= MESSAGES_PER_SEND || place.bytes + bytes > maxBatchBytes)) {
      place.sends.push([record]);
      place.bytes = bytes;
    } else {
      last.push(record);
      place.bytes += bytes;
    }
  }
  return [...places.values()].map(({ topic, partition, sends }) => ({
    topic,
    partition,
    sends: sends.map((own) => toMessages(own, partition)),
  }));
}

/** What goes to one partition. */
interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly sends: ProducerRecord[][];
  /** Of the last send. */
  bytes: number;
}
