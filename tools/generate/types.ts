import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { consumerTypes } from './consumer-types';

/** Part of `npm run build`: the types of `highwater/consumer`. Left as they are if they are the same, for builds that look at times. */
const file = path.join(__dirname, '..', '..', 'src', 'consumer', 'schemas.ts');
const text = consumerTypes();

function written(): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

if (written() !== text) writeFileSync(file, text);
