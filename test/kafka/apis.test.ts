import { hostileApis } from '../faults/api-run';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { kafkaWorld } from '../support/kafka-world';

const kafka = kafkaWorld();

hostileApis('Kafka', () => {
  const [brokers, registryUrl] = [kafka.brokers(), kafka.registryUrl()];
  return kafkaPublisherLog({ brokers, direct: brokers, registryUrl, prefix: kafka.prefix(), proxy: null });
});
