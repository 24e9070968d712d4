import { isAbsolute, resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import { type Mistake, shown } from '../mistake';
import type { ReadSettings } from '../raw-settings';
import { type SettingValues, settings } from '../settings';

export interface ReadSecret {
  readonly token: string | null;
  readonly mistakes: readonly Mistake[];
}

const passwords = ['kafkaSslKeyPassword', 'kafkaSaslPassword', 'schemaRegistryPassword'] as const;

/**
 * A secret or the content of its file: whichever is set nearer to the command line. Blanks around a token are ignored; a password
 * file loses only the line break at its end.
 * @param name of the setting; the setting of the file has the same name with `File` behind it
 */
export function readSecret(
  { values, origins }: ReadSettings,
  cwd: string,
  name: 'apiToken' | 'httpToken' | (typeof passwords)[number],
): ReadSecret {
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

  const mistake = (problem: string): ReadSecret => ({
    token: null,
    mistakes: [{ key: file, where: fromFile.where, problem }],
  });
  const found = readText(resolve(cwd, path));
  if ('failure' in found) return mistake(`${fileCalled(path)} cannot be read (${found.failure})`);
  const content = isToken ? found.text.trim() : found.text.replace(/\r?\n$/, '');
  const parsed = settings[name].schema.safeParse(content);
  if (parsed.success) return { token: parsed.data as string, mistakes: [] };
  // The error shows what was expected, never the secret.
  const [issue] = parsed.error.issues;
  return mistake(
    content === ''
      ? `${fileCalled(path)} is empty`
      : `${fileCalled(path)} holds something else, expected ${issue?.message}`,
  );
}

/** A long value that does not look like a path may be the token itself, set in place of the file name. */
export function fileCalled(path: string): string {
  const isPath = isAbsolute(path) || path.startsWith('.') || path.length < 16;
  return isPath ? `the file ${shown(path)}` : 'the file of that name';
}

/** The settings, with the passwords from files as if they had been set directly. */
export function readPasswordFiles(
  read: ReadSettings,
  cwd: string,
): { readonly read: ReadSettings; readonly mistakes: readonly Mistake[] } {
  const values: { -readonly [Key in keyof SettingValues]: SettingValues[Key] } = { ...read.values };
  const origins = new Map(read.origins);
  const mistakes: Mistake[] = [];
  for (const name of passwords) {
    const file = origins.get(`${name}File`);
    if (file === undefined) continue;
    const found = readSecret(read, cwd, name);
    mistakes.push(...found.mistakes);
    values[name] = found.token;
    // A password file that cannot be read is the mistake; the password does not count as missing.
    if (file.rank < (origins.get(name)?.rank ?? Number.POSITIVE_INFINITY)) origins.set(name, file);
  }
  return { read: { ...read, values, origins }, mistakes };
}
