import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { consumerContract } from '../contract/consumer';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';

// They take their time to start on a busy machine.
beforeAll(async () => {
  await sharedServers();
});

consumerContract('Kafka', async () => {
  const { brokers: addresses, registryUrl: url } = await sharedServers();
  const topicPrefix = uniquePrefix();
  const [brokers, logger] = [addresses.split(','), quietLogger()];
  const kafka = { brokers, ssl: null, sasl: null, compression: 'none' } as const;
  const commitLog = openKafkaLog({ kafka, appId: 'test', topicPrefix, logger });
  return {
    commitLog,
    topicPrefix,
    registry: confluentRegistry({ url, auth: null, registration: 'register' }, { logger }),
    connect: { kafka: { brokers }, schemaRegistry: { url }, topicPrefix },
    close: () => commitLog.close(),
  };
});
