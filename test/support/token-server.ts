import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Simulator } from '../../src/simulator/simulator';
import { type HttpServer, sendJson, startHttpServer } from './http-server';

/** A token server of OAuth2 for client credentials. */
export interface TokenServer extends Pick<HttpServer, 'stop'> {
  /** The address for token requests. */
  readonly url: string;
  /** Every token request so far. */
  readonly asked: readonly { readonly form: URLSearchParams; readonly authorization: string | undefined }[];
  /** Tokens that count. Removing one revokes it. */
  readonly valid: Set<string>;
  /** Members of the next answers, over the usual ones. */
  members: Readonly<Record<string, unknown>>;
  /** Makes the next tokens. */
  issue: () => string;
  /** Answers the next requests in its place. */
  answer: ((response: ServerResponse, index: number) => void) | null;
  /** The client's secret. */
  secret: string;
  /** Whether a request carries a token that counts. */
  admits(request: Pick<IncomingMessage, 'headers'>): boolean;
}

export const clientId = 'desk:1 +';

export async function startTokenServer(secret: string): Promise<TokenServer> {
  const asked: { form: URLSearchParams; authorization: string | undefined }[] = [];
  const server = await startHttpServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    asked.push({ form, authorization: request.headers.authorization });
    if (tokens.answer !== null) return tokens.answer(response, asked.length - 1);
    if (!isClient(form, request.headers.authorization, tokens.secret))
      return sendJson(response, { error: 'invalid_client', error_description: 'No such client' }, 401);
    const access_token = tokens.issue();
    tokens.valid.add(access_token);
    return sendJson(response, { access_token, token_type: 'Bearer', expires_in: 3600, ...tokens.members });
  });
  const tokens: TokenServer = {
    ...server,
    url: `${server.url}/oauth/token`,
    ...{ asked, valid: new Set<string>(), members: {}, answer: null, secret },
    issue: () => `issued-${asked.length}-${'x'.repeat(20)}.${Math.random().toString(36).slice(2)}`,
    admits: ({ headers }) => tokens.valid.has(headers.authorization?.replace('Bearer ', '') ?? ''),
  };
  return tokens;
}

function isClient(form: URLSearchParams, authorization: string | undefined, secret: string): boolean {
  if (authorization === undefined)
    return form.get('client_id') === clientId && form.get('client_secret') === secret;
  const login = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
  const [id, given] = login.map((part) => new URLSearchParams(`_=${part}`).get('_'));
  return login.length === 2 && id === clientId && given === secret;
}

/** A simulated API behind a door that lets in requests with a token of the server. @param onRequest called before each decision */
export function startGuardedApi(
  api: Simulator,
  tokens: TokenServer,
  onRequest: (index: number) => void = () => {},
): Promise<HttpServer> {
  return startHttpServer((request, response, index) => {
    onRequest(index);
    if (!tokens.admits(request)) return sendJson(response, { error: 'bad token' }, 401);
    const url = new URL(request.url!, api.url);
    url.searchParams.set('token', api.token);
    get(url, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    }).on('error', () => response.destroy());
  });
}
