import { setTimeout as delay } from 'node:timers/promises';

/** A pause between two tries, over at once when the signal says so. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/**
 * What kafkajs does cannot be stopped from outside: this stops waiting for it.
 * @param abandoned gets the result that nobody waits for any more
 * @throws the signal's reason
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  abandoned: (result: T) => unknown = () => undefined,
): Promise<T> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    if (signal.aborted) work.then(abandoned, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
