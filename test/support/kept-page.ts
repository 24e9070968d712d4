import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A page under `docs/` that is made from code: compares it, or with UPDATE_DOCS=1 writes it.
 * @returns what the page holds, for an assertion with a readable difference
 */
export function keptPage(name: string, made: string): string {
  const file = join(__dirname, '..', '..', 'docs', name);
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, made);
  return readFileSync(file, 'utf8');
}
