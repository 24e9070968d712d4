import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { registryHttp } from '../../../src/avro/registry/confluent-registry-http';
import { sender } from '../../../src/delivery/send';
import { proxyFor } from '../../../src/net/proxy';
import { authority } from '../../support/certificates';
import { endsWithTest } from '../../support/ends';
import { startHttpServer } from '../../support/http-server';
import { failureOf, feed, never, page, server, source, stopAll } from './client-fixture';

afterEach(async () => {
  delete process.env.http_proxy;
  delete process.env.https_proxy;
  delete process.env.no_proxy;
  await stopAll();
});

/** A proxy at the address that is returned, set for the test. */
async function proxy(kind: 'http' | 'https', server: Server, login = ''): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  endsWithTest(() => server.close());
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env[`${kind}_proxy`] = `http://${login}${at}`;
  return at;
}

it.each([
  ['me:p%40ss%3A%2F%23%25@', 'me:p@ss:/#%'],
  ['a%20user:100%@', 'a user:100%'],
  ['me:pass@', 'me:pass'],
])('a proxy gets its user and password decoded: %s', async (login, expected) => {
  const given: string[] = [];
  const between = createServer(({ headers }, response) => {
    given.push(Buffer.from(headers['proxy-authorization']!.slice('Basic '.length), 'base64').toString());
    response.end('{"ipos":[]}');
  });
  await proxy('http', between, login);
  expect((await source('http://api.example').fetchPage(feed, page, never)).rows).toEqual([]);
  const url = 'http://receiver.example';
  const receiver = sender(
    { kind: 'webhook', url: { value: url }, shown: url, secrets: { value: [] } },
    String,
  );
  await receiver.send({ headers: {}, body: '{}' }, never);
  receiver.close();
  const registry = { url: 'http://registry.example', auth: null, registration: 'lookup' } as const;
  const ask = registryHttp(registry, { timeoutMs: 5_000, signal: never, dated() {} });
  await ask({ method: 'GET', path: '/subjects' });
  expect(given).toEqual([expected, expected, expected]);
});

it.each([
  ['127.0.0.0/8', '127.0.0.1', 0],
  ['.svc, 10.0.0.0/8,127.0.0.1/32', '127.0.0.1', 0],
  ['localhost', '127.0.0.1', 0],
  ['127.0.0.1', 'localhost', 0],
  ['::1', '127.0.0.1', 0],
  ['localhost.', '127.0.0.1', 0],
  ['127.0.0.1', 'api.example', 1],
  ['10.0.0.0/8,127.0.0.1/33,127.0.0.0/7.5,::/0,/8', '127.0.0.1', 1],
])('with NO_PROXY=%s, %s is asked through %i proxies', async (nearby, host, expected) => {
  let asked = 0;
  const between = createServer((_, response) => {
    asked++;
    response.end('{"ipos":[]}');
  });
  await proxy('http', between);
  process.env.no_proxy = nearby;
  const { url } = await server((_, response) => void response.end('{"ipos":[]}'));
  const { rows } = await source(url.replace('127.0.0.1', host)).fetchPage(feed, page, never);
  expect([rows, asked]).toEqual([[], expected]);
});

it.each([
  ['proxy.example:3128', 'http:'],
  ['me:pass@proxy.example:3128', 'http:'],
  ['https://proxy.example:3128', 'https:'],
])('the proxy %s of an API with TLS is spoken to by %s', (named, protocol) => {
  process.env.https_proxy = named;
  expect(proxyFor('https://api.example')).toMatchObject({ protocol, host: 'proxy.example', port: 3_128 });
});

it('a proxy that wants a password is named as what stands between', async () => {
  const at = await proxy(
    'http',
    createServer((_, response) => response.writeHead(407).end('Login first')),
  );
  const error = await failureOf(source('http://api.example').fetchPage(feed, page, never));
  expect(error).toMatchObject({
    code: 'SOURCE_UNREACHABLE',
    message: expect.stringContaining(`${at} was not passed on: the proxy answered 407`),
  });
  expect(error.remedy).toContain('HTTPS_PROXY');
});

it.each([
  ['wants a password', 'SOURCE_UNREACHABLE', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 60_000],
  ['refuses the host', 'SOURCE_UNREACHABLE', 'HTTP/1.1 403 Forbidden\r\n\r\nNot allowed', 60_000],
  ['ends the connection', 'SOURCE_TIMEOUT', '', 1_000],
])('the failure names the proxy that %s before the API is asked', async (_, code, answer, idleTimeoutMs) => {
  const server = createServer();
  server.on('connect', (_request, socket) => socket.end(answer));
  const at = await proxy('https', server);
  const limits = { idleTimeoutMs, retry: { attempts: 1 } };
  const error = await failureOf(source('https://api.example', { limits }).fetchPage(feed, page, never));
  expect(error).toMatchObject({ code, message: expect.stringContaining(`through the proxy ${at} `) });
});

it('an answer of the API through a tunnel is one of the API', async () => {
  const ours = await authority('the vendor');
  const signed = await ours.sign({ name: 'vendor', host: 'api.example' });
  const api = await startHttpServer((_, response) => void response.writeHead(403).end(), signed);
  endsWithTest(api.stop);
  const tunnel = createServer();
  tunnel.on('connect', (_request, socket) => {
    const there = connect(Number(new URL(api.url).port), '127.0.0.1');
    there.on('connect', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    there
      .on('error', () => {})
      .pipe(socket.on('error', () => {}))
      .pipe(there);
  });
  await proxy('https', tunnel);
  const error = await failureOf(
    source('https://api.example', { ca: ours.cert }).fetchPage(feed, page, never),
  );
  expect(error.code).toBe('SOURCE_FORBIDDEN');
});
