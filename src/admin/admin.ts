import type { AddressInfo } from 'node:net';
import helmet from '@fastify/helmet';
import fastify, { type FastifyError, type FastifyReply } from 'fastify';
import type { HttpConfig } from '../config/http';
import type { Opened } from '../consumer/open-log';
import { type DeliveryStatus, deliveryStatus } from '../delivery/status';
import { portUnavailable } from '../net/port-unavailable';
import type { PublisherEvent } from '../runtime/publisher-events';
import { type AdminOptions, createDashboard } from './dashboard/dashboard';
import {
  askedNowAndThen,
  boardStatus,
  feedBoard,
  type Health,
  liveHealth,
  ownersOf,
  readyHealth,
} from './feed-board';
import { serveRecords } from './http/records';
import {
  carries,
  eventStreams,
  isOwnHost,
  lastEventId,
  pageRoutes,
  place,
  securityHeaders,
  servePage,
  wrongTokens,
} from './http/server';
import { serveTopics } from './http/topics';
import { createMetrics } from './metrics/metrics';

/** The HTTP server of a running publisher. */
export type Admin = Awaited<ReturnType<typeof startAdmin>>;

/**
 * Open to whoever reaches the port: probes have no token, and their answers hold only names of feeds and codes of
 * errors; the page holds no data, and asks for the token.
 */
const open = ['/livez', '/readyz', ...pageRoutes];

/**
 * Serves the dashboard (`/`, `/events`), `/topics`, `/feeds`, `/metrics`, `/livez` and `/readyz`.
 * @throws HighwaterError PORT_UNAVAILABLE
 */
export async function startAdmin(http: HttpConfig, options: AdminOptions) {
  const { feeds, log, logger } = options;
  const names = feeds.map(({ name }) => name);
  const board = feedBoard(feeds, ownersOf(log, names));
  const { deliveries = [], topicPrefix, consumer } = options;
  /** The log of consumers, opened when it is first needed. */
  let opened: Opened | null = null;
  const openConsumer = consumer && (() => (opened ??= consumer()));
  const deliveriesNow = askedNowAndThen<readonly DeliveryStatus[]>(async (signal) => {
    if (deliveries.length === 0 || openConsumer === undefined) return [];
    return deliveryStatus(deliveries, { log: openConsumer().log, topicPrefix }, signal);
  }, []);
  const metrics = createMetrics(board, options.build, options, deliveriesNow);
  const dashboard = createDashboard(board, options, deliveriesNow);
  const { host, port } = http;
  const app = fastify({
    forceCloseConnections: true,
    // fastify's own answer repeats the requested path.
    frameworkErrors: (_, __, reply: FastifyReply) => void reply.code(400).send({ error: 'not an address' }),
  });
  const refused = wrongTokens(logger);
  await app.register(helmet, securityHeaders);
  app.addHook('onRequest', async (request, reply) => {
    const { token } = http;
    reply.header('cache-control', 'no-store');
    if (token === null && !isOwnHost(request.headers.host, host)) {
      const error = `asked for by another name than that of this machine; open http://${place(host)}:${request.socket.localPort}/`;
      return reply.code(403).send({ error });
    }
    const isOpen = open.includes(request.routeOptions.url ?? '');
    const { authorization } = request.headers;
    if (token === null || isOpen || carries(authorization, token)) return;
    if (authorization !== undefined) refused.count(request.ip);
    return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'a Bearer token is needed' });
  });
  // Streams that never end by themselves would hold up the end of the server.
  app.addHook('preClose', () => dashboard.close());
  app.addHook('onClose', async () => refused.close());
  servePage(app);
  const stream = eventStreams();
  app.get('/events', { exposeHeadRoute: false }, (request, reply) =>
    stream(reply, 'text/event-stream', (gone) => dashboard.events(lastEventId(request), gone)),
  );
  serveRecords(app, board, options.registry);
  if (openConsumer !== undefined) serveTopics(app, openConsumer, stream);
  app.addHook('onClose', async () => opened?.log.close());
  app.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  const answer = (reply: FastifyReply, health: Health) => reply.code(health.ok ? 200 : 503).send(health);
  app.get('/livez', async (_, reply) => answer(reply, liveHealth(board)));
  app.get('/readyz', async (_, reply) => answer(reply, readyHealth(await boardStatus(board))));
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: 'not found' }));
  // The client is told the status, and not the library's words. A 4xx is its own fault, such as a body that is too large.
  app.setErrorHandler<FastifyError>(({ statusCode = 500 }, _, reply) =>
    statusCode >= 400 && statusCode < 500
      ? reply.code(statusCode).send({ error: 'this request is refused' })
      : reply.code(500).send({ error: 'this page could not be made' }),
  );
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw portUnavailable(error, host, port) ?? error;
  }
  const { port: bound } = app.server.address() as AddressInfo;
  return {
    /** `http://127.0.0.1:9464` */
    url: `http://${place(host)}:${bound}`,
    close: async (): Promise<void> => app.close(),
    /** Receives every event of the publisher. */
    tell(event: PublisherEvent): void {
      try {
        for (const part of [board, metrics]) part.tell(event);
      } catch (error) {
        // If a metric cannot be counted, the work that it counts still goes on.
        logger.debug('an event was not counted', { feed: event.feed, kind: event.kind, error });
      }
    },
  };
}
