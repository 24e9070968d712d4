import { resolve } from 'node:path';
import { type Mistake, shown } from './mistake';
import type { ReadSettings } from './raw-settings';
import { readText } from './read-text';
import { settings } from './settings';

export interface ReadToken {
  readonly token: string | null;
  readonly mistakes: readonly Mistake[];
}

/** The token itself or out of its file: whichever is set nearer to the command line. */
export function readToken({ values, origins }: ReadSettings, cwd: string): ReadToken {
  const direct = origins.get('apiToken');
  const fromFile = origins.get('apiTokenFile');
  if (direct !== undefined && fromFile !== undefined && direct.rank === fromFile.rank) {
    const where = `${direct.where} and ${fromFile.where}`;
    return {
      token: null,
      mistakes: [{ key: 'apiToken', where, problem: 'is set twice, expected a token or a file of one' }],
    };
  }
  const useFile = fromFile !== undefined && (direct === undefined || fromFile.rank < direct.rank);
  if (!useFile || values.apiTokenFile === null) return { token: values.apiToken, mistakes: [] };

  const mistake = (problem: string): ReadToken => ({
    token: null,
    mistakes: [{ key: 'apiTokenFile', where: fromFile.where, problem }],
  });
  const path = values.apiTokenFile;
  const read = readText(resolve(cwd, path));
  if ('failure' in read) return mistake(`the file ${shown(path)} cannot be read (${read.failure})`);
  const content = read.text.trim();
  const parsed = settings.apiToken.schema.safeParse(content);
  if (parsed.success) return { token: parsed.data, mistakes: [] };
  return mistake(
    content === ''
      ? `the file ${shown(path)} is empty`
      : `the file ${shown(path)} holds more than one word, expected a token alone`,
  );
}
