import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { endsWithTest } from './ends';
import { sendJson, startHttpServer } from './http-server';

/** A request that a receiver of deliveries got. */
export interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a request; the index counts from 0. */
export type Answering = (response: ServerResponse, received: Received, index: number) => void;

export const ok: Answering = (response) => sendJson(response, {});

/** A receiver of webhooks that answers as it is told, with 200 by itself. It ends with the test. */
export async function startReceiver(answering: Answering = ok) {
  const received: Received[] = [];
  let answer = answering;
  const server = await startHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      const one = { url, headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      answer(response, one, received.length - 1);
    });
  });
  endsWithTest(() => server.stop());
  return {
    url: server.url,
    received: received as readonly Received[],
    /** The ids of the records whose events it got, in order. */
    keys: () => received.map(({ body }) => (JSON.parse(body) as { partitionkey: string }).partitionkey),
    answers(next: Answering) {
      answer = next;
    },
  };
}
