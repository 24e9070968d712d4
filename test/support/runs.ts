import fc from 'fast-check';

const { MODEL_RUNS, MODEL_SEED = '20261123' } = process.env;

/**
 * Properties are tried with the same inputs in each run, so that a commit that has passed passes again. MODEL_SEED takes another
 * number, or `drawn` for inputs that differ from run to run, as `npm run soak:model` does.
 */
if (MODEL_SEED !== 'drawn') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(MODEL_SEED) });

/** How often a property is tried: so many times in `npm run test:unit`, which is to take seconds; as often as MODEL_RUNS says in the long form. */
export function runs(short: number): number {
  return Number(MODEL_RUNS ?? short);
}
