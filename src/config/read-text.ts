import { readFileSync } from 'node:fs';
import { types } from 'node:util';

/** The text of a file, or the system's code for why there is none: `ENOENT`. */
export function readText(path: string): { readonly text: string } | { readonly failure: string } {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    return { failure: types.isNativeError(error) && 'code' in error ? String(error.code) : 'unknown reason' };
  }
}
