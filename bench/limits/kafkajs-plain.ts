import { kafkajsLimit } from './kafkajs';

/** Events alone, no transaction. */
void kafkajsLimit({
  options: {},
  pages: 1,
  async send(producer, [page], { events, compression }) {
    await producer.send({ topic: events, acks: -1, compression, messages: page!.events });
  },
});
