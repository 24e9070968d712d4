import { setImmediate as turn } from 'node:timers/promises';

export interface Ahead<T> {
  readonly value: T;
  /** Whether the next value arrives within so many ms. False at once if there is none or if it fails. */
  isNextWithin(ms: number): Promise<boolean>;
}

/**
 * Asks for the next value while the caller works on this one: the next page is fetched while this one is diffed and
 * committed.
 * @param start makes the values; its signal also fires when the caller stops early, so that an unwanted request ends
 * @param isEager false: a value is requested only when the caller wants it
 */
export async function* oneAhead<T>(
  start: (stop: AbortSignal) => AsyncGenerator<T>,
  signal: AbortSignal,
  isEager = true,
): AsyncGenerator<Ahead<T>> {
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const values = start(stop.signal);
  let next = values.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      if (!isEager) {
        yield { value, isNextWithin: async () => false };
        next = values.next();
        continue;
      }
      next = values.next();
      // The caller gets its failure with the next turn of the loop; until then it must not be an unhandled rejection.
      const arrives = next.then(
        (result) => !result.done,
        () => false,
      );
      // The next request leaves before the caller keeps this thread busy; with microtasks only, the caller would come first.
      await turn();
      yield { value, isNextWithin: (ms) => within(ms, arrives) };
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort();
    await next.catch(() => {});
    await values.return(undefined);
  }
}

async function within(ms: number, arrives: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([arrives, late]);
  } finally {
    clearTimeout(timer);
  }
}
