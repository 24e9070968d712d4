import { type Kafka, KafkaJSGroupCoordinatorNotFound } from 'kafkajs';
import type { CommandTarget } from './admin-commands';
import { readingCluster } from './cluster';
import { forbidden, isForbidden, kafkaFailure } from './kafka-failure';
import { connectProducer, drop, type TransactionalProducer } from './producer';

/** Transactions of one id that write to topics. */
export interface Writing {
  readonly kafka: Kafka;
  readonly transactionalId: string;
  /** They exist. */
  readonly topics: readonly string[];
  readonly cluster: CommandTarget;
}

/**
 * A failure of a transaction as a person meets it: as kafkaFailure has it, and where the brokers refused something, by the
 * name of what they refused, which they are asked for. That fences the last producer of the id, so it is for its owner.
 * @param doing as kafkaFailure takes it
 */
export async function writeFailure(error: unknown, doing: string, writing: Writing): Promise<unknown> {
  if (!isForbidden(error) && !hidesRefusal(error)) return kafkaFailure(error, doing);
  try {
    await assertWritable(doing, writing);
  } catch (named) {
    return named;
  }
  return kafkaFailure(error, doing);
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
    const cause = hidesRefusal(error) ? await refusalOfId(writing, error) : error;
    throw kafkaFailure(cause, doing, { operation: 'WRITE', topics, transactionalId, cluster });
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

/** kafkajs drops what the brokers say when they refuse to name a coordinator. */
function hidesRefusal(error: unknown): boolean {
  return error instanceof KafkaJSGroupCoordinatorNotFound;
}

/** The answer that kafkajs dropped; else the error as it was. */
async function refusalOfId({ kafka, transactionalId }: Writing, error: unknown): Promise<unknown> {
  const cluster = readingCluster(kafka) as unknown as AskingCluster;
  try {
    await cluster.connect();
    await cluster.refreshMetadata();
    const [nodeId = ''] = cluster.getNodeIds();
    const broker = await cluster.findBroker({ nodeId });
    await broker.findGroupCoordinator({ groupId: transactionalId, coordinatorType: transactionCoordinator });
  } catch (refusal) {
    if (isForbidden(refusal)) return refusal;
  } finally {
    cluster.disconnect().catch(() => undefined);
  }
  return error;
}

/** More of what kafkajs has inside: see `Cluster`. */
interface AskingCluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  getNodeIds(): string[];
  findBroker(node: { readonly nodeId: string }): Promise<{
    findGroupCoordinator(of: {
      readonly groupId: string;
      readonly coordinatorType: number;
    }): Promise<unknown>;
  }>;
}

const transactionCoordinator = 1;
