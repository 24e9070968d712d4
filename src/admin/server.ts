import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import type { HttpConfig } from '../config/http';
import type { CommitLog } from '../log/commit-log';
import { portUnavailable } from '../port-unavailable';
import type { FeedBoard } from './feed-board';
import { live, ready } from './health';
import type { Metrics } from './metrics';
import { ownersElsewhere } from './owners';

export interface AdminServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string;
  close(): Promise<void>;
}

export interface AdminDeps {
  readonly board: FeedBoard;
  readonly metrics: Metrics;
  readonly log: CommitLog;
}

/** Open to whoever reaches the port: probes have no token, and the answers hold names of feeds and codes of errors alone. */
const open = ['/livez', '/readyz'];

/**
 * Serves `/metrics`, `/livez` and `/readyz`.
 * @throws HighwaterError PORT_UNAVAILABLE
 */
export async function startAdminServer(
  { host, port, token }: HttpConfig,
  { board, metrics, log }: AdminDeps,
): Promise<AdminServer> {
  const app = fastify({ forceCloseConnections: true });
  const elsewhere = ownersElsewhere(
    log,
    board.feeds.map(({ feed }) => feed.name),
  );
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    const isOpen = open.includes(request.routeOptions.url ?? '');
    if (token === null || isOpen || carries(request.headers.authorization, token)) return;
    return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'a Bearer token is needed' });
  });
  app.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get('/livez', async (_, reply) => {
    const health = live(board);
    return reply.code(health.ok ? 200 : 503).send(health);
  });
  app.get('/readyz', async (_, reply) => {
    const health = await ready(board, elsewhere);
    return reply.code(health.ok ? 200 : 503).send(health);
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: 'not found' }));
  // What a library says of a fault of ours is not for whoever asks.
  app.setErrorHandler((_, __, reply) => reply.code(500).send({ error: 'this page could not be made' }));
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw portUnavailable(error, host, port) ?? error;
  }
  const { port: bound } = app.server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () => app.close(),
  };
}

function carries(header: string | undefined, token: string): boolean {
  const [, given] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}
