import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { ISocketFactory, ISocketFactoryArgs } from 'kafkajs';
import { endingSilent } from '../../../../src/log/kafka/connection/guards/silent-connections';
import { until } from '../../../support/until';

const patience = { firstMs: 60, otherMs: 180 };
const [PRODUCE, JOIN_GROUP, API_VERSIONS] = [0, 11, 18];
let server: Server;
let factory: ISocketFactory;
let client: Socket;
let broker: Socket;
let ended: (Error & { code?: string }) | null;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  factory = endingSilent(({ host, port: at }) => connect(at, host), patience);
  const accepted = once(server, 'connection');
  client = factory({ host: '127.0.0.1', port } as ISocketFactoryArgs);
  ended = null;
  client.on('error', (error) => {
    ended = error;
  });
  [broker] = (await accepted) as [Socket];
  broker.resume();
});
afterEach(() => {
  client.destroy();
  broker.destroy();
  server.close();
});

function ask(api: number, on = client): void {
  const request = Buffer.alloc(10);
  request.writeInt32BE(6, 0);
  request.writeInt16BE(api, 4);
  on.write(request);
}

async function answer(): Promise<void> {
  const heard = once(client, 'data');
  broker.write('x');
  await heard;
}

async function endsAfter(): Promise<number> {
  const began = performance.now();
  await until(() => ended !== null);
  return performance.now() - began;
}

it.each([
  ['its first question', API_VERSIONS, patience.firstMs],
  ['a request', PRODUCE, patience.otherMs],
])(
  'a connection on which %s is not answered is closed, with words that name the address',
  async (_, api, ms) => {
    ask(api);
    expect(await endsAfter()).toBeGreaterThan(ms - 20);
    expect(ended).toMatchObject({
      code: 'ETIMEDOUT',
      message: expect.stringMatching(/^Connection timeout: 127\.0\.0\.1:\d+ did not answer within \d+ ms$/),
    });
  },
);

it('one that is asked nothing stays, and so does one that answers', async () => {
  ask(API_VERSIONS);
  await answer();
  await expect(until(() => ended !== null, 2 * patience.otherMs)).rejects.toThrow('still not so');
  ask(PRODUCE);
  await answer();
  expect(ended).toBeNull();
  ask(PRODUCE);
  await endsAfter();
});

it('a join may take as long as it takes, and what comes after it is waited for as ever', async () => {
  ask(PRODUCE);
  ask(JOIN_GROUP);
  await expect(until(() => ended !== null, 2 * patience.otherMs)).rejects.toThrow('still not so');
  await answer();
  ask(PRODUCE);
  await endsAfter();
});

describe('another connection to an address that does not answer', () => {
  interface Connection {
    readonly socket: Socket;
    readonly accepted: Socket;
    isClosed: boolean;
  }
  const opened: Connection[] = [];
  afterEach(() => {
    for (const { socket, accepted } of opened.splice(0)) {
      socket.destroy();
      accepted.destroy();
    }
  });

  async function open(from = factory): Promise<Connection> {
    const { port } = server.address() as AddressInfo;
    const comes = once(server, 'connection');
    const socket = from({ host: '127.0.0.1', port } as ISocketFactoryArgs);
    const [accepted] = (await comes) as [Socket];
    accepted.resume();
    const connection = { socket, accepted, isClosed: false };
    socket.on('error', ({ code }: Error & { code?: string }) => {
      connection.isClosed = code === 'ETIMEDOUT';
    });
    opened.push(connection);
    return connection;
  }
  const closes = (connection: Connection) => until(() => connection.isClosed);
  const stays = (connection: Connection) =>
    expect(until(() => connection.isClosed, patience.otherMs)).rejects.toThrow('still not so');

  it('is closed with it when it is idle', async () => {
    const idle = await open();
    ask(PRODUCE);
    await closes(idle);
  });

  it('stays when it was opened just now', async () => {
    const patient = endingSilent(({ host, port }) => connect(port, host), { ...patience, firstMs: 60_000 });
    const asked = await open(patient);
    ask(PRODUCE, asked.socket);
    const young = await open(patient);
    await closes(asked);
    await stays(young);
  });

  it('stays when it began to wait for a join later, and is closed when it has waited for longer', async () => {
    const asked = await open();
    ask(PRODUCE, asked.socket);
    const joining = await open();
    ask(JOIN_GROUP, joining.socket);
    await closes(asked);
    await stays(joining);
    ask(PRODUCE, (await open()).socket);
    await closes(joining);
  });
});

it('only the first piece of a request says what it is', async () => {
  const [head, records, more] = [Buffer.alloc(30), Buffer.alloc(40), Buffer.alloc(20)];
  head.writeInt32BE(30 + 40 + 20 - 4);
  head.writeInt16BE(PRODUCE, 4);
  for (const piece of [records, more]) piece.writeInt16BE(JOIN_GROUP, 4);
  for (const piece of [head, records, more]) client.write(piece);
  expect(await endsAfter()).toBeGreaterThanOrEqual(patience.otherMs - 10);
});

it('the request behind one that came in pieces is known again', async () => {
  const head = Buffer.alloc(30);
  head.writeInt32BE(50 - 4);
  head.writeInt16BE(PRODUCE, 4);
  client.write(head);
  client.write(Buffer.alloc(20));
  ask(JOIN_GROUP);
  await expect(until(() => ended !== null, 2 * patience.otherMs)).rejects.toThrow('still not so');
});
