import { pause } from './wait';

export interface Retrying {
  /** Ends a pause, and no further try begins. A running try is waited for. */
  readonly signal: AbortSignal;
  /** Whether another try may succeed after this error. */
  isWorthIt(error: unknown): boolean;
  /** Pause before the second try. Each pause is twice as long as the last, up to `longestPauseMs`. */
  readonly pauseMs: number;
  /** Default: all pauses are equal. */
  readonly longestPauseMs?: number;
  /** No further try begins after this time. */
  readonly forMs: number;
  /** Runs after each pause, and also before the last error is thrown, since the caller may try again. An error of its own ends the tries. */
  recover?(error: unknown): unknown;
}

/** Tries until it succeeds. @throws the last error; the signal's reason, unless an error was not worth another try */
export async function retrying<T>(
  work: () => Promise<T>,
  { signal, isWorthIt, pauseMs: firstMs, longestPauseMs = firstMs, forMs, recover }: Retrying,
): Promise<T> {
  const giveUpAt = performance.now() + forMs;
  for (let pauseMs = firstMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isWorthIt(error)) throw error;
      const isLate = performance.now() >= giveUpAt;
      if (!isLate) await pause(pauseMs, signal);
      if (!signal.aborted) await recover?.(error);
      signal.throwIfAborted();
      if (isLate) throw error;
    }
  }
}
