import type { Contender } from './contender';
import type { Measured } from './measured';
import type { Scene } from './scene';

/** What came of one contender. */
export interface Outcome {
  readonly contender: Contender;
  readonly runs: readonly Measured[];
  /** Why there are fewer runs than rounds; null: there are not. */
  readonly failure: string | null;
}

/**
 * All contenders in each round, one after the other, so that what else the machine does meets them alike. One that fails
 * is not run again; the others go on.
 * @param tell a line for people
 */
export async function runRounds(
  scene: Scene,
  contenders: readonly Contender[],
  rounds: number,
  tell: (line: string) => void,
): Promise<Outcome[]> {
  const outcomes = contenders.map((contender) => ({
    contender,
    runs: [] as Measured[],
    failure: null as string | null,
  }));
  for (const outcome of outcomes) {
    const { contender } = outcome;
    const missing = (await contender.prepare?.(scene).catch((error: Error) => error.message)) ?? null;
    if (missing !== null) outcome.failure = `not run: ${missing}`;
  }
  for (let round = 1; round <= rounds; round++) {
    for (const outcome of outcomes) {
      if (outcome.failure !== null) continue;
      const { contender, runs } = outcome;
      try {
        const run = await contender.run(scene);
        runs.push(run);
        tell(`round ${round}: ${contender.title}: ${inShort(run)}`);
      } catch (error) {
        outcome.failure = `failed: ${(error as Error).message}`;
        tell(`round ${round}: ${contender.title} ${outcome.failure}`);
      }
    }
  }
  return outcomes;
}

function inShort({ records, wallMs, cpuMs }: Measured): string {
  const rate = Math.round((records / wallMs) * 1_000).toLocaleString('en-US');
  return `${rate} records/s, ${((cpuMs / records) * 1_000).toFixed(1)} µs CPU a record`;
}
