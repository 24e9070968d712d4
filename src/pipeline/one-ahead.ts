/**
 * Asks for the next value while the caller works on this one: the next page is fetched while this one commits.
 * @param start makes the values; its signal also ends when the caller stops early, so that nobody waits for a request that
 *   nobody wants any more
 */
export async function* oneAhead<T>(
  start: (stop: AbortSignal) => AsyncGenerator<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
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
      next = values.next();
      // Its failure belongs to whoever takes it; until then it is no unhandled rejection.
      next.catch(() => {});
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort();
    await next.catch(() => {});
    await values.return(undefined);
  }
}
