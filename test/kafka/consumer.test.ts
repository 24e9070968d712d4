import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { consumerContract } from '../contract/consumer';
import { kafkaWorld } from '../support/kafka-world';
import { quietLogger } from '../support/source';

const kafka = kafkaWorld();

consumerContract('Kafka', async () => {
  const [topicPrefix, url] = [kafka.prefix(), kafka.registryUrl()];
  return {
    commitLog: kafka.log(),
    topicPrefix,
    registry: confluentRegistry({ url, auth: null, registration: 'register' }, { logger: quietLogger() }),
    connect: { kafka: { brokers: kafka.brokers().split(',') }, schemaRegistry: { url }, topicPrefix },
    close: async () => {},
  };
});
