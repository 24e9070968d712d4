import { resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import { type ConfigFile, emptyConfig } from './config-file';

export const DEFAULT_CONFIG_FILE = 'highwater.yaml';
/** Names the file; `--config` goes before it. */
export const CONFIG_VARIABLE = 'HIGHWATER_CONFIG';

/** Where settings come from. */
export interface ConfigInput {
  /** Options as commander returns them; `config` is the file. Options that are not settings are ignored. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The file that somebody named, as it was written; an empty variable counts as not set. */
export function namedConfigFile({ flags, env }: Pick<ConfigInput, 'flags' | 'env'>): string | undefined {
  return typeof flags.config === 'string' ? flags.config : env[CONFIG_VARIABLE] || undefined;
}

/** Reads the file with settings. The default file may be missing, a named file may not. */
export function readConfigFile(input: ConfigInput): { file: ConfigFile; filePath: string } {
  const named = namedConfigFile(input);
  const name = named ?? DEFAULT_CONFIG_FILE;
  const filePath = resolve(input.cwd, name);
  return { file: readFile(filePath, name, named !== undefined), filePath };
}

/** @param name as the person wrote it */
function readFile(filePath: string, name: string, required: boolean): ConfigFile {
  const read = readText(filePath);
  if ('text' in read) {
    // The parser is loaded for a file that is there.
    const { parseConfig }: typeof import('./config-text') = require('./config-text');
    return parseConfig(read.text, name);
  }
  if (read.failure === 'ENOENT' && !required) return emptyConfig(name);
  return emptyConfig(name, `cannot be read (${read.failure})`);
}
