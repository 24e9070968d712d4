import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { lock } from 'proper-lockfile';

/**
 * A folder outside the repository that is made once for the given files, and again when one of them has changed. Callers in other
 * processes wait for the process that makes it.
 * @param make fills the folder, which exists and is empty
 */
export async function cacheFolder(
  name: string,
  files: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const cache = path.join(XDG_CACHE_HOME || path.join(HOME || homedir(), '.cache'), 'highwater', 'outside');
  const digest = createHash('sha256');
  for (const file of files) digest.update(readFileSync(file));
  const folder = path.join(cache, `${name}-${digest.digest('hex').slice(0, 12)}`);
  const complete = path.join(folder, '.complete');
  if (existsSync(complete)) return folder;

  mkdirSync(cache, { recursive: true });
  const release = await lock(cache, { retries: { forever: true, minTimeout: 200, maxTimeout: 1_000 } });
  try {
    if (existsSync(complete)) return folder;
    // Left by a killed process.
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    await make(folder);
    writeFileSync(complete, '');
  } finally {
    await release();
  }
  return folder;
}
