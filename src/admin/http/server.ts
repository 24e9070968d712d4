import { createHash, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyHelmetOptions } from '@fastify/helmet';
import send from '@fastify/send';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../../config/http';
import { counted } from '../../format/counted';
import type { Logger } from '../../logging/logger';

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
export const pageRoutes: readonly string[] = Object.keys(files);

/** A host as addresses contain it: IPv6 in brackets. */
export function place(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

export function carries(header: string | undefined, token: string): boolean {
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
  const [, inBrackets, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d*)?$/.exec(header ?? '') ?? [];
  const host = inBrackets ?? plain;
  return host !== undefined && (isLoopback(host) || host.toLowerCase() === bound.toLowerCase());
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
export function wrongTokens(logger: Logger) {
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

const defaultLimits = {
  /** So many may look at once: pages that nobody closed must not pile up. */
  connections: 32,
  /** A client that reads nothing for this long is considered gone: something is sent every few seconds. */
  stalledMs: 30_000,
};
/** Bytes of text that may wait for a slow reader. More is made only when they are taken. */
const AHEAD_BYTES = 64 * 1024;

/** Sends texts as they come, as long as the client reads them. */
export type Stream = (
  reply: FastifyReply,
  type: string,
  texts: (gone: AbortSignal) => AsyncIterable<string>,
) => FastifyReply;

/**
 * Streams that share a limit. Each connection asks for the next text when its reader has taken the previous one. So a slow reader
 * holds no memory, and is cut off.
 */
export function eventStreams(limits: Partial<typeof defaultLimits> = {}): Stream {
  const most = { ...defaultLimits, ...limits };
  let connections = 0;

  /** A client that does not take a text for a while is cut off. */
  async function* watched(texts: AsyncIterable<string>, { raw }: FastifyReply): AsyncGenerator<string> {
    for await (const text of texts) {
      const stalled = setTimeout(() => raw.destroy(), most.stalledMs).unref();
      yield text;
      clearTimeout(stalled);
    }
  }

  return (reply, type, texts) => {
    // The client left before the answer began: nothing would ever tell that it is gone.
    if (reply.raw.socket?.destroyed) return reply.hijack();
    const refuse = (error: string) => reply.code(503).header('retry-after', '5').send({ error });
    // A response that waits behind another on its connection has no socket. It is never told that the connection has closed,
    // so that its request would keep its slot for ever.
    if (reply.raw.socket === null) return refuse('another answer is still being sent on this connection');
    if (connections >= most.connections) return refuse(`${most.connections} streams are open already`);
    connections++;
    const gone = new AbortController();
    reply.raw.once('close', () => {
      connections--;
      gone.abort();
    });
    // Finds clients that vanished without a word.
    reply.raw.socket.setKeepAlive(true, most.stalledMs);
    const text = Readable.from(watched(texts(gone.signal), reply), {
      objectMode: false,
      highWaterMark: AHEAD_BYTES,
    });
    // A client that waits for the next event is told at once that it is connected.
    text.once('resume', () => reply.raw.flushHeaders());
    return (
      reply
        .type(`${type}; charset=utf-8`)
        // Tells nginx not to buffer: events that it gathers come late.
        .header('x-accel-buffering', 'no')
        .send(text)
    );
  };
}

/** `Last-Event-ID` of a stream that goes on; null: it is a new one. */
export function lastEventId({ headers }: FastifyRequest): string | null {
  const { 'last-event-id': id } = headers;
  return typeof id === 'string' ? id : null;
}
