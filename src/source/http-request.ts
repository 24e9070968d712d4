import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addAbortSignal, type Readable } from 'node:stream';
import { createSecureContext, rootCertificates, TLSSocket } from 'node:tls';
import axios, { type AxiosProxyConfig, type AxiosResponse } from 'axios';
import { joinSignals } from '../async/wait';
import type { ErrorCode } from '../errors';
import type { HttpMethod } from '../feeds/definition';
import { unseen } from '../logging/tracing';
import { isCertificateFailure } from '../net/certificate-failures';
import { networkCode, networkReason } from '../net/network-reason';
import { proxyFor } from '../net/proxy';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';
import { version } from '../version';
import { Body } from './body';
import { mayHoldPage, type RawResponse } from './response-policy';
import { failure, type SourceFailure } from './source';

export interface HttpLimits {
  /** For the whole answer, ms. */
  readonly timeoutMs: number;
  /** Without a byte, ms; also until the first one. */
  readonly idleTimeoutMs: number;
  /** Limit of the body's size after decompression. */
  readonly bodyLimitBytes: number;
}

export interface HttpRequest {
  /** With its query. */
  readonly url: string;
  readonly method?: HttpMethod;
  /** JSON, or a form. */
  readonly body?: string | URLSearchParams | undefined;
  /** Headers of the feed and of its token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Says in each way that there is that no answer of a cache is wanted. */
  readonly pastCaches?: boolean;
  /** How the request is called in errors. */
  readonly request: string;
  readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  readonly limits: HttpLimits;
  readonly redact: Redact;
  readonly signal: AbortSignal;
}

const errorBodyBytes = 65_536;

/** Certificates (PEM) of authorities to trust besides the public ones, as they are now. */
export type Trust = { readonly ca?: string | null };

/** Connections that are kept. A new authority counts from the next connection on. */
export function createAgents(trust: Trust) {
  const http = new HttpAgent({ keepAlive: true });
  const https = new HttpsAgent({ keepAlive: true });
  let trusted: string | null = null;
  return {
    now() {
      const { ca = null } = trust;
      // Reading all public certificates takes a while.
      if (ca !== null && ca !== trusted)
        https.options.secureContext = createSecureContext({ ca: [...rootCertificates, ca] });
      trusted = ca;
      return { http, https };
    },
    destroy() {
      http.destroy();
      https.destroy();
    },
  };
}

/** An answer of any status, or the reason why there is none. */
export type HttpResult = { readonly kind: 'response'; readonly response: RawResponse } | SourceFailure;

/**
 * One request. Redirects are not followed. No library error leaves from here, since those hold the address with the token.
 * @throws the signal's reason when aborted
 */
export async function httpRequest(asked: HttpRequest): Promise<HttpResult> {
  const { limits, signal } = asked;
  const proxy = proxyFor(asked.url);
  const through = proxy === null ? '' : ` through the proxy ${proxy.host}:${proxy.port}`;
  const request = `${asked.request}${through}`;
  signal.throwIfAborted();
  const late = new AbortController();
  const { signal: over, leave } = joinSignals([signal, late.signal]);
  const endAfter = (ms: number, what: string) =>
    setTimeout(() => late.abort(failure('SOURCE_TIMEOUT', `${request} ${what} ${ms} ms`)), ms);
  const total = endAfter(limits.timeoutMs, 'took longer than');
  const idle = endAfter(limits.idleTimeoutMs, 'sent nothing for');
  let phase: 'headers' | 'body' = 'headers';
  try {
    const answer = await unseen(() => send(asked, proxy, over));
    if (proxy !== null && isOfProxy(answer, asked.url)) {
      answer.data.destroy();
      return failure(
        'SOURCE_UNREACHABLE',
        `${request} was not passed on: the proxy answered ${answer.status}`,
      );
    }
    phase = 'body';
    const body = await readBody(answer, limits.bodyLimitBytes, over, () => idle.refresh());
    const tooLarge = `${request} answered with more than ${limits.bodyLimitBytes} bytes`;
    if (body === null) return failure('SOURCE_BODY_TOO_LARGE', tooLarge);
    const headers = plainHeaders(answer.headers);
    return { kind: 'response', response: { status: answer.status, headers, body } };
  } catch (error) {
    signal.throwIfAborted();
    return late.signal.aborted ? late.signal.reason : transportFailure(error, phase, request, asked.redact);
  } finally {
    clearTimeout(total);
    clearTimeout(idle);
    leave();
  }
}

/** Before a tunnel stands there is no TLS, so nothing but the proxy can have answered. */
function isOfProxy({ status, request }: AxiosResponse, url: string): boolean {
  return status === 407 || (url.startsWith('https:') && !(request.socket instanceof TLSSocket));
}

function send(asked: HttpRequest, proxy: AxiosProxyConfig | null, signal: AbortSignal) {
  return axios.request<Readable>({
    url: asked.url,
    method: asked.method ?? 'GET',
    data: asked.body?.toString(),
    transformRequest: (text) => text,
    httpAgent: asked.agents.http,
    httpsAgent: asked.agents.https,
    responseType: 'stream',
    maxRedirects: 0,
    ...(proxy !== null && { proxy }),
    validateStatus: () => true,
    signal,
    headers: {
      Accept: 'application/json',
      'User-Agent': `highwater/${version}`,
      ...(asked.body !== undefined && {
        'Content-Type': `application/${typeof asked.body === 'string' ? 'json' : 'x-www-form-urlencoded'}`,
      }),
      ...asked.headers,
      'Accept-Encoding': 'gzip, deflate',
      // A cached page would hide new records, and its Date would be old.
      // Another parameter would tell requests apart for any cache, but some APIs refuse one that they do not know.
      ...(asked.pastCaches
        ? { 'Cache-Control': 'no-cache, no-store, max-age=0', Pragma: 'no-cache' }
        : { 'Cache-Control': 'no-cache' }),
    },
  });
}

/**
 * Null if a page is longer than the limit; the rest is thrown away with the connection. The beginning of an error answer is enough,
 * and its status counts even if the body breaks off.
 */
async function readBody(
  answer: AxiosResponse<Readable>,
  limit: number,
  signal: AbortSignal,
  onBytes: () => void,
): Promise<Body | null> {
  const isPage = mayHoldPage(answer.status);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(signal, answer.data) as AsyncIterable<Buffer>) {
      onBytes();
      bytes += chunk.length;
      if (isPage && bytes > limit) return null;
      chunks.push(chunk);
      if (!isPage && bytes > errorBodyBytes) break;
    }
  } catch (error) {
    if (isPage) throw error;
  }
  return new Body(chunks);
}

function plainHeaders(headers: object): RawResponse['headers'] {
  const plain: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    plain[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : String(value);
  }
  return plain;
}

function transportFailure(
  error: unknown,
  phase: 'headers' | 'body',
  request: string,
  redact: Redact,
): SourceFailure {
  const reason = excerpt(networkReason(error), redact);
  const code = networkCode(error) ?? '';
  const failed = (as: ErrorCode, what: string) => failure(as, `${request} ${what} (${reason})`);
  if (phase === 'body')
    return code === 'Z_DATA_ERROR'
      ? failed('SOURCE_BODY_DAMAGED', 'answered with a body that is not in its Content-Encoding')
      : failed('SOURCE_BODY_TRUNCATED', 'broke off in the middle of its answer');
  if (isCertificateFailure(code))
    return failed('SOURCE_CERTIFICATE', 'was not sent: the certificate of the server is not trusted');
  const larger =
    'answered with too large headers; NODE_OPTIONS=--max-http-header-size=65536 takes larger ones';
  if (code === 'HPE_HEADER_OVERFLOW') return failed('SOURCE_UNREACHABLE', larger);
  const isAnswer = code.startsWith('HPE_');
  return failed('SOURCE_UNREACHABLE', isAnswer ? 'answered with what is not HTTP' : 'got no answer');
}
