import type { Message, Producer } from 'kafkajs';
import { isForbidden } from './kafka-failure';

/**
 * Which of these topics this producer may not write to. Brokers say so when a partition is added to a transaction, but not
 * of which topic; so they are asked one by one, in a transaction that is aborted. No record is sent: on each topic that may be
 * written, all that remains is the marker of the abort, which no reader is shown.
 * @param producer transactional, connected, without an open transaction
 * @param topics that exist
 */
export async function unwritableTopics(producer: Producer, topics: readonly string[]): Promise<string[]> {
  const unwritable: string[] = [];
  const transaction = await producer.transaction();
  try {
    for (const topic of topics) {
      try {
        await transaction.send({ topic, messages: [unsendable()] });
      } catch (error) {
        if (isForbidden(error)) unwritable.push(topic);
        else if (!(error instanceof NotSent)) throw error;
      }
    }
  } finally {
    await transaction.abort();
  }
  return unwritable;
}

/** kafkajs encodes a record after its partition was added to the transaction: then this one stops it. */
function unsendable(): Message {
  return {
    key: null,
    value: null,
    partition: 0,
    get headers(): never {
      throw new NotSent();
    },
  };
}

class NotSent extends Error {
  /** To kafkajs: do not try again. */
  readonly retriable = false;
}
