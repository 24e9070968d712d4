// Follows a topic from its beginning and prints each record as a line of JSON.
//   npm install kafkajs @kafkajs/confluent-schema-registry
//   KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8081/apis/ccompat/v7 node consume.mjs ipos.deal-status
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel } from 'kafkajs';

const topic = process.argv[2] ?? 'ipos.deal-status';
const brokers = process.env.KAFKA_BROKERS.split(',');
const registry = new SchemaRegistry({ host: process.env.SCHEMA_REGISTRY_URL });
// readUncommitted is false by default, which is right: a record counts once its transaction is committed, or never.
const consumer = new Kafka({ brokers, logLevel: logLevel.WARN }).consumer({
  groupId: `example-node-${topic}`,
});

await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  eachMessage: async ({ message }) => {
    const key = message.key.toString();
    // A fence, in compacted topics: the publisher's own record, not the delete of one.
    if (message.value === null && message.headers?.owner_epoch !== undefined) return;
    // In `<feed>.current` no value means that the record of this key was deleted.
    const value = message.value && (await registry.decode(message.value));
    console.log(JSON.stringify({ key, value }));
  },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => consumer.disconnect());
