import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { examineBrokers } from '../../src/log/kafka/admin/examine';
import { type KafkaConfig, kafkaClient } from '../../src/log/kafka/connection/client';
import { kafkaFailure } from '../../src/log/kafka/connection/kafka-failure';
import { sharedServers } from '../support/servers';
import { quietLogger } from '../support/source';

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

  it('are named as they were written when they close the connection', async () => {
    const cluster = await listening((socket) => socket.once('data', () => socket.end()));
    const admin = kafkaClient(cluster, 'test', quietLogger()).admin();
    const failure = await admin.connect().catch((error) => kafkaFailure(error, 'connecting'));
    await admin.disconnect();
    expect(failure).toMatchObject({ message: `connecting: ${cluster.brokers[0]} closed the connection` });
  });
});
