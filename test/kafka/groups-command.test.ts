import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { groupsCommandContract } from '../contract/groups-command';
import { commandLineHere, jsonLines, outcome } from '../support/cli';
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

const cli = commandLineHere();

it('the position of a group that reads open transactions is not called lost', async () => {
  const topic = `${kafka.prefix()}events`;
  const admin = await kafka.admin();
  await kafka.create({ topic, numPartitions: 1 });
  const options = { transactionalId: `${topic}-writer`, maxInFlightRequests: 1, idempotent: true };
  const producer = kafka.client().producer(options);
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ value: 'a' }, { value: 'b' }] });
  const groupId = `${kafka.prefix()}readers`;
  await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '2' }] });
  const shown = async () => {
    const { code, out } = await outcome(cli(['groups', 'readers', '--json'], { env: kafka.env() }));
    return [code, ...jsonLines<{ lag: unknown; note: unknown }>(out).map(({ lag, note }) => [lag, note])];
  };
  expect(await shown()).toEqual([0, [0, '']]);
  await transaction.commit();
  await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '99' }] });
  expect(await shown()).toEqual([0, [null, 'its position, which is no longer in the log']]);
  await producer.disconnect();
});
