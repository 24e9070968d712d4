import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findGo } from '../measure/go';

const BUILD_MS = 20 * 60_000;
const sources = ['go.mod', 'go.sum', 'main.go'];

/**
 * Benthos as Go builds it from the sources beside this file, once for each version of them.
 * @returns the file to start, or why there is none
 */
export async function benthosProgram(): Promise<{ readonly file: string } | { readonly missing: string }> {
  const folder = cachedFolder();
  const file = path.join(folder, 'benthos');
  if (existsSync(file)) return { file };
  const go = await findGo();
  if (go === null) return { missing: 'Go is not installed' };
  mkdirSync(folder, { recursive: true });
  for (const source of sources) copyFileSync(path.join(__dirname, source), path.join(folder, source));
  const unfinished = `${file}-${process.pid}`;
  try {
    const args = ['build', '-trimpath', '-o', unfinished, '.'];
    await promisify(execFile)(go, args, { cwd: folder, timeout: BUILD_MS });
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    return { missing: `go build failed: ${stderr?.trim().split('\n').at(-1) ?? (error as Error).message}` };
  }
  renameSync(unfinished, file);
  return { file };
}

export function isBenthosBuilt(): boolean {
  return existsSync(path.join(cachedFolder(), 'benthos'));
}

function cachedFolder(): string {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const cache = XDG_CACHE_HOME || path.join(HOME || homedir(), '.cache');
  const digest = createHash('sha256');
  for (const source of sources) digest.update(readFileSync(path.join(__dirname, source)));
  return path.join(cache, 'highwater', 'bench', `benthos-${digest.digest('hex').slice(0, 12)}`);
}
