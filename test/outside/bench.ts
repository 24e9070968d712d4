import path from 'node:path';
import { run } from './command';
import type { Step } from './run';

const root = path.join(__dirname, '..', '..');
const WITHIN_MS = 240_000;

/** Figures stand in their rows; which figures is nobody's business here. */
const rows = [/^ {2}highwater, gzip .*\d \/ .*\d$/m, /^ {2}highwater, embedded log .*\d \/ .*\d$/m];

/** The benchmark in its short form: every measurement runs, and the written records are complete. No thresholds. */
export const benchmark: Step = {
  name: 'the benchmark runs in its short form: each contender published every record, and each limit has its figures',
  async run() {
    const tsx = path.join(path.dirname(require.resolve('tsx/package.json')), 'dist', 'cli.mjs');
    const args = [tsx, 'bench/main.ts', '--short'];
    const { code, stdout, stderr } = await run(process.execPath, args, {
      cwd: root,
      env: process.env,
      withinMs: WITHIN_MS,
    });
    const missing = rows.filter((row) => !row.test(stdout));
    if (code !== 0 || missing.length > 0) {
      throw new Error(`ended with ${code}; rows without figures: ${missing.length}\n${stderr}${stdout}`);
    }
    for (const left of stdout.match(/^.*: not run: .*$/gm) ?? []) process.stdout.write(`        ${left}\n`);
  },
};
