const longestMs = 3_600_000;

/**
 * How long the API asks to wait, ms: at least 0, at most an hour. Null when it does not say, or unreadably.
 * @param retryAfter seconds or an HTTP date, held against the answer's own `Date` when there is one, so that clocks that
 * differ do no harm
 */
export function retryAfterMs(
  retryAfter: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | null {
  if (retryAfter === undefined) return null;
  const text = retryAfter.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  // Date.parse takes almost anything that holds a number; an HTTP date begins with the day's name.
  const until = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return null;
  return Math.min(Math.max(until - (serverDateMs(date) ?? nowMs), 0), longestMs);
}

/** An answer's `Date` header in ms; null when absent or unreadable. */
export function serverDateMs(date: string | undefined): number | null {
  // Stryker disable next-line ConditionalExpression: Date.parse(undefined) is NaN, too
  const parsed = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(parsed) ? null : parsed;
}
