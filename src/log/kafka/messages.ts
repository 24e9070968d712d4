import type { Message, TopicMessages } from 'kafkajs';
import type { ProducerRecord } from '../commit-log';
import { partitionOf } from '../partitioner';

/**
 * Records of one send. kafkajs groups the messages of a send in a time that grows with the square of their number, and
 * makes one batch of those of a partition, which the broker refuses above its limit.
 */
const MESSAGES_PER_SEND = 1_000;

/** Beside key, value and headers: lengths, deltas, and the record's share of the batch header. */
const RECORD_OVERHEAD_BYTES = 96;

/** Records as kafkajs sends them, in their order, cut into sends that no broker refuses for their size. */
export function* sends(
  records: readonly ProducerRecord[],
  partitionsOf: (topic: string) => number,
  maxBatchBytes: number,
): Generator<TopicMessages[]> {
  let topics = new Map<string, Message[]>();
  let count = 0;
  let bytesOf = new Map<string, number>();
  for (const record of records) {
    const { topic, key } = record;
    const partition = partitionOf(key, partitionsOf(topic));
    const place = `${partition} ${topic}`;
    const bytes = (bytesOf.get(place) ?? 0) + recordBytes(record) + RECORD_OVERHEAD_BYTES;
    if (count >= MESSAGES_PER_SEND || (bytes > maxBatchBytes && bytesOf.has(place))) {
      yield topicMessages(topics);
      topics = new Map();
      count = 0;
      bytesOf = new Map();
    }
    bytesOf.set(place, (bytesOf.get(place) ?? 0) + recordBytes(record) + RECORD_OVERHEAD_BYTES);
    count++;
    const messages = topics.get(topic);
    const message = messageOf(record, partition);
    if (messages === undefined) topics.set(topic, [message]);
    else messages.push(message);
  }
  if (count > 0) yield topicMessages(topics);
}

/** The partition is ours to say: kafkajs's own partitioner computes the same with big integers, for 8 µs a record. */
function messageOf({ key, value, headers, timestamp }: ProducerRecord, partition: number): Message {
  return { key, value, headers, timestamp: String(timestamp), partition };
}

function topicMessages(topics: ReadonlyMap<string, Message[]>): TopicMessages[] {
  return [...topics].map(([topic, messages]) => ({ topic, messages }));
}

/** Size of key, value and headers. */
function recordBytes({ key, value, headers }: ProducerRecord): number {
  let bytes = Buffer.byteLength(key) + (value?.length ?? 0);
  for (const name in headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(headers[name]!) + 4;
  return bytes;
}
