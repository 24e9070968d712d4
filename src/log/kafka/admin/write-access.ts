import type { Kafka } from 'kafkajs';
import type { CommandTarget } from '../connection/admin-commands';
import { forbidden, isForbidden, kafkaFailure } from '../connection/kafka-failure';
import { connectProducer, drop, type TransactionalProducer } from '../producer/producer';

/** Transactions of one id that write to topics. */
export interface Writing {
  readonly kafka: Kafka;
  readonly transactionalId: string;
  /** They exist. */
  readonly topics: readonly string[];
  readonly cluster: CommandTarget;
}

/**
 * Whether transactions under an id may write to topics. Fences the last producer of that id.
 * @throws HighwaterError KAFKA_FORBIDDEN that names the id or every topic; KAFKA_UNREACHABLE, LOG_FAILED
 */
export async function assertWritable(doing: string, writing: Writing): Promise<void> {
  const { kafka, transactionalId, topics, cluster } = writing;
  let producer: TransactionalProducer | null = null;
  try {
    producer = await connectProducer(kafka, transactionalId, [], new AbortController().signal);
    const names = await unwritableTopics(producer, topics);
    if (names.length > 0) throw forbidden(doing, { operation: 'WRITE', resource: 'topic', names }, cluster);
  } catch (error) {
    throw kafkaFailure(error, doing, { operation: 'WRITE', topics, transactionalId, cluster });
  } finally {
    if (producer !== null) drop(producer);
  }
}

/**
 * Which of these topics a producer may not write to. Brokers say so when a partition is added to a transaction, but not of
 * which topic; so they are asked one by one, in a transaction that is aborted. No record is sent: on each topic that may be
 * written, all that remains is the marker of the abort, which no reader is shown.
 */
async function unwritableTopics(
  producer: TransactionalProducer,
  topics: readonly string[],
): Promise<string[]> {
  const unwritable: string[] = [];
  let isOpen = false;
  try {
    for (const topic of topics) {
      try {
        await producer.begin([{ topic, partition: 0 }]);
        isOpen = true;
      } catch (error) {
        if (!isForbidden(error)) throw error;
        unwritable.push(topic);
      }
    }
  } finally {
    if (isOpen) await producer.abort();
  }
  return unwritable;
}
