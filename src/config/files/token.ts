import { isAbsolute, resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import { type Mistake, shown } from '../mistake';
import type { ReadSettings } from '../raw-settings';
import { settings } from '../settings';

export interface ReadToken {
  readonly token: string | null;
  readonly mistakes: readonly Mistake[];
}

/**
 * A token itself or out of its file: whichever is set nearer to the command line.
 * @param name of the setting; that of the file is the same with `File` behind it
 */
export function readToken(read: ReadSettings, cwd: string, name: 'apiToken' | 'httpToken'): ReadToken {
  return readSecret(read, cwd, name);
}

type Secret =
  | 'apiToken'
  | 'httpToken'
  | 'kafkaSslKeyPassword'
  | 'kafkaSaslPassword'
  | 'schemaRegistryPassword';

/** As `readToken` does; of a password file only the line break at its end is none of the password. */
export function readSecret({ values, origins }: ReadSettings, cwd: string, name: Secret): ReadToken {
  const file = `${name}File` as const;
  const isToken = name === 'apiToken' || name === 'httpToken';
  const what = isToken ? 'a token' : 'a password';
  const direct = origins.get(name);
  const fromFile = origins.get(file);
  if (direct !== undefined && fromFile !== undefined && direct.rank === fromFile.rank) {
    const where = `${direct.where} and ${fromFile.where}`;
    return {
      token: null,
      mistakes: [{ key: name, where, problem: `is set twice, expected ${what} or a file of one` }],
    };
  }
  const useFile = fromFile !== undefined && (direct === undefined || fromFile.rank < direct.rank);
  const path = values[file];
  if (!useFile || path === null) return { token: values[name], mistakes: [] };

  const mistake = (problem: string): ReadToken => ({
    token: null,
    mistakes: [{ key: file, where: fromFile.where, problem }],
  });
  const found = readText(resolve(cwd, path));
  if ('failure' in found) return mistake(`${fileCalled(path)} cannot be read (${found.failure})`);
  const content = isToken ? found.text.trim() : found.text.replace(/\r?\n$/, '');
  const parsed = settings[name].schema.safeParse(content);
  if (parsed.success) return { token: parsed.data as string, mistakes: [] };
  // The expectation of the setting itself, without what was found.
  const [issue] = parsed.error.issues;
  return mistake(
    content === ''
      ? `${fileCalled(path)} is empty`
      : `${fileCalled(path)} holds something else, expected ${issue?.message}`,
  );
}

/** What is long and begins like no path may be the token itself, put where its file belongs. */
export function fileCalled(path: string): string {
  const isPath = isAbsolute(path) || path.startsWith('.') || path.length < 16;
  return isPath ? `the file ${shown(path)}` : 'the file of that name';
}
