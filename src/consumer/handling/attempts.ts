import { pause } from '../../async/wait';
import type { Outage } from '../../logging/outage';
import type { RetryOptions } from '../options';

export type Outcome = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/**
 * Tries until it succeeds, as often as is allowed. An interrupted pause ends the tries.
 * @param work gets the number of the try, from 1
 * @param isPassing whether a failure passes by itself: then the number of tries does not count, and `outage` tells of it
 */
export async function tryOften(
  work: (attempt: number) => Promise<void>,
  retry: RetryOptions | undefined,
  signal: AbortSignal,
  isPassing: (error: unknown) => boolean = () => false,
  outage?: Outage,
): Promise<Outcome> {
  // The default also counts for undefined.
  const { attempts = 5, delayMs = 200, maxDelayMs = 10_000, isRetriable = () => true } = retry ?? {};
  for (let attempt = 1; ; attempt++) {
    try {
      await work(attempt);
      outage?.over();
      return { ok: true };
    } catch (error) {
      const passes = isPassing(error);
      if (passes) outage?.failed(error);
      const isLast = !passes && (attempt >= attempts || !isRetriable(error));
      // Full jitter: consumers that failed over the same thing do not come back together.
      const longestMs = Math.min(maxDelayMs, delayMs * 2 ** Math.min(attempt - 1, 30));
      if (!isLast) await pause(Math.random() * longestMs, signal);
      if (!isLast && !signal.aborted) continue;
      outage?.end();
      return { ok: false, error };
    }
  }
}
