import { CompressionTypes, type Kafka, Partitioners, type Producer } from 'kafkajs';
import { unlessAborted, untilAny } from '../../async/wait';
import { HighwaterError } from '../../errors';
import type { CommitLog, ProducerRecord, SharedTopicSpec } from '../commit-log';
import { partitionOf } from '../partitioner';
import type { TopicDeps } from './admin/topic-admin';
import { prepareSharedTopic, type TopicLayout } from './admin/topic-settings';
import { clientRetry, drop } from './connection/cluster';
import { isProtocolError, kafkaFailure } from './connection/kafka-failure';

/** What the brokers say of a record that they will never take, apart from its size. */
const REFUSALS = ['INVALID_TIMESTAMP', 'INVALID_RECORD', 'POLICY_VIOLATION'] as const;

/**
 * Writes to topics that belong to no feed, outside any transaction. It has one idempotent producer, which the first call connects. A producer that failed is never used again: its outstanding records
 * may have been written, so its sequence numbers cannot be trusted.
 * @param closing aborted with LOG_CLOSED when the log is closed
 */
export function appender(
  kafka: Kafka,
  cluster: TopicDeps['cluster'],
  closing: AbortSignal,
): Pick<CommitLog, 'append' | 'close'> & { rest(): void } {
  const layouts = new Map<string, TopicLayout>();
  let producer: Producer | null = null;
  /** Calls run one after another, which keeps the order of a key's records. */
  let last: Promise<void> = Promise.resolve();

  async function connected(): Promise<Producer> {
    if (producer !== null) return producer;
    const fresh = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: clientRetry,
    });
    // Before it is connected: a caller that stops waiting must be able to drop it.
    producer = fresh;
    await fresh.connect();
    return fresh;
  }

  async function write(spec: SharedTopicSpec, records: readonly ProducerRecord[], signal: AbortSignal) {
    signal.throwIfAborted();
    const layout = layouts.get(spec.name) ?? (await prepareSharedTopic(spec, { kafka, cluster, signal }));
    layouts.set(spec.name, layout);
    if (records.length === 0) return;
    const using = await connected();
    // One by one: there are few of them, and a broker limits the size of a batch.
    for (const { topic, key, value, headers, timestamp } of records) {
      const partition = partitionOf(key, layout.partitions);
      const messages = [{ key, value, headers, partition, timestamp: String(timestamp) }];
      await using.send({ topic, messages, acks: -1, compression: CompressionTypes.GZIP });
    }
  }

  return {
    append(spec, records, signal) {
      const writing = async (either: AbortSignal) => {
        try {
          await unlessAborted(write(spec, records, either), either);
        } catch (error) {
          if (producer !== null) drop(producer);
          producer = null;
          // The topic may have been deleted or changed.
          layouts.delete(spec.name);
          either.throwIfAborted();
          const asked = { operation: 'WRITE', topics: [spec.name], cluster } as const;
          const failure = kafkaFailure(error, `writing to ${spec.name}`, asked);
          const isTooLarge = isProtocolError(error, 'MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE');
          const isRefused = isTooLarge || isProtocolError(error, ...REFUSALS);
          if (!isRefused || !(failure instanceof HighwaterError)) throw failure;
          const { message, remedy } = failure;
          throw new HighwaterError('LOG_RECORD_REFUSED', message, {
            cause: error,
            ...(!isTooLarge && { remedy }),
          });
        }
      };
      const written = last.then(() => untilAny([signal, closing], writing));
      last = written.catch(() => undefined);
      return written;
    },
    async close() {
      const open = producer;
      producer = null;
      await open?.disconnect().catch(() => undefined);
    },
    /** Ends the connection behind the writes under way, since it would keep the process alive. The next write makes another one. */
    rest() {
      last = last.then(() => {
        if (producer !== null) drop(producer);
        producer = null;
      });
    },
  };
}
