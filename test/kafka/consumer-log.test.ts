import { consumerLogContract } from '../contract/consumer-log';
import { kafkaWorld } from '../support/kafka-world';

const kafka = kafkaWorld();

consumerLogContract('Kafka', async () => ({
  prefix: kafka.prefix(),
  open: async () => kafka.consumerLog(),
  publisher: async () => kafka.log(),
  close: async () => {},
}));
