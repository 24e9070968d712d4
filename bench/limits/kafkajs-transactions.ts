import { kafkajsLimit } from './kafkajs';

/** Events and images, a transaction a page. */
void kafkajsLimit(
  { idempotent: true, maxInFlightRequests: 1, transactionalId: 'bench' },
  async (producer, page, topic) => {
    const transaction = await producer.transaction();
    await transaction.sendBatch({
      acks: -1,
      compression: page.codec,
      topicMessages: [
        { topic: topic('events'), messages: page.events },
        { topic: topic('images'), messages: page.images },
      ],
    });
    await transaction.commit();
  },
);
