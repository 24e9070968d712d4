import path from 'node:path';
import { run } from './command';
import type { Reading } from './python-judge';
import type { Results } from './results';
import type { Servers } from './servers';

/** One thing that was made wrong in a copy, and what must notice it. */
export interface Damage {
  /** In words. */
  readonly what: string;
  /** The check that must fail, and a text that its findings must name. */
  readonly check: string;
  readonly names: string;
}

const COPY_MS = 60_000;

/** Copies topics with `damaged_copy.py`. @returns the faults of the copy */
export async function damagedCopy(
  python: string,
  { brokers, registryUrl }: Servers,
  prefix: string,
  copyPrefix: string,
): Promise<readonly Damage[]> {
  const script = path.join(__dirname, 'python', 'damaged_copy.py');
  const args = ['-B', script, brokers, registryUrl, prefix, copyPrefix];
  const { code, stdout, stderr } = await run(python, args, { withinMs: COPY_MS });
  if (code !== 0) throw new Error(`the copy was not made (${code}):\n${stdout}${stderr}`);
  return JSON.parse(stdout) as Damage[];
}

/** Whether the judge has noticed what its checks are there for. */
export function checkNoticed({ problems }: Reading, damages: readonly Damage[], results: Results): void {
  for (const { what, check, names } of damages) {
    const found = problems[check] ?? [];
    const isNoticed = found.some((text) => text.includes(names));
    const details = [`it found under "${check}":`, ...found.slice(0, 5)];
    results.check(isNoticed, `notices ${what} (${check})`, details);
  }
}
