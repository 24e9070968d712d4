import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { ISocketFactoryArgs } from 'kafkajs';
import { guardedListeners } from '../../../../src/log/kafka/connection/guards/sockets';

let server: Server;
let client: Socket | undefined;

beforeAll(async () => {
  server = createServer((broker) => broker.on('error', () => {}).end('an answer')).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => client?.destroy());
afterAll(() => server.close());

const fault = new RangeError('no such byte');

/** @returns how the connection ended */
async function failure(use: { onConnect?(): void; listen?(socket: Socket): void }): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const factory = guardedListeners(({ onConnect }) => connect(port, '127.0.0.1', onConnect));
  client = factory({ onConnect: use.onConnect ?? (() => {}) } as ISocketFactoryArgs);
  client.resume();
  const failed = new Promise((resolve) => client!.on('error', resolve));
  use.listen?.(client);
  return failed;
}

const throws = () => {
  throw fault;
};
const rejects = async () => {
  await Promise.resolve();
  throw fault;
};

it.each([
  ['throws over an answer', { listen: (socket: Socket) => socket.on('data', throws) }],
  ['throws over the end', { listen: (socket: Socket) => socket.on('end', throws) }],
  ['is asynchronous and fails over the end', { listen: (socket: Socket) => socket.on('end', rejects) }],
  ['throws once it is connected', { onConnect: throws }],
])('a listener that %s ends its connection, not the process', async (_, use) => {
  expect(await failure(use as Parameters<typeof failure>[0])).toBe(fault);
  expect(client!.destroyed).toBe(true);
});

it('a listener that fails over the failure too does so once', async () => {
  let calls = 0;
  const listen = (socket: Socket) => {
    socket.on('data', throws);
    socket.on('error', () => {
      calls++;
      return rejects();
    });
  };
  await failure({ listen });
  await once(client!, 'close');
  expect(calls).toBe(1);
});

it('a listener can be taken away again', () => {
  const { port } = server.address() as AddressInfo;
  client = guardedListeners(() => connect(port, '127.0.0.1'))({ onConnect: () => {} } as ISocketFactoryArgs);
  client.on('data', throws);
  client.removeListener('data', throws);
  expect(client.listenerCount('data')).toBe(0);
});
