import type { Answer } from './answer';

interface Page {
  readonly answer: Answer;
  readonly rows: number;
}

/** A cache on the way to the API, which pays no heed to what a request says of caches. */
export interface Cache {
  /** @returns the answer to the same address, with its age, if it is not older than `seconds`; else a new one */
  answer(address: string, nowMs: number, seconds: number, make: () => Page): Page;
}

export function createCache(): Cache {
  const kept = new Map<string, { readonly page: Page; readonly madeMs: number }>();
  return {
    answer(address, nowMs, seconds, make) {
      const old = kept.get(address);
      const age = old === undefined ? 0 : (nowMs - old.madeMs) / 1000;
      if (old !== undefined && age >= 0 && age < seconds) {
        const { answer } = old.page;
        return {
          ...old.page,
          answer: { ...answer, headers: { ...answer.headers, age: `${Math.floor(age)}` } },
        };
      }
      const page = make();
      if (seconds > 0) kept.set(address, { page, madeMs: nowMs });
      return page;
    },
  };
}
