import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface HttpServer {
  readonly url: string;
  /** Every request so far, in order. */
  readonly requests: readonly { readonly url: string; readonly headers: IncomingMessage['headers'] }[];
  /** TCP connections taken so far. */
  readonly connections: () => number;
  stop(): Promise<void>;
}

/**
 * A raw server for answers that no well-meant API gives: resets, slow bodies, cut bodies.
 * @param tls its certificate and key; left out: without TLS
 */
export async function startHttpServer(
  answer: (request: IncomingMessage, response: ServerResponse, index: number) => void,
  tls?: ServerOptions,
): Promise<HttpServer> {
  const requests: { url: string; headers: IncomingMessage['headers'] }[] = [];
  let connections = 0;
  const take: RequestListener = (request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers });
    answer(request, response, requests.length - 1);
  };
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () => connections,
    async stop() {
      if (!server.listening) return;
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export function sendJson(response: ServerResponse, value: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof value === 'string' ? value : JSON.stringify(value));
}
