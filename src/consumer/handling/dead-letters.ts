import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import type { LogRecord, ProducerRecord, SharedTopicSpec } from '../../log/commit-log';

const YEAR_MS = 365 * 24 * 3_600_000;
/** Characters of a message. */
const LONGEST = 2_000;

/** Where events go that a group cannot handle. @param group with the prefix */
export function deadLetterTopic(group: string): SharedTopicSpec {
  return { name: `${group}.dead-letters`, partitions: 1, cleanup: 'delete', retentionMs: YEAR_MS };
}

/**
 * The event as it lay in its topic, so that the same consumer can read it from there, and beside it what happened.
 * @param group with the prefix
 */
export function deadLetter(
  { topic, partition, logOffset, key, headers, value }: LogRecord,
  group: string,
  error: unknown,
  attempts: number,
): ProducerRecord {
  return {
    topic: deadLetterTopic(group).name,
    key,
    value,
    headers: {
      ...headers,
      'error.topic': topic,
      'error.partition': String(partition),
      'error.offset': String(logOffset),
      'error.group': group,
      'error.attempts': String(attempts),
      'error.message': messageOf(error),
    },
    timestamp: Date.now(),
  };
}

/** A header that is longer says no more than that the event was large. Bytes. */
const LONGEST_HEADER = 1_000;

/** A dead letter that its topic has room for: the value can be checked in the topic of the event, if it is still there. */
export function withoutValue({ value, headers, ...rest }: ProducerRecord): ProducerRecord {
  const bytes = value ?? Buffer.alloc(0);
  const short = Object.entries(headers).filter(([, text]) => Buffer.byteLength(text) <= LONGEST_HEADER);
  return {
    ...rest,
    value: null,
    headers: {
      ...Object.fromEntries(short),
      'error.value-bytes': String(bytes.length),
      'error.value-sha256': createHash('sha256').update(bytes).digest('hex'),
    },
  };
}

/** Anything can be thrown, and a message of any length must not keep a dead letter from its topic. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : error;
  const text = typeof message === 'string' ? message : inspect(message);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} …`;
}
