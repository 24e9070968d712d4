import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import helmet from '@fastify/helmet';
import fastify from 'fastify';
import type { ChangesView, FeedView, PublisherView } from '../../../src/admin/dashboard/view';
import { securityHeaders, servePage } from '../../../src/admin/http/server';
import { aPublisher } from '../../support/views';

/**
 * Takes the publisher's place at the HTTP port: it serves the page as the publisher does, and sends any events that a test wants.
 */
export interface StandIn {
  readonly url: string;
  /** Sent to all connected pages, and first to pages that connect later. */
  feeds(views: readonly FeedView[]): void;
  changes(view: Partial<ChangesView>): void;
  /** Says nothing more, but keeps its connections. */
  fallSilent(): void;
  stop(): Promise<void>;
}

const EACH_MS = 5_000;

/** @param port 0: any free one */
export async function startStandIn(publisher: Partial<PublisherView> = {}, port = 0): Promise<StandIn> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(helmet, securityHeaders);
  servePage(app);
  const listeners = new Set<ServerResponse>();
  let feeds: readonly FeedView[] = [];
  let last: ChangesView = { fresh: true, changes: [], left: 0 };
  let isSilent = false;

  const write = (to: ServerResponse, event: string, data: unknown, id?: number) =>
    to.write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`);
  const toAll = (event: string, data: unknown) => {
    if (!isSilent) for (const one of listeners) write(one, event, data);
  };

  app.get('/events', (_, reply) => {
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    if (isSilent) return;
    write(raw, 'publisher', aPublisher(publisher));
    write(raw, 'feeds', feeds);
    write(raw, 'changes', last);
    listeners.add(raw);
    raw.on('close', () => listeners.delete(raw));
  });
  await app.listen({ host: '127.0.0.1', port });
  const timer = setInterval(() => toAll('feeds', feeds), EACH_MS);
  return {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    feeds(views) {
      feeds = views;
      toAll('feeds', views);
    },
    changes(view) {
      const whole = { fresh: false, changes: [], left: 0, ...view };
      last = { ...whole, fresh: true, changes: [...last.changes, ...whole.changes].slice(-500) };
      toAll('changes', whole);
    },
    fallSilent() {
      isSilent = true;
    },
    async stop() {
      clearInterval(timer);
      await app.close();
    },
  };
}
