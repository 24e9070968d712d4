import type { Parameters } from 'fast-check';

/**
 * How often a model is run. CI has the same few runs each time, so that a failure there comes from the change at hand;
 * `npm run soak:model` draws its seeds and runs for long. Settings: MODEL_RUNS; MODEL_SEED, a number or `drawn`; MODEL_PATH, of
 * a counterexample; MODEL_SHRINK=1 to look for a smaller one.
 * @param runs in CI
 * @param seed in CI
 */
export function modelRuns<Values>(
  runs: number,
  seed: number,
): Parameters<Values> & { readonly numRuns: number } {
  const { MODEL_RUNS, MODEL_SEED, MODEL_PATH, MODEL_SHRINK } = process.env;
  return {
    numRuns: Number(MODEL_RUNS ?? runs),
    // Without one, fast-check draws it and names it when a run fails.
    ...(MODEL_SEED !== 'drawn' && { seed: Number(MODEL_SEED ?? seed) }),
    ...(MODEL_PATH !== undefined && { path: MODEL_PATH }),
    endOnFailure: MODEL_SHRINK === undefined,
  };
}

/** More than so many runs take on a machine that does much else, ms. */
export const modelMs = (runs: number): number => 600_000 + runs * 30_000;
