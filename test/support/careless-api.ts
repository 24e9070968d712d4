import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpServer, sendJson, startHttpServer } from './http-server';
import { everySpelling } from './marked-secrets';

/** An API that repeats the token it is asked with, in another spelling each time, wherever an answer has room for it. */
export interface CarelessApi {
  /** A base address of its own, whose answers go through the situations from the beginning, or are all of use when it is called fine. */
  address(name: string): string;
  /** How many requests there were at an address, of the feed that was asked least. */
  asked(name: string): number;
  readonly server: HttpServer;
}

type Answer = (request: IncomingMessage, response: ServerResponse, said: string) => void;

const fine: Answer = ({ url = '' }, response) => {
  const query = new URL(url, 'http://host').searchParams;
  const token = query.get('token');
  const said = [token, Buffer.from(`highwater:${token}`).toString('base64')];
  const row = (id: string | null) => ({
    id,
    updated: 1_700_000_000,
    ticker: 'AAA',
    self: `http://api${url}`,
    said,
  });
  const rows = query.get('page') === '0' ? [row('a'), row('b'), row(null)] : [];
  sendJson(response, { 'analyst-insights': rows, analyst_ratings_analyst: rows, ipos: rows });
};

/** By feed. Every other request is answered well, and the last one of a list is answered for good. */
const situations: Readonly<Record<'insights' | 'analysts' | 'ipos', readonly Answer[]>> = {
  insights: [
    (_, response, said) => sendJson(response, { message: said }, 500, { 'x-said': encodeURIComponent(said) }),
    () => {},
    ({ socket }) => socket.destroy(),
    (_, response, said) =>
      sendJson(response, { ok: false, errors: [{ code: 'auth_failed', id: 'bad_token', value: said }] }, 401),
  ],
  analysts: [
    ({ url }, response, said) => response.end(`{"self":${JSON.stringify([said, url])},"ratings":[{"id":`),
    ({ url }, response, said) =>
      response.writeHead(200, { 'content-type': `text/${url}` }).end(`<h1>${said}</h1>`),
    ({ url, socket }, _, said) => socket.end(`BOGUS ${url} ${said}\r\n\r\n`),
    ({ url }, response, said) =>
      response
        .writeHead(302, { location: `http://other.invalid${url}&said=${encodeURIComponent(said)}` })
        .end(),
  ],
  ipos: [
    (_, response, said) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write(`{"said":${JSON.stringify(said)}`, () => response.destroy());
    },
    (_, response, said) => sendJson(response, { [said]: 1, message: said }),
    (_, response, said) => sendJson(response, JSON.stringify(said), 424),
    (_, response, said) =>
      response.writeHead(503, { 'retry-after': said.replace(/[^\x20-\x7e]/g, '') }).end(said),
    fine,
  ],
};

export async function startCarelessApi(): Promise<CarelessApi> {
  const counts = new Map<string, number>();
  let spoken = 0;
  const server = await startHttpServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://host');
    const [, name = ''] = pathname.split('/');
    const feed = (['insights', 'analysts', 'ipos'] as const).find((one) => pathname.includes(one)) ?? 'ipos';
    const count = counts.get(`${name} ${feed}`) ?? 0;
    counts.set(`${name} ${feed}`, count + 1);
    const spellings = everySpelling(searchParams.get('token') ?? '');
    const said = spellings[spoken++ % spellings.length]!;
    const list = situations[feed];
    const answer = count % 2 === 0 ? fine : list[Math.min((count - 1) / 2, list.length - 1)]!;
    const isOver = (count - 1) / 2 >= list.length;
    (name === 'fine' ? fine : isOver ? list.at(-1)! : answer)(request, response, said);
  });
  return {
    server,
    address: (name) => `${server.url}/${name}`,
    asked: (name) => Math.min(...Object.keys(situations).map((feed) => counts.get(`${name} ${feed}`) ?? 0)),
  };
}
