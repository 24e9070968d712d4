import { sharedController, unlessAborted } from '../async/wait';
import { isObject } from '../json/dotted-path';
import { excerpt } from '../secrets/excerpt';
import { proxyPasswords } from '../secrets/proxy-passwords';
import { createRedactor, type Redact } from '../secrets/redaction';
import type { Secret } from '../secrets/rotation';
import { TokenDoubts } from '../secrets/token-doubt';
import type { Grant } from './api-access';
import { askedPause } from './asked-pause';
import { createAgents, httpRequest, type Trust } from './http-request';
import { parsedJson, type RawResponse } from './response-policy';
import { failure, type SourceFailure } from './source';

/** An access token of a token server, fetched when a request needs it and renewed before it expires. */
export interface GrantedToken extends Secret {
  /** Fetches the token unless there is one. @returns why there is none */
  ready(signal: AbortSignal): Promise<SourceFailure | null>;
  /** The API takes the token. If it refuses it later, the token has expired or is revoked. */
  accepted(): void;
  close(): void;
}

/** A token, and how long it is used. */
type Token = { readonly code: null; readonly value: string; readonly usedForMs: number };

/** A token is a small answer: a server that takes longer is in trouble, ms. */
const MOST_MS = 8_000;
const MOST_BYTES = 65_536;
/** A token is renewed a tenth of its life before it expires, but at most so long, ms. */
const MARGIN_MS = 60_000;
/** The shortest use of a token, and the shortest pause after a refusal, ms. */
const LEAST_MS = 1_000;
/** A token that the API has never accepted is replaced no more often than this, ms. */
const REPLACE_MS = 60_000;

/**
 * The token of one client. All its feeds share it, and it is asked for once at a time.
 * @param timeoutMs for a whole answer
 */
export function grantedToken(grant: Grant, trust: Trust, timeoutMs: number): GrantedToken {
  const { tokenUrl, secret } = grant;
  const agents = createAgents(trust);
  const closing = sharedController();
  const doubts = new TokenDoubts();
  let [current, gotAt, renewAt, replacedAt] = ['', 0, 0, Number.NEGATIVE_INFINITY];
  let fetching: Promise<SourceFailure | null> | null = null;
  let last: { readonly failed: SourceFailure; readonly secret: string; readonly until: number } | null = null;

  const clientSecret = () => secret?.value ?? grant.clientSecret;

  async function fetchToken(): Promise<SourceFailure | null> {
    const missing = secret && (await withoutValue(secret));
    if (missing) return missing;
    const used = clientSecret();
    const pauseMs = last?.secret === used ? last.until - performance.now() : 0;
    if (last !== null && pauseMs > 0) return { ...last.failed, retryAfterMs: pauseMs };
    let answer = await requestToken(used);
    if (answer.code === 'SOURCE_TOKEN_REFUSED' && (await secret?.isReplaced(used)))
      answer = await requestToken(clientSecret());
    if (answer.code !== null) {
      const isRefused = answer.code === 'SOURCE_TOKEN_REFUSED';
      const why = isRefused && secret?.problem;
      const failed = why ? { ...answer, what: `${answer.what}; it cannot be read again: ${why}` } : answer;
      const pause = answer.retryAfterMs ?? (isRefused ? LEAST_MS : 0);
      last = { failed, secret: clientSecret(), until: performance.now() + pause };
      return failed;
    }
    grant.hide(answer.value);
    [current, gotAt] = [answer.value, performance.now()];
    renewAt = gotAt + answer.usedForMs;
    return null;
  }

  function fetchOnce(): Promise<SourceFailure | null> {
    fetching ??= fetchToken().finally(() => {
      fetching = null;
    });
    return fetching;
  }

  async function requestToken(clientSecret: string): Promise<Token | SourceFailure> {
    const login = `${formEncoded(grant.clientId)}:${formEncoded(clientSecret)}`;
    const basic = Buffer.from(login).toString('base64');
    const known = [clientSecret, formEncoded(clientSecret), basic, current];
    const redact = createRedactor([...known, ...proxyPasswords(process.env)]);
    const ms = Math.min(timeoutMs, MOST_MS);
    const result = await httpRequest({
      url: tokenUrl,
      headers: grant.clientAuth === 'basic' ? { Authorization: `Basic ${basic}` } : {},
      method: 'POST',
      body: formOf(grant, clientSecret),
      request: `POST ${redact(tokenUrl)}`,
      agents: agents.now(),
      limits: { timeoutMs: ms, idleTimeoutMs: ms, bodyLimitBytes: MOST_BYTES },
      redact,
      signal: closing.signal,
    });
    if (result.kind === 'response') return tokenIn(result.response, grant, redact);
    // Only a person can make a certificate trusted.
    return result.code === 'SOURCE_CERTIFICATE' ? result : { ...result, code: 'SOURCE_TOKEN_UNAVAILABLE' };
  }

  return {
    ...{ name: grant.key.replace(/\w+$/, 'tokenUrl'), source: `token server ${tokenUrl}` },
    problem: null,
    get value() {
      return current;
    },
    async ready(signal) {
      return performance.now() < renewAt ? null : unlessAborted(fetchOnce(), signal);
    },
    async isReplaced(refused, doubt) {
      if (refused !== current || renewAt === 0) return true;
      if (doubt !== undefined) {
        if (fetching !== null || doubts.isDue(doubt, gotAt)) doubt.isVain = (await fetchOnce()) === null;
        return refused !== current;
      }
      if (performance.now() - replacedAt < REPLACE_MS) return false;
      replacedAt = performance.now();
      renewAt = 0;
      return true;
    },
    accepted() {
      replacedAt = Number.NEGATIVE_INFINITY;
    },
    close() {
      closing.abort();
      agents.destroy();
    },
  };
}

/** Tries again to read a secret that could not be read at the start. @returns why there is still none */
export async function withoutValue(secret: Secret): Promise<SourceFailure | null> {
  if (secret.value !== '' || (await secret.isReplaced(''))) return null;
  return failure('SOURCE_TOKEN_UNAVAILABLE', `no token from ${secret.name}: ${secret.problem}`);
}

/** The body of a token request (RFC 6749, 4.4.2). */
function formOf(grant: Grant, clientSecret: string): URLSearchParams {
  const { clientId, scope, audience, parameters, clientAuth } = grant;
  return new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope && { scope }),
    ...(audience && { audience }),
    ...(clientAuth === 'body' && { client_id: clientId, client_secret: clientSecret }),
    ...parameters,
  });
}

const formEncoded = (text: string) => new URLSearchParams({ _: text }).toString().slice(2);

/** Codes of OAuth2 for a server in trouble. All others blame the request. */
const passing = /^(server_error|temporarily_unavailable|slow_down)$/;

/** The token in an answer. Nothing else of a good answer is shown, because it may hold the token in another form. */
function tokenIn(
  { status, headers, body }: RawResponse,
  grant: Grant,
  redact: Redact,
): Token | SourceFailure {
  const text = body.head(MOST_BYTES).toString();
  const parsed = parsedJson(text)?.value;
  const { error, error_description: why, ...answer } = isObject(parsed) ? parsed : {};
  const answered = `POST ${redact(grant.tokenUrl)} answered ${status} with`;
  const pause = askedPause(status, headers, Date.now());
  const unavailable = (what: string): SourceFailure => ({
    ...failure('SOURCE_TOKEN_UNAVAILABLE', `${answered} ${what}`),
    ...(pause && { retryAfterMs: pause.ms }),
  });
  const isGood = status >= 200 && status < 300;
  if (!isGood || typeof error === 'string') {
    const report = [error, why].filter((part) => typeof part === 'string').join(': ') || text;
    const isRedirect = status >= 300 && status < 400;
    const said =
      excerpt(isRedirect ? `a redirect to ${headers.location}` : report, redact) || 'an empty body';
    const blames = (isGood || [400, 401, 403].includes(status)) && !passing.test(String(error));
    if (!blames || pause !== null) return unavailable(said);
    const client = `the client is "${grant.clientId}", and its secret comes from ${grant.key}`;
    return failure('SOURCE_TOKEN_REFUSED', `${answered} ${said}; ${client}`);
  }
  const { access_token: value, token_type: type = 'Bearer', expires_in: seconds } = answer;
  if (typeof value !== 'string') return unavailable('no access_token in a JSON object');
  if (!/^[\x21-\x7e]{4,}$/.test(value)) return unavailable('an access_token that no header can carry');
  if (!/^bearer(token)?$/i.test(String(type)))
    return unavailable(`a token of the type ${excerpt(String(type), redact, 20)}, not Bearer`);
  // Also written as a text, or as 3600.0.
  const livesFor = Number(String(seconds));
  const livesMs = livesFor > 0 ? livesFor * 1_000 : Number.POSITIVE_INFINITY;
  const marginMs = Math.max(grant.leastMarginMs ?? 0, Math.min(MARGIN_MS, livesMs / 10));
  return { code: null, value, usedForMs: Math.max(LEAST_MS, livesMs - marginMs) };
}
