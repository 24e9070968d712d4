import { Agent } from 'node:https';
import { rootCertificates } from 'node:tls';
import axios, { type AxiosResponse } from 'axios';
import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import { HighwaterError } from '../../errors';
import { isCertificateFailure, isClientRefused, type TlsTexts } from '../../net/certificate-failures';
import { networkCode, networkReason } from '../../net/network-reason';
import { proxyFor } from '../../net/proxy';
import { type BearerToken, readyToken } from '../../secrets/bearer-token';
import { excerpt } from '../../secrets/excerpt';
import { addressPasswords, proxyPasswords } from '../../secrets/proxy-passwords';
import { createRedactor } from '../../secrets/redaction';
import { version } from '../../version';

export interface RegistryBearer {
  /** Read for each call. */
  readonly token: BearerToken;
  /** What else a call with a token carries. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SchemaRegistryConfig {
  /** Without a closing slash. */
  readonly url: string;
  /** The password is read for each call, since its file may change. */
  readonly auth: { readonly username: string; readonly password: string } | null;
  /** Instead of `auth`. */
  readonly bearer?: RegistryBearer | null;
  /** Asked for each call, since files may change; null or left out: only what Node.js trusts. */
  tls?(): TlsTexts | null;
  /** `lookup`: nothing is registered by a publisher. */
  readonly registration: 'register' | 'lookup';
}

interface CallOptions {
  /** For one call with all its tries, ms. */
  readonly timeoutMs: number;
  /** Ends calls under way. */
  readonly signal: AbortSignal | undefined;
  /** The `Date` of each answer that has one, Unix ms. */
  dated(serverMs: number): void;
}

export interface RegistryRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** From the base on, with a slash. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
  /** Instead of that of all calls. */
  readonly timeoutMs?: number;
}

export type RegistryReply = {
  /** How the request is called in errors. */
  readonly request: string;
} & (
  | { readonly kind: 'answer'; readonly value: unknown }
  /** The registry itself says that it has no such subject, version or schema. */
  | { readonly kind: 'absent' }
  /** 409, with the words of the server. */
  | { readonly kind: 'conflict'; readonly says: string }
);

const mediaType = 'application/vnd.schemaregistry.v1+json';
const tries = 3;
/** Schemas are some kilobytes. */
const bodyLimitBytes = 16 * 2 ** 20;
const messageCharacters = 400;
/** Passwords and tokens of before that stay hidden. */
const recentSecrets = 10;

/**
 * One call of the registry's API. A connection that fails and an answer that asks for another try get one, within the
 * call's time. Redirects are not followed, since they would carry the password elsewhere; no error of the library leaves
 * from here, since it holds the password.
 *
 * The calls throw HighwaterError REGISTRY_UNREACHABLE, REGISTRY_UNAUTHORIZED or REGISTRY_REFUSED, or the signal's reason.
 */
export function registryHttp(
  { url, auth, bearer = null, tls = () => null }: SchemaRegistryConfig,
  { signal, dated, ...options }: CallOptions,
): (request: RegistryRequest) => Promise<RegistryReply> {
  const agent = agents(tls);
  const proxy = proxyFor(url);
  const hidden = [...addressPasswords(url), ...proxyPasswords(process.env)];
  const fixed = hidden.length;
  const redact = createRedactor(hidden);
  const hide = (secret: string): void => {
    if (!hidden.includes(secret)) hidden.push(secret);
    hidden.splice(fixed, hidden.length - fixed - recentSecrets);
  };
  /** One listener for all calls: Node.js warns of a leak if many listen to one signal. */
  const calls = new Set<AbortController>();
  const abortAll = (): void => {
    for (const call of calls) call.abort();
  };
  signal?.addEventListener('abort', abortAll, { once: true });

  return async ({ method, path, body, timeoutMs = options.timeoutMs }) => {
    signal?.throwIfAborted();
    const request = redact(`${method} ${url}${path}`);
    const stop = new AbortController();
    calls.add(stop);
    const deadline = setTimeout(() => stop.abort(), timeoutMs);
    const again = retry(
      handleWhen((error) => error instanceof HighwaterError && error.kind.retriable && !stop.signal.aborted),
      { maxAttempts: tries - 1, backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 500 }) },
    );

    async function send(): Promise<RegistryReply> {
      let answer: AxiosResponse<string>;
      let token: string | null = null;
      try {
        token = bearer && (await readyToken(bearer.token, stop.signal, withoutToken));
        hide(token ?? auth?.password ?? '');
        answer = await axios.request<string>({
          url: `${url}${path}`,
          method,
          ...(body === undefined ? {} : { data: body }),
          ...(auth === null ? {} : { auth }),
          headers: {
            Accept: `${mediaType}, application/json`,
            'Content-Type': mediaType,
            'User-Agent': `highwater/${version}`,
            ...(bearer && { Authorization: `Bearer ${token}`, ...bearer.headers }),
          },
          responseType: 'text',
          // Left to itself, axios parses what looks like JSON and hands on as text what does not.
          transformResponse: (text: string) => text,
          maxContentLength: bodyLimitBytes,
          maxRedirects: 0,
          ...agent(),
          ...(proxy && { proxy }),
          validateStatus: () => true,
          signal: stop.signal,
        });
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof HighwaterError) throw error;
        const code = networkCode(error);
        if (isCertificateFailure(code) || isClientRefused(code)) {
          const says = excerpt(networkReason(error), redact, messageCharacters);
          throw new HighwaterError('REGISTRY_CERTIFICATE', `${request}: ${says}`);
        }
        const reason = stop.signal.aborted
          ? `within ${timeoutMs} ms${bearer && token === null ? ', because the token server gave no token' : ''}`
          : `(${excerpt(networkReason(error), redact, messageCharacters)})`;
        throw new HighwaterError('REGISTRY_UNREACHABLE', `${request} got no answer ${reason}`);
      }
      const serverMs = Date.parse(String(answer.headers.date));
      if (!Number.isNaN(serverMs)) dated(serverMs);
      if (answer.status !== 401) bearer?.token.accepted?.();
      else if (token !== null && (await bearer?.token.isReplaced?.(token))) return send();
      return replyOf(request, answer);
    }

    function replyOf(request: string, { status, data: text, headers }: AxiosResponse<string>): RegistryReply {
      const value = parseJson(text);
      if (status >= 200 && status < 300 && value !== undefined) return { kind: 'answer', value, request };
      const { message, error_code: code } = (value ?? {}) as { message?: unknown; error_code?: unknown };
      // A server that is not a registry answers 404 too, but without such a code.
      if (status === 404 && typeof code === 'number' && code > 40400 && code < 40500)
        return { kind: 'absent', request };
      const said =
        headers.location === undefined
          ? `${headers['content-type'] ?? 'no content type'}: ${text}`
          : `a redirect to ${headers.location}, which is not followed`;
      const says = excerpt(typeof message === 'string' ? message : said, redact, messageCharacters);
      if (status === 409) return { kind: 'conflict', says, request };
      throw new HighwaterError(codeOf(status), `${request} answered ${status}: ${says}`);
    }

    try {
      return await again.execute(send, stop.signal);
    } finally {
      clearTimeout(deadline);
      calls.delete(stop);
    }
  };
}

/** @returns the agent for the present files: a new one when they have changed */
function agents(tlsNow: () => TlsTexts | null): () => { readonly httpsAgent?: Agent } {
  let last: TlsTexts | null = null;
  let httpsAgent: Agent | undefined;
  return () => {
    const tls = tlsNow();
    if (tls === null) return {};
    if (httpsAgent === undefined || tls !== last) {
      const { ca, ...own } = tls;
      const given = Object.fromEntries(Object.entries(own).filter(([, text]) => text !== null));
      httpsAgent = new Agent({ ...given, ...(ca !== null && { ca: [...rootCertificates, ca] }) });
      last = tls;
    }
    return { httpsAgent };
  };
}

const withoutToken = {
  certificate: 'REGISTRY_CERTIFICATE',
  refused: 'REGISTRY_UNAUTHORIZED',
  unavailable: 'REGISTRY_UNREACHABLE',
} as const;

function codeOf(status: number) {
  if (status === 401 || status === 403) return 'REGISTRY_UNAUTHORIZED';
  // 408, 425 and 429 ask for the same request again by definition.
  return status >= 500 || [408, 425, 429].includes(status) ? 'REGISTRY_UNREACHABLE' : 'REGISTRY_REFUSED';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
