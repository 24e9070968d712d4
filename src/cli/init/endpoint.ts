import { pause } from '../../async/wait';
import { type ErrorCode, errorKinds, HighwaterError } from '../../errors';
import { AnswerShape } from '../../json/answer-shape';
import { answerLimits } from '../../json/limits';
import { parseJson } from '../../json/parse-json';
import { echoedToken } from '../../secrets/echoed-token';
import { proxyPasswords } from '../../secrets/proxy-passwords';
import { createRedactor } from '../../secrets/redaction';
import { type ApiAccess, authHeaders, secretsOf, tokenParameter } from '../../source/api-access';
import { inUtf8 } from '../../source/charset';
import { REFUSALS } from '../../source/client';
import { createAgents, type HttpResult, httpRequest } from '../../source/http-request';
import { interpretResponse, type RawResponse } from '../../source/response-policy';
import { PageDeadline, withRetry } from '../../source/retry';
import type { SourceFailure } from '../../source/source';

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
/** How long a limit of the API is waited for, and the end of its trouble. */
const waiting = { attempts: 6, totalMs: 120_000, baseMs: 1_000, maxMs: 10_000 };
/** Before a request whose parameter may be the cause of the trouble is sent again. */
const PROBE_PAUSE_MS = 200;
const bodyLimitBytes = 64 * 1024 * 1024;
const limits = { timeoutMs: 30_000, idleTimeoutMs: 15_000, bodyLimitBytes };

/**
 * @param url with the fixed query parameters
 * @param onPause the API does not answer for now, and is asked again after this time
 */
export function openEndpoint(
  url: URL,
  access: ApiAccess,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onPause: (what: string, ms: number) => void,
) {
  const connections = createAgents({});
  const agents = connections.now();
  const parameter = tokenParameter(access.auth);
  const redact = createRedactor([...secretsOf(access), ...proxyPasswords(process.env)], parameter);
  const address = `${url.origin}${url.pathname}`;
  const request = `GET ${redact(address)}`;

  let rateLimit: RateLimit | null = null;

  async function send(query: Readonly<Record<string, string>>, link: URL | null): Promise<HttpResult> {
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
    if (result.kind === 'response') rateLimit ??= rateLimitIn(result.response.headers, Date.now());
    return result;
  }

  const meaningOf = (response: RawResponse) =>
    interpretResponse(response, {
      responseKey: '',
      shape: new AnswerShape(),
      idField: 'id',
      updatedField: 'updated',
      updatedFormat: 'seconds',
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

  /**
   * @param isProbe the parameters may be the cause of the trouble: the failure is returned soon
   * @throws HighwaterError SOURCE_RATE_LIMITED: an answer to "too many requests" says nothing about the endpoint
   */
  async function get(
    query: Readonly<Record<string, string>>,
    link: URL | null = null,
    isProbe = false,
  ): Promise<HttpResult> {
    let isBrief = isProbe;
    const attempt = async (): Promise<HttpResult> => {
      const sent = await send(query, link);
      if (sent.kind === 'response' && sent.response.status === 200) return sent;
      const meaning = sent.kind === 'response' ? await meaningOf(sent.response) : sent;
      if (meaning.kind === 'page') return sent;
      const { code } = meaning;
      if (!errorKinds[code].retriable && !REFUSALS.includes(code)) return sent;
      isBrief = isProbe && code !== 'SOURCE_RATE_LIMITED';
      return { ...(isBrief && { retryAfterMs: PROBE_PAUSE_MS }), ...meaning };
    };
    const limits = {
      ...waiting,
      get attempts() {
        return isBrief ? 3 : waiting.attempts;
      },
    };
    const onRetry = ({ what }: SourceFailure, _: number, ms: number) => void (isBrief || onPause(what, ms));
    const options = { limits, random: Math.random, signal, onRetry };
    const result = await withRetry(attempt, new PageDeadline(waiting.totalMs), options);
    if (result.kind === 'failure' && result.code === 'SOURCE_RATE_LIMITED') throw failed(result);
    return result;
  }

  async function answered(request: Promise<HttpResult>): Promise<RawResponse> {
    const sent = await request;
    if (sent.kind === 'failure') throw failed(sent);
    return sent.response;
  }

  return {
    /** @throws HighwaterError SOURCE_* when there is no answer, or no JSON in it */
    async first(): Promise<EndpointAnswer> {
      const response = await answered(get({}));
      const answer = answerOf(response);
      if (answer.body !== undefined) return answer;
      const meaning = await meaningOf(response);
      if (meaning.kind === 'page') return { body: meaning.rows, linkHeader: undefined };
      throw failed(meaning);
    },
    /**
     * With more query parameters, or at a link that it gave. A refusal is an answer: it says that the endpoint does not take them. An
     * error of the server (5xx), no answer and 401 are one only if they come again, and the endpoint answers without the parameters.
     * @throws HighwaterError SOURCE_* when it does not
     */
    async ask(query: Readonly<Record<string, string>>, link?: string): Promise<EndpointAnswer> {
      const target = link === undefined ? null : URL.canParse(link, address) ? new URL(link, address) : null;
      if (link !== undefined && target === null) return nothing;
      await pause(PAUSE_MS, signal);
      signal.throwIfAborted();
      const isByPath = target !== null && target.origin !== url.origin;
      let sent = await get(query, target, true);
      if (sent.kind === 'failure') {
        await answered(get({}));
        sent = await get(query, target, true);
      }
      return sent.kind === 'failure' ? nothing : { ...answerOf(sent.response), isByPath };
    },
    /** What the answers say of a limit of requests; null when they say nothing. */
    rateLimit: () => rateLimit,
    close: connections.destroy,
  };
}

const otherAddress =
  "Compare the address with the vendor's documentation. It is asked by GET; a feed that asks by POST is written by hand: docs/adding-a-feed.md.";
const otherToken =
  'Say how requests carry the token (--auth), and which variable holds it (--token-env): `highwater init --help`.';
/** Other remedies than a feed has, which settings help. */
const remedies: Partial<Record<ErrorCode, string>> = {
  SOURCE_REQUEST_REFUSED: otherAddress,
  SOURCE_NOT_FOUND: otherAddress,
  SOURCE_REDIRECTED: otherAddress,
  SOURCE_UNAUTHORIZED: otherToken,
  SOURCE_FORBIDDEN: otherToken,
  SOURCE_RATE_LIMITED: 'Run the command again when the pause is over.',
};

/** There is no feed yet, and no poll. */
function failed({ code, what }: { readonly code: ErrorCode; readonly what: string }): HighwaterError {
  const remedy = remedies[code];
  return new HighwaterError(code, `${what}.`, { now: 'Nothing was written.', ...(remedy && { remedy }) });
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
