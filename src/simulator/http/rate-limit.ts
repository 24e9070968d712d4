export interface RateLimit {
  readonly perSecond: number;
  /** Requests that may come at once after a rest. */
  readonly burst: number;
  /** How `Retry-After` is written. */
  readonly retryAfter?: 'seconds' | 'date' | 'absent';
}

export interface Budget {
  readonly limit: RateLimit | null;
  /** @returns null when there was a token in the bucket, else the seconds until there is one */
  take(token: string): number | null;
}

/** A bucket for each access token, filled evenly. */
export function createBudget(limit: RateLimit | null, clock: () => number): Budget {
  const buckets = new Map<string, { left: number; atMs: number }>();
  return {
    limit,
    take(token) {
      if (limit === null) return null;
      const now = clock();
      const bucket = buckets.get(token) ?? { left: limit.burst, atMs: now };
      const filled = bucket.left + ((now - bucket.atMs) / 1000) * limit.perSecond;
      bucket.left = Math.min(limit.burst, filled);
      bucket.atMs = now;
      buckets.set(token, bucket);
      if (bucket.left < 1) return (1 - bucket.left) / limit.perSecond;
      bucket.left -= 1;
      return null;
    },
  };
}
