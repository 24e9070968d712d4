import { kafkajsLimit } from './kafkajs';

/** Events alone, a page a call, no transaction. */
void kafkajsLimit({}, async (producer, page, topic) => {
  await producer.send({ topic: topic('events'), acks: -1, compression: page.codec, messages: page.events });
});
