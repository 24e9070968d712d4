import { readText } from '../../bytes/read-text';
import type { Mistake } from '../mistake';

export interface ConfigFile {
  /** As it is called in errors. */
  readonly name: string;
  /** Scalars are the text that was written; each setting reads its own type from it. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly mistakes: readonly Mistake[];
  /** `highwater.yaml, line 7`: the line of a key, or of the nearest one above it. */
  where(path: readonly PropertyKey[]): string;
}

/** Without any settings. */
export function emptyConfig(name: string, problem?: string): ConfigFile {
  return {
    name,
    values: {},
    mistakes: problem === undefined ? [] : [{ key: 'config', where: name, problem }],
    where: () => name,
  };
}

/**
 * @param name as the person wrote it
 * @param required whether its absence is a mistake
 */
export function readConfigFile(file: string, name: string, required: boolean): ConfigFile {
  const read = readText(file);
  if ('text' in read) {
    // The YAML parser is loaded only if there is a file.
    const { parseConfig }: typeof import('./config-text') = require('./config-text');
    return parseConfig(read.text, name);
  }
  if (read.failure === 'ENOENT' && !required) return emptyConfig(name);
  return emptyConfig(name, `cannot be read (${read.failure})`);
}
