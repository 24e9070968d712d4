import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

/** Where its installer puts it, often beside the PATH. */
const USUAL = '/usr/local/go/bin';

/** The Go of the PATH, else that of its usual folder; null when there is none. */
export async function findGo(): Promise<string | null> {
  for (const go of ['go', path.join(USUAL, 'go')]) {
    const isThere = await promisify(execFile)(go, ['version']).then(
      () => true,
      () => false,
    );
    if (isThere) return go;
  }
  return null;
}
