import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ipos } from '../../src/feeds/ipos';
import { examineBrokers } from '../../src/log/kafka/admin/examine';
import { type KafkaConfig, kafkaClient } from '../../src/log/kafka/connection/client';
import { kafkaFailure } from '../../src/log/kafka/connection/kafka-failure';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedTopics } from '../../src/log/topics';
import { startKafka } from '../../tools/servers/kafka';
import { batch, deadline, plain, readAll, record } from '../support/log-records';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import { consumeValues } from '../support/value-consumer';

describe('brokers at an IPv6 address', () => {
  const signal = new AbortController().signal;

  it('that is what they tell their clients are written to, read and joined by groups', async () => {
    const kafka = await startKafka({
      listeners: { six: {} },
      properties({ port, controllerPort, listenerPorts }) {
        const addresses = `CLIENT://127.0.0.1:${port},SIX://[::1]:${listenerPorts.six}`;
        return {
          listeners: `${addresses},CONTROLLER://127.0.0.1:${controllerPort}`,
          'advertised.listeners': addresses,
        };
      },
    });
    const address = kafka.brokers[0]!.listeners.six!.replace('127.0.0.1', '[::1]');
    const cluster: KafkaConfig = { brokers: [address], ssl: null, sasl: null, compression: 'none' };
    const log = openKafkaLog({ kafka: cluster, appId: 'six', topicPrefix: 'six.', logger: quietLogger() });
    try {
      const deps = { kafka: kafkaClient(cluster, 'test', quietLogger()), cluster, signal };
      expect(await examineBrokers(deps)).toMatchObject([{ address, unreachable: null }]);
      const topics = feedTopics(ipos, 'six.');
      const session = await log.acquire(topics, deadline());
      const written = record(topics.changes.name, 'a', 'written');
      await session.commit(batch(session, topics, [written]));
      expect((await readAll(log, [topics.changes.name])).map(plain)).toStrictEqual([written]);
      const group = { group: 'six', topics: [topics.changes.name], from: 'beginning' } as const;
      const consumer = consumeValues(address, group);
      await until(() => consumer.seen.length > 0).finally(consumer.stop);
      expect([consumer.seen, consumer.failure()]).toStrictEqual([['written'], null]);
    } finally {
      await log.close();
      await kafka.stop();
    }
  }, 90_000);

  it('are named as they were written when they close the connection', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end()));
    server.listen(0, '::1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const cluster: KafkaConfig = { brokers: [`[::1]:${port}`], ssl: null, sasl: null, compression: 'none' };
    const admin = kafkaClient(cluster, 'test', quietLogger()).admin();
    const failure = await admin.connect().catch((error) => kafkaFailure(error, 'connecting'));
    await admin.disconnect();
    server.close();
    expect(failure).toMatchObject({ message: `connecting: ${cluster.brokers[0]} closed the connection` });
  });
});
