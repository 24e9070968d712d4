import { createHash, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet';
import send from '@fastify/send';
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { type HttpConfig, isLoopback } from '../../config/http';
import { counted } from '../../format/counted';
import type { Logger } from '../../logging/logger';
import { portUnavailable } from '../../net/port-unavailable';
import type { Dashboard } from '../dashboard/dashboard';
import { boardStatus, type FeedBoard, liveHealth, type Owners, readyHealth } from '../feed-board';
import type { Metrics } from '../metrics/metrics';

interface AdminServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string;
  close(): Promise<void>;
}

interface AdminDeps {
  readonly board: FeedBoard;
  readonly metrics: Metrics;
  readonly dashboard: Pick<Dashboard, 'events' | 'close'>;
  readonly owners: () => Promise<Owners>;
  readonly logger: Logger;
}

/** Built by `npm run build`. A program that runs from its sources uses the files that were built beside them. */
const folders = [
  path.join(__dirname, '..', 'page'),
  path.join(__dirname, '..', '..', '..', 'dist', 'admin', 'page'),
];

const files: Readonly<Record<string, string>> = {
  '/': 'index.html',
  '/page.js': 'page.js',
  '/page.css': 'page.css',
  '/licences.txt': 'licences.txt',
};

/** Where the page's files are asked for: they hold no data. */
const pageRoutes: readonly string[] = Object.keys(files);

/**
 * Open to whoever reaches the port: probes have no token, and their answers hold only names of feeds and codes of
 * errors; the page holds no data, and asks for the token.
 */
const open = ['/livez', '/readyz', ...pageRoutes];

/**
 * Serves the dashboard (`/`, `/events`), `/metrics`, `/livez` and `/readyz`.
 * @throws HighwaterError PORT_UNAVAILABLE
 */
export async function startAdminServer(
  http: HttpConfig,
  { board, metrics, dashboard, owners, logger }: AdminDeps,
): Promise<AdminServer> {
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
  serveEvents(app, dashboard);
  app.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get('/livez', async (_, reply) => {
    const health = liveHealth(board);
    return reply.code(health.ok ? 200 : 503).send(health);
  });
  app.get('/readyz', async (_, reply) => {
    const health = readyHealth(await boardStatus(board, owners));
    return reply.code(health.ok ? 200 : 503).send(health);
  });
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
    url: `http://${place(host)}:${bound}`,
    close: () => app.close(),
  };
}

/** A host as addresses contain it: IPv6 in brackets. */
function place(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function carries(header: string | undefined, token: string): boolean {
  const [, given] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/**
 * Whether a request that names this host may be answered by a server that asks nobody for a token. With DNS rebinding, another
 * site's name points at this machine, and a page of that site can reach the server. Its requests still carry the name of that site.
 * @param header `Host` as it came: `127.0.0.1:9464`, `[::1]:9464`, `localhost`
 * @param bound the address on which the server listens
 */
export function isOwnHost(header: string | undefined, bound: string): boolean {
  const host = hostOf(header ?? '');
  return host !== null && (isLoopback(host) || host.toLowerCase() === bound.toLowerCase());
}

/** Without port and brackets; null if it is not a host. */
function hostOf(header: string): string | null {
  const [, inBrackets, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d*)?$/.exec(header) ?? [];
  return inBrackets ?? plain ?? null;
}

/** Serves the files of the dashboard's page. Browsers keep them, and ask each time whether they are the same. */
export function servePage(app: FastifyInstance): void {
  for (const [route, file] of Object.entries(files))
    app.get(route, (request, reply) => sendFile(file, request, reply));
}

async function sendFile(file: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const root = folders.find((folder) => existsSync(path.join(folder, 'page.js')));
  if (root === undefined) {
    const missing = 'The page is not built. Run `npm run build` where highwater was checked out.\n';
    return reply.code(404).type('text/plain; charset=utf-8').send(missing);
  }
  const found = await send(request.raw, file, { root, cacheControl: false });
  if (found.type === 'error') return reply.code(found.statusCode).send({ error: 'not found' });
  return reply
    .code(found.statusCode)
    .headers({ ...found.headers, 'cache-control': 'no-cache' })
    .send(found.stream);
}

/**
 * The page may only load its own files and send requests to its own server. Texts of the vendor that were taken for markup would
 * find nothing to run.
 */
export const securityHeaders: FastifyHelmetOptions = {
  global: true,
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'connect-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
      'require-trusted-types-for': ["'script'"],
      'trusted-types': ["'none'"],
    },
  },
  xFrameOptions: { action: 'deny' },
  referrerPolicy: { policy: 'no-referrer' },
  // It is served over HTTP; a proxy before it that speaks TLS says this by itself.
  strictTransportSecurity: false,
};

const WARN_EVERY_MS = 60_000;
const MOST_ADDRESSES = 5;

/** Requests with a wrong token: somebody guesses, or a program has the token of before. The first is warned of at once; later ones are counted and warned of together, so that nobody fills the log. */
function wrongTokens(logger: Logger) {
  const addresses = new Set<string>();
  let requests = 0;
  let timer: NodeJS.Timeout | undefined;

  function warn(): void {
    timer = undefined;
    if (requests === 0) return;
    logger.warn(`Dashboard and metrics refused ${counted(requests, 'request')} with a wrong token.`, {
      addresses: [...addresses],
      now: 'Each of them was answered with 401.',
      remedy:
        'Give the program that asks the right token (HIGHWATER_HTTP_TOKEN), or keep the address away from the port.',
    });
    requests = 0;
    addresses.clear();
    timer = setTimeout(warn, WARN_EVERY_MS).unref();
  }

  return {
    /** @param address of the client */
    count(address: string): void {
      requests++;
      if (addresses.size < MOST_ADDRESSES) addresses.add(address);
      if (timer === undefined) warn();
    },
    /** Warns of the requests that no warning has counted. */
    close(): void {
      clearTimeout(timer);
      warn();
      clearTimeout(timer);
    },
  };
}

interface EventStreamLimits {
  /** So many may look at once: pages that nobody closed must not pile up. */
  readonly connections: number;
  /** A client that reads nothing for this long is considered gone: something is sent every few seconds. */
  readonly stalledMs: number;
}

const defaultLimits: EventStreamLimits = { connections: 32, stalledMs: 30_000 };
/** Bytes of text that may wait for a slow reader. More is made only when they are taken. */
const AHEAD_BYTES = 64 * 1024;

/**
 * Serves `GET /events`. Each connection asks for the next event when its reader has taken the previous one. So a slow reader sees
 * fewer events and holds no memory.
 */
export function serveEvents(
  app: FastifyInstance,
  { events }: Pick<Dashboard, 'events'>,
  limits: Partial<EventStreamLimits> = {},
): void {
  const most = { ...defaultLimits, ...limits };
  let connections = 0;

  /**
   * A response that waits behind another on its connection has no socket. It is never told that the connection has closed,
   * so that its request would keep its slot for ever.
   */
  function refusal(hasSocket: boolean): string | null {
    if (!hasSocket) return 'another answer is still being sent on this connection';
    return connections < most.connections ? null : `${most.connections} pages look already`;
  }

  app.get('/events', { exposeHeadRoute: false }, async (request, reply) => {
    const error = refusal(reply.raw.socket !== null);
    if (error !== null) return reply.code(503).header('retry-after', '5').send({ error });
    connections++;
    const gone = new AbortController();
    reply.raw.once('close', () => {
      connections--;
      gone.abort();
    });
    reply.raw.setTimeout(most.stalledMs, () => reply.raw.destroy());
    const lastEventId = request.headers['last-event-id'];
    const id = typeof lastEventId === 'string' ? lastEventId : null;
    const text = Readable.from(events(id, gone.signal), { objectMode: false, highWaterMark: AHEAD_BYTES });
    return (
      reply
        .type('text/event-stream; charset=utf-8')
        // Tells nginx not to buffer: events that it gathers come late.
        .header('x-accel-buffering', 'no')
        .send(text)
    );
  });
}
