import { readText } from '../../bytes/read-text';
import { type ConfigFile, emptyConfig } from './config-file';

/**
 * @param name as the person wrote it
 * @param required whether its absence is a mistake
 */
export function readConfigFile(file: string, name: string, required: boolean): ConfigFile {
  const read = readText(file);
  if ('text' in read) {
    // The parser is loaded for a file that is there.
    const { parseConfig }: typeof import('./config-text') = require('./config-text');
    return parseConfig(read.text, name);
  }
  if (read.failure === 'ENOENT' && !required) return emptyConfig(name);
  return emptyConfig(name, `cannot be read (${read.failure})`);
}
