import type { Results } from '../results';

/** Looks at one thing, and says whether it is so. The looks that follow are made all the same. */
export type Look = (what: string, work: () => Promise<void>) => Promise<void>;

export function looks(results: Results): Look {
  return (what, work) =>
    work().then(
      () => results.ok(`the page: ${what}`),
      (error: Error) => results.fail(`not so: the page: ${what}`, [error.message]),
    );
}
