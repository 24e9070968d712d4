import { pause } from '../../async/wait';
import { type ErrorCode, HighwaterError } from '../../errors';
import { answerLimits } from '../../json/limits';
import { parseJson } from '../../json/parse-json';
import { echoedToken } from '../../secrets/echoed-token';
import { proxyPasswords } from '../../secrets/proxy-passwords';
import { createRedactor } from '../../secrets/redaction';
import { type ApiAccess, authHeaders, secretsOf, tokenParameter } from '../../source/api-access';
import { inUtf8 } from '../../source/charset';
import { createAgents, httpRequest } from '../../source/http-request';
import { interpretResponse, type RawResponse } from '../../source/response-policy';
import { PageDeadline, withRetry } from '../../source/retry';

/** One answer of an endpoint of which nothing is known yet. */
interface EndpointAnswer {
  /** Parsed JSON; undefined when the endpoint refused the request or answered with something else. */
  readonly body: unknown;
  readonly linkHeader: string | undefined;
  readonly headers?: RawResponse['headers'];
  readonly isByPath?: boolean;
}

export type Endpoint = ReturnType<typeof openEndpoint>;

/** Requests a second that `init` sends. Many APIs allow ten. */
export const mostRequestsPerSecond = 10;
const PAUSE_MS = 1000 / mostRequestsPerSecond;
/** How long a limit of the API is waited for. */
const waiting = { attempts: 6, totalMs: 120_000, baseMs: 1_000, maxMs: 10_000 };
const bodyLimitBytes = 64 * 1024 * 1024;
const limits = { timeoutMs: 30_000, idleTimeoutMs: 15_000, bodyLimitBytes };

/**
 * @param url with the fixed query parameters
 * @param onPause the API refuses requests because there were too many, and is asked again after this time
 */
export function openEndpoint(
  url: URL,
  access: ApiAccess,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onPause: (ms: number) => void,
) {
  const connections = createAgents({});
  const agents = connections.now();
  const parameter = tokenParameter(access.auth);
  const redact = createRedactor([...secretsOf(access), ...proxyPasswords(process.env)], parameter);
  const address = `${url.origin}${url.pathname}`;
  const request = `GET ${redact(address)}`;

  let rateLimit: RateLimit | null = null;

  async function send(query: Readonly<Record<string, string>>, link: URL | null): Promise<RawResponse> {
    const asked = new URL(url);
    // No request leaves the API's own host, wherever a link leads.
    if (link !== null) [asked.pathname, asked.search] = [link.pathname, link.search];
    for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, value);
    if (parameter !== null) asked.searchParams.set(parameter, access.token);
    const all = { ...headers, ...authHeaders(access) };
    const result = await httpRequest({
      url: asked.href,
      headers: all,
      request,
      agents,
      limits,
      redact,
      signal,
    });
    if (result.kind !== 'response') throw failed(result);
    rateLimit ??= rateLimitIn(result.response.headers, Date.now());
    return result.response;
  }

  const meaningOf = (response: RawResponse) =>
    interpretResponse(response, {
      responseKey: '',
      idField: 'id',
      updatedField: 'updated',
      paging: { style: 'none' },
      omit: [],
      auth: access.auth,
      url: address,
      request,
      redact,
      echoedToken: echoedToken([access.token]),
      limits: answerLimits(bodyLimitBytes),
      signal,
      nowMs: Date.now(),
    });

  /** An answer to "too many requests" would say nothing about the endpoint. */
  async function get(query: Readonly<Record<string, string>>, link: URL | null = null): Promise<RawResponse> {
    const attempt = async () => {
      const response = await send(query, link);
      const meaning = response.status === 200 ? null : await meaningOf(response);
      const isRefused = meaning?.kind === 'failure' && meaning.code === 'SOURCE_RATE_LIMITED';
      return isRefused ? meaning : { kind: 'answer' as const, response };
    };
    const onRetry = (_: unknown, __: number, ms: number) => onPause(ms);
    const options = { limits: waiting, random: Math.random, signal, onRetry };
    const result = await withRetry(attempt, new PageDeadline(waiting.totalMs), options);
    if (result.kind === 'answer') return result.response;
    throw failed(result);
  }

  return {
    /** @throws HighwaterError SOURCE_* when there is no answer, or no JSON in it */
    async first(): Promise<EndpointAnswer> {
      const response = await get({});
      const answer = answerOf(response);
      if (answer.body !== undefined) return answer;
      const meaning = await meaningOf(response);
      if (meaning.kind === 'page') return { body: meaning.rows, linkHeader: undefined };
      throw failed(meaning);
    },
    /**
     * With more query parameters, or at a link that it gave. A refusal is an answer: it says that the endpoint does not take them.
     */
    async ask(query: Readonly<Record<string, string>>, link?: string): Promise<EndpointAnswer> {
      const target = link === undefined ? null : URL.canParse(link, address) ? new URL(link, address) : null;
      if (link !== undefined && target === null) return nothing;
      await pause(PAUSE_MS, signal);
      signal.throwIfAborted();
      const isByPath = target !== null && target.origin !== url.origin;
      return { ...answerOf(await get(query, target)), isByPath };
    },
    /** What the answers say of a limit of requests; null when they say nothing. */
    rateLimit: () => rateLimit,
    close: connections.destroy,
  };
}

/** There is no feed yet, and no poll. */
function failed({ code, what }: { readonly code: ErrorCode; readonly what: string }): HighwaterError {
  const remedy =
    "Compare the address with the vendor's documentation. It is asked by GET; a feed that asks by POST is written by hand: docs/adding-a-feed.md.";
  const now = 'Nothing was written.';
  return new HighwaterError(code, `${what}.`, code === 'SOURCE_REQUEST_REFUSED' ? { now, remedy } : { now });
}

const nothing: EndpointAnswer = { body: undefined, linkHeader: undefined };

function answerOf({ status, headers, body }: RawResponse): EndpointAnswer {
  if (status !== 200) return nothing;
  const decoded = inUtf8(body, headers['content-type'], true).body;
  if (decoded === null) return nothing;
  try {
    return {
      body: parseJson(new TextDecoder('utf-8', { fatal: true }).decode(decoded.kept())),
      linkHeader: headers.link,
      headers,
    };
  } catch {
    return nothing;
  }
}

/** What an API says of its limit of requests. */
export interface RateLimit {
  /** The headers that say so, for people. */
  readonly said: string;
  /** Requests a second, at most as many as `init` itself sends. */
  readonly requestsPerSecond: number;
}

/** With less, a poll would take minutes. Where the API allows less, it asks for pauses, which are kept. */
const leastRequestsPerSecond = 0.1;

const named = /^(?:x-)?rate-?limit(?:-(?:limit|policy|reset))?$/;

/**
 * The limit in the headers of an answer; null if none says anything. An API that does not say for how long its limit counts is asked as
 * often as `init` has asked it.
 */
export function rateLimitIn(
  headers: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): RateLimit | null {
  const found = Object.entries(headers).filter(([name, value]) => named.test(name) && value !== undefined);
  if (found.length === 0) return null;
  const value = (ending: RegExp) => found.find(([name]) => ending.test(name))?.[1] ?? '';
  // `100;w=60`, `"default";q=100;w=60`, and `100, 100;w=60`.
  const windows = found.flatMap(([, text]) =>
    [...text!.matchAll(/(?:^|[,\s])(?:"[^"]*"\s*;\s*q=)?(\d+)\s*;\s*w=(\d+)/g)].map(([, count, seconds]) => [
      Number(count),
      Number(seconds),
    ]),
  );
  const reset = Number.parseFloat(value(/-reset$/));
  const untilReset = reset < 1e9 ? reset : reset / (reset < 1e12 ? 1 : 1000) - nowMs / 1000;
  if (windows.length === 0) windows.push([Number.parseFloat(value(/-limit$/)), untilReset]);
  const rates = windows.map(([count, seconds]) => count! / seconds!).filter((rate) => rate > 0);
  const least = Math.min(mostRequestsPerSecond, ...rates);
  return {
    said: found.map(([name, text]) => `${name}: ${text}`).join(', '),
    requestsPerSecond:
      least >= 1 ? Math.floor(least) : Math.max(leastRequestsPerSecond, Math.floor(least * 10) / 10),
  };
}
