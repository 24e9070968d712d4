/** Asks for the next value while the caller works on this one: the next page is fetched while this one commits. */
export async function* oneAhead<T>(values: AsyncGenerator<T>): AsyncGenerator<T> {
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
    await next.catch(() => {});
    await values.return(undefined);
  }
}
