import { type Kafka, Partitioners, type Producer } from 'kafkajs';

/** An open transaction holds up readers for at most so long, when its owner dies. In ms. */
export const transactionTimeout = 10_000;

/**
 * Connects a producer under a transactional id, which ends whatever an earlier producer of that id had begun, and refuses
 * that one from now on (InitProducerId).
 */
export async function connectProducer(kafka: Kafka, transactionalId: string): Promise<Producer> {
  const producer = kafka.producer({
    transactionalId,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout,
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
    // The markers of a transaction are written after its commit is answered, and until then the next one is refused
    // (CONCURRENT_TRANSACTIONS): a first pause of 300 ms, kafkajs's own, would be paid with every page.
    retry: { initialRetryTime: 5, maxRetryTime: 500, factor: 0.2, multiplier: 2, retries: 14 },
  });
  try {
    await producer.connect();
    return producer;
  } catch (error) {
    drop(producer);
    throw error;
  }
}

/** Lets go of a producer that is of no more use. Nobody waits for it: on a dead broker that takes its time. */
export function drop(producer: Pick<Producer, 'disconnect'>): void {
  producer.disconnect().catch(() => undefined);
}
