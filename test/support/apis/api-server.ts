import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { hashText } from '../../../src/simulator/random';
import { startHttpServer } from '../http-server';
import { type ApiStore, apiStore, type Row, type RowShape, type StoredRow } from './api-store';
import { type Each, friendly, type Hostility, passing } from './hostility';

/** One list endpoint in the shape of a vendor's. */
export interface ApiShape extends RowShape {
  /** Name of the feed and of its example's folder. */
  readonly name: string;
  readonly path: string;
  readonly token: string;
  /** Path of its token server, if requests carry tokens of OAuth2. `token` is then the client's secret. */
  readonly tokenPath?: string;
  readonly longestPage: number;
  /** Whether the request carries the token as this vendor wants it. Not asked with a token server. */
  allows(headers: IncomingMessage['headers'], query: URLSearchParams): boolean;
  /** Default: GET. */
  readonly method?: 'POST';
  /** @param body parsed JSON, of a POST. @throws Refusal if the vendor would refuse the request */
  ask(query: URLSearchParams, body: unknown): Asked;
  answer(page: Page): Answer;
  /** How this vendor writes an error. */
  failure(status: number, text: string): unknown;
  /** Errors have this status; the body says which it is. */
  readonly statusOfErrors?: number;
}

export interface Asked {
  readonly sinceMs: number;
  readonly limit: number;
  /** Where the page begins. An empty cursor is the beginning; `behind` is the key of a row. */
  readonly at:
    | { readonly leaveOut: number }
    | { readonly page: number }
    | { readonly cursor: string }
    | { readonly behind: string };
  readonly by: 'updated' | 'created';
  readonly descending?: boolean;
}

export interface Page {
  readonly rows: readonly Row[];
  /** Cursor of the next page. Null: this is the last page, or pages are numbered. */
  readonly cursor: string | null;
  readonly isLast: boolean;
  /** Rows that match the query, on all pages. */
  readonly total: number;
  readonly url: URL;
}

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export interface ApiServer {
  /** Base address. */
  readonly url: string;
  readonly shape: ApiShape;
  readonly store: ApiStore;
  /** In order. Status 0: the answer was cut off. */
  readonly requests: readonly { readonly url: URL; readonly status: number }[];
  behave(change: Partial<Hostility>): void;
  /** Ends the faults. The API's nature stays. */
  calm(): void;
  stop(): Promise<void>;
}

export interface ApiOptions {
  readonly seed?: number;
  readonly rows?: number;
  readonly hostility?: Partial<Hostility>;
}

/** Where a cursor goes on: behind the row of that rank. */
interface Cursor {
  readonly sinceMs: number;
  /** Null: from the first row. */
  readonly rank: Rank | null;
  /** Tells cursors of one place apart. */
  readonly turn: number;
}
type Rank = readonly [number, number];

/** Requests that a token of a token server is good for. */
const TOKEN_REQUESTS = 31;

export async function startApi(
  shape: ApiShape,
  { seed = 1, rows: count = 100, hostility: given = {} }: ApiOptions = {},
): Promise<ApiServer> {
  let hostility: Hostility = { ...friendly, ...given };
  const store = apiStore(shape, { seed, rows: count }, () => hostility);
  const requests: { url: URL; status: number }[] = [];
  const counts = new Map<Each, number>();
  /** Tokens of the token server, with the requests that each is still good for. */
  const tokens = new Map<string, number>();

  async function giveToken(request: IncomingMessage): Promise<Answer> {
    const form = new URLSearchParams(await text(request));
    const isClient =
      form.get('grant_type') === 'client_credentials' && form.get('client_secret') === shape.token;
    if (!isClient) return { status: 401, body: { error: 'invalid_client' } };
    const access_token = `token-${tokens.size}-of-${shape.name}`;
    tokens.set(access_token, TOKEN_REQUESTS);
    return { body: { access_token, token_type: 'bearer', expires_in: 86_400 } };
  }

  function allows(headers: IncomingMessage['headers'], query: URLSearchParams): boolean {
    if (shape.tokenPath === undefined) return shape.allows(headers, query);
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    const left = tokens.get(token) ?? 0;
    tokens.set(token, left - 1);
    return left > 0;
  }

  /** Whether it is the turn of a request that could be hit. */
  function strikes(what: Each): boolean {
    const reached = (counts.get(what) ?? 0) + 1;
    counts.set(what, reached);
    return hostility[what] > 0 && reached % hostility[what] === 0;
  }

  function answer(url: URL, { headers, method }: IncomingMessage, body: unknown): Answer {
    const refusal = (status: number, what: string, more = {}): Answer => {
      return { status, body: shape.failure(status, what), headers: more };
    };
    if (url.pathname !== shape.path || method !== (shape.method ?? 'GET')) return refusal(404, 'Not found');
    if (!allows(headers, url.searchParams)) return refusal(401, 'Bad credentials');
    if (strikes('eachFails')) return refusal(500, 'Internal error');
    if (strikes('eachTooMany')) return refusal(429, 'Too many requests', { 'retry-after': '1' });
    try {
      return shape.answer({ ...pageOf(shape.ask(url.searchParams, body)), url });
    } catch (error) {
      if (error instanceof Refusal) return refusal(error.status, error.message);
      throw error;
    }
  }

  function pageOf(asked: Asked): Omit<Page, 'url'> {
    const cursor = 'cursor' in asked.at ? readCursor(asked.at.cursor, asked.sinceMs) : null;
    if (cursor?.rank && strikes('eachExpired')) throw new Refusal(410, 'The cursor has expired');
    const { sinceMs } = cursor ?? asked;
    const isFound = ({ stampMs }: StoredRow): boolean =>
      hostility.ignoresFilter || stampMs > sinceMs || (stampMs === sinceMs && !hostility.exclusiveFilter);
    const ranked = store
      .shown()
      .filter(isFound)
      .map((stored) => ({ stored, rank: rankOf(stored, asked) }));
    ranked.sort((a, b) => compare(a.rank, b.rank));

    const length = Math.min(asked.limit, hostility.pageCap || shape.longestPage);
    const behind = cursor?.rank ?? null;
    const start =
      cursor === null
        ? numbered(asked.at, length, ranked)
        : behind === null
          ? 0
          : placeBehind(ranked, behind);
    // Behind the last row there is nothing, however rows are repeated.
    const repeated = start > 0 && start < ranked.length ? hostility.repeatedRows : 0;
    const first = Math.max(0, start - repeated);
    const shown = ranked.slice(first, first + length);
    const isLast = first + shown.length >= ranked.length;
    const page = { rows: shown.map(({ stored }) => stored.row), isLast, total: ranked.length, cursor: null };
    if (cursor === null) return page;
    if (!isLast && strikes('eachEmpty'))
      return { ...page, rows: [], cursor: writeCursor({ ...cursor, turn: cursor.turn + 1 }) };
    if (!isLast && behind !== null && strikes('eachRepeated'))
      return { ...page, cursor: writeCursor(cursor) };
    if (isLast && !hostility.endlessCursor) return page;
    const rank = shown.at(-1)?.rank ?? behind;
    return { ...page, cursor: writeCursor({ sinceMs, rank, turn: shown.length === 0 ? cursor.turn : 0 }) };
  }

  function rankOf({ key, number, stampMs }: StoredRow, { by, descending = false }: Asked): Rank {
    if (hostility.unsorted) return [hashText(key), number];
    const rank: Rank = by === 'updated' ? [stampMs, number] : [number, 0];
    return descending ? [-rank[0], -rank[1]] : rank;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', server.url);
    if (hostility.slowMs > 0) await delay(hostility.slowMs);
    const isTokenRequest = url.pathname === shape.tokenPath;
    const answered = isTokenRequest ? await giveToken(request) : answer(url, request, await sentIn(request));
    const { status = 200, body, headers = {} } = answered;
    const bytes = Buffer.from(JSON.stringify(body));
    const isCut = status === 200 && !isTokenRequest && strikes('eachCut');
    requests.push({ url, status: isCut ? 0 : status });
    const type = { 'content-type': 'application/json', 'content-length': bytes.length };
    const shown = status === 200 ? status : (shape.statusOfErrors ?? status);
    response.writeHead(shown, { ...type, ...headers });
    if (isCut) response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
    else response.end(bytes);
  }

  const server = await startHttpServer((request, response) => void respond(request, response));
  return {
    url: server.url,
    shape,
    store,
    requests,
    behave(change) {
      hostility = { ...hostility, ...change };
    },
    calm() {
      hostility = { ...hostility, ...passing };
    },
    stop: () => server.stop(),
  };
}

async function sentIn(request: IncomingMessage): Promise<unknown> {
  const sent = await text(request);
  return sent === '' ? undefined : JSON.parse(sent);
}

function numbered(at: Asked['at'], length: number, ranked: readonly { stored: StoredRow }[]): number {
  if ('leaveOut' in at) return at.leaveOut;
  if ('behind' in at) {
    const place = ranked.findIndex(({ stored }) => stored.key === at.behind);
    if (place < 0) throw new Refusal(404, `No such row: ${at.behind}`);
    return place + 1;
  }
  return 'page' in at ? at.page * length : 0;
}

function placeBehind(ranked: readonly { readonly rank: Rank }[], behind: Rank): number {
  const place = ranked.findIndex(({ rank }) => compare(rank, behind) > 0);
  return place < 0 ? ranked.length : place;
}

function compare(a: Rank, b: Rank): number {
  return a[0] - b[0] || a[1] - b[1];
}

function writeCursor({ sinceMs, rank, turn }: Cursor): string {
  return Buffer.from(JSON.stringify([sinceMs, rank, turn])).toString('base64url');
}

function readCursor(text: string, sinceMs: number): Cursor {
  if (text === '') return { sinceMs, rank: null, turn: 0 };
  try {
    const [since, rank, turn] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
      number,
      Rank,
      number,
    ];
    return { sinceMs: since, rank, turn };
  } catch {
    throw new Refusal(400, 'Unknown cursor');
  }
}
