import { longestPauseMs, retryAfterMs, serverDateMs } from './retry';

type Headers = Readonly<Record<string, string | undefined>>;

/** A pause that the API asks for. */
export interface AskedPause {
  /** At least 0, at most an hour. */
  readonly ms: number;
  /** The header that says so, for people. */
  readonly by: 'Retry-After' | 'RateLimit';
}

/**
 * The pause that an answer asks for; null if it asks for none. `Retry-After` counts on each status. The fields of a rate limit come with
 * good answers too, so they count only if nothing remains, or if the status itself says that the limit is reached.
 */
export function askedPause(status: number, headers: Headers, nowMs: number): AskedPause | null {
  const retryAfter = retryAfterMs(headers['retry-after'], headers.date, nowMs);
  if (retryAfter !== null) return { ms: retryAfter, by: 'Retry-After' };
  if (status !== 403 && status !== 429 && status !== 503) return null;
  const serverMs = serverDateMs(headers.date) ?? nowMs;
  const waits = [...limitsIn(headers)]
    .filter(({ remaining }) => remaining === 0 || (remaining === null && status === 429))
    .map(({ reset }) => waitUntil(reset, serverMs));
  return waits.length === 0 ? null : { ms: Math.min(Math.max(...waits), longestPauseMs), by: 'RateLimit' };
}

/** `RateLimit-Remaining` and `RateLimit-Reset` of the first drafts of IETF, and the usual names before them. */
const PREFIXES = ['ratelimit', 'x-ratelimit', 'x-rate-limit'];

function* limitsIn(headers: Headers) {
  for (const prefix of PREFIXES) {
    const reset = numberIn(headers[`${prefix}-reset`]);
    if (reset !== null) yield { remaining: numberIn(headers[`${prefix}-remaining`]), reset };
  }
  // `"minute";r=0;t=30, "day";r=50;t=900`, and in earlier drafts `limit=100, remaining=0, reset=30`.
  const field = headers.ratelimit ?? '';
  for (const policy of /\breset\s*=/.test(field) ? [field] : field.split(',')) {
    const reset = numberIn(/[;,\s](?:t|reset)\s*=\s*(\d+)/.exec(` ${policy}`)?.[1]);
    const remaining = numberIn(/[;,\s](?:r|remaining)\s*=\s*(\d+)/.exec(` ${policy}`)?.[1]);
    if (reset !== null) yield { remaining, reset };
  }
}

function numberIn(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}

/** @param reset seconds from now, or since 1970, or milliseconds since 1970: the sizes leave no doubt */
function waitUntil(reset: number, serverMs: number): number {
  if (reset < 1e9) return reset * 1000;
  return Math.max((reset < 1e12 ? reset * 1000 : reset) - serverMs, 0);
}
