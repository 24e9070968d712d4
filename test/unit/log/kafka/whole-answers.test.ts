import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { ISocketFactoryArgs } from 'kafkajs';
import { wholeAnswers } from '../../../../src/log/kafka/connection/guards/whole-answers';
import { runs } from '../../../support/runs';
import { until } from '../../../support/until';

let server: Server;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = createServer({ noDelay: true, allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => server.close());

async function connection(): Promise<{
  client: Socket;
  broker: Socket;
  heard: Buffer[];
  failure(): unknown;
}> {
  const accepted = once(server, 'connection');
  const factory = wholeAnswers(({ host, port }) => connect(port, host));
  const client = factory({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
  } as ISocketFactoryArgs);
  const [broker] = (await accepted) as [Socket];
  sockets.push(client, broker);
  const heard: Buffer[] = [];
  let failure: unknown = null;
  client.on('error', (error) => {
    failure = error;
  });
  client.on('data', (answer: Buffer) => heard.push(answer));
  return { client, broker, heard, failure: () => failure };
}

function answer(bytes: number): Buffer {
  const whole = Buffer.alloc(4 + bytes, bytes % 251);
  whole.writeInt32BE(bytes, 0);
  return whole;
}

it('answers come in whole and in order, in whatever pieces they arrive (property)', async () => {
  const length = fc.oneof(fc.constant(0), fc.integer({ min: 4, max: 300 }), fc.constant(70_000));
  await fc.assert(
    fc.asyncProperty(
      fc.array(length, { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 }),
      async (lengths, pieces) => {
        const { broker, heard } = await connection();
        const answers = lengths.map(answer);
        let rest = Buffer.concat(answers);
        for (const piece of pieces) {
          broker.write(rest.subarray(0, piece));
          rest = rest.subarray(piece);
          await turn();
        }
        broker.end(rest);
        await until(() => heard.length === answers.length);
        expect(heard.map((one) => one.equals(answers.shift()!))).toEqual(lengths.map(() => true));
      },
    ),
    { numRuns: runs(40) },
  );
});

it('an answer that is cut off is never handed out', async () => {
  const { client, broker, heard } = await connection();
  const closed = once(client, 'end');
  broker.end(Buffer.concat([answer(20), answer(20).subarray(0, 23)]));
  await closed;
  expect(heard).toEqual([answer(20)]);
});

it('nothing is handed out once the client has ended the connection', async () => {
  const { client, broker, heard } = await connection();
  client.end();
  await once(broker.resume(), 'end').catch(() => undefined);
  broker.end(answer(20));
  await once(client, 'close');
  expect(heard).toStrictEqual([]);
});

it.each([
  ['a web server', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), 'HIGHWATER_NOT_KAFKA'],
  ['a length below zero', Buffer.from([0xff, 0xff, 0xff, 0xff]), 'HIGHWATER_NOT_KAFKA'],
  ['a length that leaves no room for the id', Buffer.from([0, 0, 0, 3, 1, 2, 3]), 'HIGHWATER_NOT_KAFKA'],
  ['a TLS alert', Buffer.from([0x15, 3, 3, 0, 2, 2, 40]), 'HIGHWATER_TLS_EXPECTED'],
])('%s in place of an answer ends the connection by name', async (_, bytes, code) => {
  const { broker, heard, failure } = await connection();
  broker.write(bytes);
  await until(() => failure() !== null);
  expect(failure()).toMatchObject({ code });
  expect(heard).toStrictEqual([]);
});
