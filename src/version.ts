import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The package's version; the file lies one folder up from both `src` and `dist`. */
export const version: string = (
  JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string }
).version;
