import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { ipos } from '../../src/feeds/ipos';
import { examineBrokers } from '../../src/log/kafka/admin/examine';
import { type KafkaConfig, kafkaClient } from '../../src/log/kafka/connection/client';
import { kafkaFailure } from '../../src/log/kafka/connection/kafka-failure';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedTopics } from '../../src/log/topics';
import { startKafka } from '../../tools/servers/kafka';
import { batch, deadline, plain, readAll, record } from '../support/log-records';
import { sharedServers } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import { consumeValues } from '../support/value-consumer';

describe('brokers at an IPv6 address', () => {
  const signal = new AbortController().signal;
  const open = new Set<Socket>();
  let server: Server | undefined;
  afterEach(async () => {
    for (const socket of open) socket.destroy();
    server?.close();
  });

  async function listening(take: (socket: Socket) => void): Promise<KafkaConfig> {
    server = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => undefined);
      take(socket);
    });
    server.listen(0, '::1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { brokers: [`[::1]:${port}`], ssl: null, sasl: null, compression: 'none' };
  }

  it('are connected to', async () => {
    const [host = '', port = ''] = (await sharedServers()).brokers.split(':');
    const cluster = await listening((socket) => {
      const broker = connect({ host, port: Number(port) });
      open.add(broker);
      broker.on('error', () => undefined);
      socket.pipe(broker).pipe(socket);
    });
    const found = await examineBrokers({
      kafka: kafkaClient(cluster, 'test', quietLogger()),
      cluster,
      signal,
    });
    expect(found).toMatchObject([{ address: `${host}:${port}`, unreachable: null }]);
  }, 90_000);

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
    const cluster = await listening((socket) => socket.once('data', () => socket.end()));
    const admin = kafkaClient(cluster, 'test', quietLogger()).admin();
    const failure = await admin.connect().catch((error) => kafkaFailure(error, 'connecting'));
    await admin.disconnect();
    expect(failure).toMatchObject({ message: `connecting: ${cluster.brokers[0]} closed the connection` });
  });
});
