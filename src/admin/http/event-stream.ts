import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Dashboard } from '../dashboard/dashboard';

export interface EventStreamLimits {
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
