import type { CompressionTypes, Message, Producer, RecordMetadata, Transaction } from 'kafkajs';
import { HighwaterError } from '../../errors';
import { protocolType } from './kafka-failure';
import type { PartitionSends } from './messages';
import { drop } from './producer';

/**
 * By topic and partition: the offset of the last record that this owner wrote there. Of the topics on which the feed's state
 * stands; the others' are of no interest.
 */
export type WrittenOffsets = Map<string, Map<number, bigint>>;

/**
 * One transaction: what each partition gets, all partitions at once. Between its begin and its end nothing is awaited but
 * Kafka: an open transaction holds up every committed reader of its partitions.
 *
 * Every send goes to one partition, and so to one broker. One that goes to several is not safe with kafkajs: when one broker
 * refuses (the markers of the last transaction are still being written, a leader has moved), it sends again to all that have
 * not answered yet, under new sequence numbers, and what it returns does not show it (tulios/kafkajs#1303). Three brokers
 * without any fault were enough to get batches twice; `docs/decisions/0008`.
 *
 * @param written is filled with where the records went, of the topics that it names, also when the commit fails: it may have
 * succeeded all the same
 * @param ready is asked when all is sent and nothing committed; what it throws keeps it so
 * @throws what kafkajs throws. The transaction is then open, aborted, or committed with its answer lost, and the producer is
 * let go of. HighwaterError LOG_TOPIC_LOST, LOG_FAILED: for certain it is not committed
 */
export async function writeTransaction(
  producer: Pick<Producer, 'transaction' | 'disconnect'>,
  partitions: readonly PartitionSends[],
  compression: CompressionTypes,
  written: WrittenOffsets,
  ready: () => Promise<void> = async () => {},
): Promise<void> {
  const transaction = await orDrop(producer, producer.transaction());
  const sending = partitions.map((each) => sendTo(each, transaction, compression, written));
  try {
    await Promise.all(sending);
    await ready();
  } catch (error) {
    void abandon(producer, transaction, sending);
    throw error;
  }
  await orDrop(producer, transaction.commit());
}

async function orDrop<T>(producer: Pick<Producer, 'disconnect'>, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    drop(producer);
    throw error;
  }
}

/**
 * An open transaction holds up readers until its timeout, or until its id is used again, which may be never. It is ended
 * only when no send of it is under way: a record that comes behind the end would open it again. And only then the producer
 * is let go of, which kafkajs connects anew for a send that it tries again.
 */
async function abandon(
  producer: Pick<Producer, 'disconnect'>,
  transaction: Transaction,
  sending: readonly Promise<void>[],
): Promise<void> {
  await Promise.allSettled(sending);
  // Refused where another producer of the id has ended it already.
  await transaction.abort().catch(() => undefined);
  drop(producer);
}

async function sendTo(
  { topic, partition, sends }: PartitionSends,
  transaction: Transaction,
  compression: CompressionTypes,
  written: WrittenOffsets,
): Promise<void> {
  for (const messages of sends) {
    const sending = transaction.send({ topic, messages, compression, acks: -1 });
    const metadata = await sending.catch((error: unknown) => {
      throw protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION' ? missing(topic, partition, error) : error;
    });
    const first = firstOffset(topic, partition, messages, metadata);
    const offsets = written.get(topic);
    const before = offsets?.get(partition);
    if (before !== undefined && first <= before) throw setBack(topic, partition, first, before);
    offsets?.set(partition, first + BigInt(messages.length) - 1n);
  }
}

/** @throws HighwaterError LOG_FAILED unless the answer is that this partition took the messages, once */
function firstOffset(
  topic: string,
  partition: number,
  messages: readonly Message[],
  metadata: readonly RecordMetadata[],
): bigint {
  const [taken, ...more] = metadata;
  const isTaken =
    more.length === 0 && taken?.topicName === topic && taken.partition === partition && taken.errorCode === 0;
  if (!isTaken || taken.baseOffset === undefined || BigInt(taken.baseOffset) < 0n) {
    const answer = metadata.map((one) => `${one.topicName}/${one.partition} with code ${one.errorCode}`);
    throw new HighwaterError(
      'LOG_FAILED',
      `${messages.length} records were sent to ${topic}/${partition}, and the answer was ${answer.join(', ') || 'empty'}`,
      { remedy: 'Nothing, when it passes. Else look into the log of the brokers.' },
    );
  }
  return BigInt(taken.baseOffset);
}

/** Brokers that restart answer so for a moment, too; kafkajs has asked again for seconds. */
function missing(topic: string, partition: number, cause: unknown): HighwaterError {
  const what = `Partition ${partition} of topic ${topic} is not there any more`;
  return new HighwaterError('LOG_TOPIC_LOST', what, { cause });
}

/** Offsets of one log only grow. */
function setBack(topic: string, partition: number, offset: bigint, before: bigint): HighwaterError {
  return new HighwaterError(
    'LOG_TOPIC_LOST',
    `Partition ${partition} of topic ${topic} stands at offset ${offset}, although this publisher wrote there up to offset ${before}: the topic was made anew, or the brokers lost records.`,
  );
}
