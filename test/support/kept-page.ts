import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A page under `docs/` that is made from code. With UPDATE_DOCS=1 it is written.
 * @returns what the page holds, for an assertion with a readable difference
 */
export function keptPage(name: string, made: string): string {
  if (process.env.UPDATE_DOCS === '1') writeFileSync(pathOf(name), made);
  return readPage(name);
}

/** Empty when there is none yet. */
export function readPage(name: string): string {
  return existsSync(pathOf(name)) ? readFileSync(pathOf(name), 'utf8') : '';
}

function pathOf(name: string): string {
  return join(__dirname, '..', '..', 'docs', name);
}
