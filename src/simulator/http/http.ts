import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { endpoints, type FeedName, feedNames } from '../endpoints';
import type { Market } from '../market';
import { type Answer, answer, noRoute, unauthorized } from './answer';
import type { Fault } from './faults';
import { answerWithoutRecords, retryAfterHeader, spoil } from './faults';
import type { QueryText } from './query';
import type { SeenRequest } from './request-log';

const gzipped = promisify(gzip);
/** In bytes. */
const LEAST_COMPRESSED = 1_024;

/** The vendor's three endpoints, and its gateway's word on any other path. */
export async function createVendorHttp(market: Market, compress: boolean) {
  const app = fastify({
    forceCloseConnections: true,
    keepAliveTimeout: 72_000,
    bodyLimit: 256 * 1024 * 1024,
  });
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());
  if (compress) {
    app.addHook('onSend', async (request, reply, body) => {
      const isAccepted = /\bgzip\b/.test(String(request.headers['accept-encoding']));
      if (!isAccepted || !Buffer.isBuffer(body) || body.length < LEAST_COMPRESSED) return body;
      reply.removeHeader('content-length').headers({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      // The fastest level: large pages must not make the simulator the slowest part.
      return gzipped(body, { level: constants.Z_BEST_SPEED });
    });
  }
  for (const feed of feedNames) {
    app.get(endpoints[feed].path, { exposeHeadRoute: false }, (request, reply) =>
      serve(feed, request, reply),
    );
  }
  app.setNotFoundHandler((request, reply) => {
    noted(null, request).status = 404;
    return send(reply, noRoute());
  });
  return app as unknown as FastifyInstance;

  function noted(feed: FeedName | null, request: FastifyRequest): SeenRequest {
    const { url, headers, socket } = request;
    const path = url.split('?', 1)[0]!;
    const query = request.query as QueryText;
    return market.requests.add({ atMs: market.clock(), feed, path, query, headers }, socket);
  }

  async function serve(feed: FeedName, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const query = request.query as QueryText;
    const seen = noted(feed, request);
    await market.onRequest(seen);

    const faults = market.faults.draw(feed, Number(query[endpoints[feed].pageSize] ?? 0));
    seen.faults = faults.map((fault) => fault.kind);
    const waits = faults.reduce((ms, fault) => ms + (fault.kind === 'delay' ? fault.ms : 0), 0);
    if (waits > 0) await delay(waits, undefined, { signal: stopping.signal }).catch(() => undefined);
    const fault = faults.find(({ kind }) => kind !== 'delay') ?? null;

    const serverMs = market.serverMs(feed);
    if (market.behaviour(feed).dateHeader) reply.header('date', new Date(serverMs).toUTCString());
    else reply.raw.sendDate = false;
    const unanswered = fault?.kind === 'reset' || fault?.kind === 'hang';
    if (unanswered && fault.when === 'before') {
      market.requests.answered(seen);
      reply.hijack();
      if (fault.kind === 'reset') request.socket.resetAndDestroy();
      return reply;
    }
    const made = makeAnswer(feed, request, fault, seen, serverMs);
    if (!unanswered) seen.status = made.status;
    market.requests.answered(seen);
    if (!unanswered) return send(reply, made);
    reply.hijack();
    writeHalf(reply, made, () => fault.kind === 'reset' && request.socket.resetAndDestroy());
    return reply;
  }

  function makeAnswer(
    feed: FeedName,
    request: FastifyRequest,
    fault: Fault | null,
    seen: SeenRequest,
    serverMs: number,
  ): Answer {
    const broken = fault && answerWithoutRecords(fault, request.url, serverMs, endpoints[feed]);
    if (broken) return broken;
    const query = request.query as QueryText;
    const token = tokenOf(request);
    if (token === null || !market.accepts(token)) return unauthorized();
    const wait = market.takeFromBudget(token);
    if (wait !== null)
      return answer(429, '{"message":"API rate limit exceeded"}', retryAfterHeader(wait, serverMs));
    const { cacheSeconds } = market.behaviour(feed);
    const page = market.cached(request.url, serverMs, cacheSeconds, () =>
      market.answerPage(feed, query, seen.number, fault),
    );
    seen.rows = page.rows;
    return fault === null ? page.answer : spoil(fault, page.answer, endpoints[feed]);
  }
}

function tokenOf(request: FastifyRequest): string | null {
  const { token } = request.query as QueryText;
  if (typeof token === 'string' && token !== '') return token;
  const [, header] = /^token (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return header ?? null;
}

function send(reply: FastifyReply, made: Answer): FastifyReply {
  return reply.code(made.status).headers(made.headers).send(made.body);
}

function writeHalf(reply: FastifyReply, made: Answer, then: () => void): void {
  const headers = { ...(reply.getHeaders() as Record<string, string>), ...made.headers };
  reply.raw.writeHead(made.status, { ...headers, 'content-length': made.body.length });
  // The reset must not overtake the written bytes.
  reply.raw.write(made.body.subarray(0, Math.ceil(made.body.length / 2)), () => setImmediate(then));
}
