import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export const root = path.resolve(__dirname, '..', '..');
const isBuilt: () => boolean = require('../../tools/is-built.cjs');
const dist = path.join(root, 'dist');
const lock = path.join(root, 'node_modules', '.highwater-build');
const DEADLINE_MS = 120_000;

/**
 * Brings `dist/` up to date with `src/`, for tests that start real processes. Nothing happens when no source is newer than
 * its output; of test files that run side by side one builds, the others wait.
 * @returns the path of `dist/`
 */
export async function build(): Promise<string> {
  const deadline = Date.now() + DEADLINE_MS;
  // While another one builds, half of the files may be there.
  while (existsSync(lock) || !isBuilt()) {
    if (!take(lock)) {
      if (Date.now() > deadline) throw new Error(`${lock} is in the way of the build: remove it`);
      await delay(100);
      continue;
    }
    try {
      const { status, stdout } = spawnSync('npm', ['run', 'build'], { cwd: root, encoding: 'utf8' });
      if (status !== 0 && !isBuilt()) throw new Error(`npm run build failed:\n${stdout}`);
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return dist;
}

function take(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
