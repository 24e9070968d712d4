import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describeVerdict, type Verdict } from '../support/judge/verdict';

/** A number from the environment. */
export const setting = (name: string, usual: number): number => Number(process.env[name] ?? usual);

/** SEED, or a drawn one. */
export const seed = setting('SEED', Math.floor(Math.random() * 1e6));

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/**
 * A folder for the file that it is called in, removed at the end.
 * @param stop what runs in it
 * @param isKept whether a run that failed leaves its data there
 */
export function soakFolder(stop: () => unknown = () => {}, isKept: () => boolean = () => false): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-soak-'));
  afterAll(async () => {
    await stop();
    if (process.env.KEEP === '1' && isKept()) say(`data: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }, 60_000);
  return folder;
}

/** How much was judged, and the harms by their kinds. */
export function figuresOf({ feeds, violations }: Verdict): string {
  const sum = (of: 'commits' | 'events') =>
    Object.values(feeds).reduce((total, counts) => total + counts[of], 0);
  const harms = { lost: 0, twice: 0, order: 0, torn: 0, wrong: 0 };
  for (const { harm } of violations) harms[harm]++;
  const { lost, twice, order, torn, wrong } = harms;
  const kinds = `lost ${lost}, twice ${twice}, out of order ${order}, torn ${torn}, wrong ${wrong}`;
  return `${sum('commits')} commits, ${sum('events')} events; ${kinds}`;
}

/** @param exitCodes of the publishers that were asked to end */
export function expectGood(verdict: Verdict, ...exitCodes: readonly (number | null)[]): void {
  expect(describeVerdict(verdict)).toBe('nothing to object to');
  expect(exitCodes.filter((code) => code !== 0)).toStrictEqual([]);
}
