import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import { eventStreams } from '../../../src/admin/http/server';
import { until } from '../../support/until';

let app: FastifyInstance;
/** Connections of one test, because connections of an earlier test may end late. */
let count: { open: number; made: number };

beforeEach(() => {
  count = { open: 0, made: 0 };
  app = fastify({ forceCloseConnections: true });
});
afterEach(() => app.close());

async function serve(text: string, everyMs: number, limits: { connections?: number; stalledMs?: number }) {
  const own = count;
  async function* events(signal: AbortSignal): AsyncGenerator<string> {
    own.open++;
    try {
      while (!signal.aborted) {
        own.made++;
        yield text;
        await pause(everyMs, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      own.open--;
    }
  }
  const stream = eventStreams(limits);
  app.get('/events', (_, reply) => stream(reply, 'text/event-stream', events));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** A client that has sent its requests, all at once. */
function client(port: number, requests = 1) {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests));
  return socket;
}

it('makes no more for one that does not read than fits into sockets, and drops it', async () => {
  const port = await serve(`data: ${'x'.repeat(100_000)}\n\n`, 0, { stalledMs: 500 });
  const slow = client(port).pause();
  await until(() => count.open === 1 && count.made > 3);
  await until(() => count.open === 0);
  // Only the MBs that both ends of a connection buffer were ever made.
  expect(count.made).toBeLessThan(200);
  slow.destroy();
});

it('refuses one too many, and takes another when one has gone', async () => {
  const port = await serve('data: 1\n\n', 20, { connections: 2 });
  const url = `http://127.0.0.1:${port}/events`;
  const over = new AbortController();
  const [first] = await Promise.all([fetch(url, { signal: over.signal }), fetch(url)]);
  expect(first!.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const refused = await fetch(url);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  over.abort();
  await until(async () => {
    const answer = await fetch(url);
    if (answer.status === 503) await answer.text();
    return answer.status === 200;
  });
});

it('a request that is pipelined behind a stream takes no slot', async () => {
  const port = await serve('data: 1\n\n', 20, { connections: 2 });
  const looking = client(port, 5).resume();
  await until(() => count.open === 1);
  // An answer on another connection shows that all five requests were taken up before.
  const other = await fetch(`http://127.0.0.1:${port}/events`);
  expect([other.status, count.open]).toEqual([200, 2]);
  await other.body!.cancel();
  looking.destroy();
  await until(() => count.open === 0);
});

it('ends with the server', async () => {
  const port = await serve('data: 1\n\n', 60_000, {});
  const closed = once(client(port).resume(), 'close');
  await until(() => count.open === 1);
  await app.close();
  await closed;
  await until(() => count.open === 0);
});

it('a client that leaves before its answer begins takes no place', async () => {
  const stream = eventStreams({ connections: 2 });
  let begun = 0;
  app.get('/late', async (_, reply) => {
    begun += 1;
    if (begun <= 4) await once(reply.raw, 'close');
    return stream(reply, 'text/event-stream', async function* () {
      yield 'data: 1\n\n';
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  for (let client = 1; client <= 4; client++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => begun === client);
    socket.destroy();
  }
  const answer = await fetch(`http://127.0.0.1:${port}/late`);
  expect([answer.status, await answer.text()]).toEqual([200, 'data: 1\n\n']);
});
