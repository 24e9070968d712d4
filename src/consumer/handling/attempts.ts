import { pause } from '../../async/wait';
import type { RetryOptions } from '../options';

export type Outcome = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/**
 * Tries until it succeeds, as often as is allowed. An interrupted pause ends the tries.
 * @param work gets the number of the try, from 1
 * @param isPassing whether a failure passes by itself: then the number of tries does not count
 */
export async function tryOften(
  work: (attempt: number) => Promise<void>,
  retry: RetryOptions | undefined,
  signal: AbortSignal,
  isPassing: (error: unknown) => boolean = () => false,
): Promise<Outcome> {
  // The default also counts for undefined.
  const { attempts = 5, delayMs = 200, maxDelayMs = 10_000, isRetriable = () => true } = retry ?? {};
  for (let attempt = 1; ; attempt++) {
    try {
      await work(attempt);
      return { ok: true };
    } catch (error) {
      const isLast = !isPassing(error) && (attempt >= attempts || !isRetriable(error));
      if (isLast || signal.aborted) return { ok: false, error };
      // Full jitter: consumers that failed over the same thing do not come back together.
      await pause(Math.random() * Math.min(maxDelayMs, delayMs * 2 ** Math.min(attempt - 1, 30)), signal);
      if (signal.aborted) return { ok: false, error };
    }
  }
}
