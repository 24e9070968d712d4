import { statusContract } from '../contract/status';
import { kafkaWorld } from '../support/kafka-world';

const kafka = kafkaWorld();
statusContract('Kafka', kafka.env);
