import { type Kafka, Partitioners, type Producer } from 'kafkajs';
import { unlessAborted } from '../../async/wait';
import type { ProducerRecord, SharedTopicSpec } from '../commit-log';
import { partitionOf } from '../partitioner';
import { prepareSharedTopic, type TopicLayout } from './admin/topic-settings';
import type { CommandTarget } from './connection/admin-commands';
import { clientRetry } from './connection/client';
import { kafkaFailure } from './connection/kafka-failure';
import { drop } from './producer/producer';

export interface AppenderDeps {
  readonly kafka: Kafka;
  /** For the commands in errors. */
  readonly cluster: CommandTarget;
}

/** Writes to topics that belong to no feed, outside of any transaction. */
export interface Appender {
  /** @throws HighwaterError KAFKA_*, LOG_*; the signal's reason */
  append(topic: SharedTopicSpec, records: readonly ProducerRecord[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * One idempotent producer, connected by the first call. One that failed is never used again: what it had under way may have
 * been written, and its sequence numbers are not to be trusted.
 */
export function appender({ kafka, cluster }: AppenderDeps): Appender {
  const layouts = new Map<string, TopicLayout>();
  let producer: Producer | null = null;
  /** One call after the other, so that the records of a key keep their order. */
  let last: Promise<void> = Promise.resolve();

  async function layoutOf(spec: SharedTopicSpec, signal: AbortSignal): Promise<TopicLayout> {
    const known = layouts.get(spec.name);
    if (known !== undefined) return known;
    const found = await prepareSharedTopic(spec, { kafka, cluster, signal });
    layouts.set(spec.name, found);
    return found;
  }

  async function connected(): Promise<Producer> {
    if (producer !== null) return producer;
    const fresh = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: clientRetry,
    });
    // Before it is connected: whoever stops waiting must be able to let go of it.
    producer = fresh;
    await fresh.connect();
    return fresh;
  }

  async function write(
    spec: SharedTopicSpec,
    records: readonly ProducerRecord[],
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const { partitions } = await layoutOf(spec, signal);
    const using = await connected();
    // One by one: there are few of them, and a broker limits the size of a batch.
    for (const { topic, key, value, headers, timestamp } of records) {
      const partition = partitionOf(key, partitions);
      const messages = [{ key, value, headers, partition, timestamp: String(timestamp) }];
      await using.send({ topic, messages, acks: -1 });
    }
  }

  return {
    append(spec, records, signal) {
      const written = last.then(async () => {
        try {
          await unlessAborted(write(spec, records, signal), signal);
        } catch (error) {
          if (producer !== null) drop(producer);
          producer = null;
          // It may have been deleted, or the brokers may know it otherwise by now.
          layouts.delete(spec.name);
          signal.throwIfAborted();
          throw kafkaFailure(error, `writing to ${spec.name}`, {
            operation: 'WRITE',
            topics: [spec.name],
            cluster,
          });
        }
      });
      last = written.catch(() => undefined);
      return written;
    },
    async close() {
      const open = producer;
      producer = null;
      await open?.disconnect().catch(() => undefined);
    },
  };
}
