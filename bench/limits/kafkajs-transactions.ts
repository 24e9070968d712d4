import { kafkajsLimit } from './kafkajs';

/** Events and images, five pages a transaction, as highwater has it at most. */
void kafkajsLimit({
  options: { idempotent: true, maxInFlightRequests: 1, transactionalId: 'bench' },
  pages: 5,
  async send(producer, pages, { events, images, compression }) {
    const transaction = await producer.transaction();
    for (const page of pages) {
      await transaction.sendBatch({
        acks: -1,
        compression,
        topicMessages: [
          { topic: events, messages: page.events },
          { topic: images, messages: page.images },
        ],
      });
    }
    await transaction.commit();
  },
});
