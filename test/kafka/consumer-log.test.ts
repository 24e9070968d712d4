import { Kafka, logLevel } from 'kafkajs';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { consumerLogContract } from '../contract/consumer-log';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';

// They take their time to start on a busy machine.
beforeAll(async () => {
  await sharedServers();
});

consumerLogContract('Kafka', async () => {
  const { brokers } = await sharedServers();
  const prefix = uniquePrefix();
  const kafka = { brokers: brokers.split(','), ssl: null, sasl: null, compression: 'none' } as const;
  const options = { kafka, appId: 'test', topicPrefix: prefix, logger: quietLogger() };
  return {
    prefix,
    open: async () => openKafkaConsumerLog(options),
    publisher: async () => openKafkaLog(options),
    async close() {
      const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      const own = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
      await admin.deleteTopics({ topics: own });
      await admin.disconnect();
    },
  };
});
