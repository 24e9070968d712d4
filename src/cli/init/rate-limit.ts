/** What an API says of its limit of requests. */
export interface RateLimit {
  /** The headers that say so, for people. */
  readonly said: string;
  /** Requests a second, at most as many as `init` itself sends. */
  readonly requestsPerSecond: number;
}

/** Requests a second that `init` sends. Many APIs allow ten. */
export const mostRequestsPerSecond = 10;

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
