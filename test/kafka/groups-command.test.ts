import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { groupsCommandContract } from '../contract/groups-command';
import { kafkaWorld } from '../support/kafka-world';
import { quietLogger } from '../support/source';

const kafka = kafkaWorld();

groupsCommandContract('Kafka', async () => {
  const [topicPrefix, url] = [kafka.prefix(), kafka.registryUrl()];
  return {
    commitLog: kafka.log(),
    topicPrefix,
    registry: confluentRegistry({ url, auth: null, registration: 'register' }, { logger: quietLogger() }),
    connect: { kafka: { brokers: kafka.brokers().split(',') }, schemaRegistry: { url }, topicPrefix },
    env: kafka.env(),
    close: async () => {},
  };
});
