import { isAbsolute, resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import type { Rotation, Secret } from '../../secrets/rotation';
import { type Command, type Read, runCommandAtStart } from '../../secrets/secret-command';
import { type Mistake, shown } from '../mistake';
import type { ReadSettings } from '../raw-settings';
import { type SettingKey, type SettingValues, settings } from '../settings';

export interface ReadSecret {
  /** As it is at the start. */
  readonly token: string | null;
  /** Left out: it is a text that cannot change. */
  readonly live?: Secret;
  readonly mistakes: readonly Mistake[];
}

const passwords = [
  'kafkaSslKeyPassword',
  'kafkaSaslPassword',
  'schemaRegistryPassword',
  'schemaRegistryKeyPassword',
] as const;
type Password = (typeof passwords)[number];

/**
 * A secret, the content of its file, or what its command prints: whichever is set nearer to the command line. Blanks around a token
 * are ignored; a password file loses only the line break at its end.
 * @param name of the setting; the settings of the file and the command add `File` and `Command` to it
 * @param runs whether a command is run; else its secret counts as not set
 */
export function readSecret(
  { values, origins }: ReadSettings,
  cwd: string,
  name: 'apiToken' | 'httpToken' | Password,
  rotation: Rotation,
  runs = true,
): ReadSecret {
  const isToken = name === 'apiToken' || name === 'httpToken';
  const keys = [name, `${name}File`, ...(name === 'apiToken' ? (['apiTokenCommand'] as const) : [])] as const;
  const set = keys
    .flatMap((key) => (origins.has(key) ? [{ key, ...origins.get(key)! }] : []))
    .sort((a, b) => a.rank - b.rank);
  const [first, second] = set;
  if (first !== undefined && first.rank === second?.rank) {
    const what = isToken ? 'a token' : 'a password';
    const where = `${first.where} and ${second.where}`;
    return {
      token: null,
      mistakes: [{ key: name, where, problem: `is set twice, expected ${what} or a file of one` }],
    };
  }
  if (first === undefined || first.key === name) return { token: values[name], mistakes: [] };
  const given = values[first.key];
  const isCommand = first.key === 'apiTokenCommand';
  if (given === null || (isCommand && !runs)) return { token: null, mistakes: [] };
  const place = isCommand ? { command: given as Command } : { file: given as string };
  // The error shows the expected form, never the secret.
  const expected = (content: string) =>
    settings[name].schema.safeParse(content).error?.issues[0]?.message ?? null;
  const found = secretFrom(first.key, place, expected, { cwd, rotation, isToken });
  if ('problem' in found) {
    return { token: null, mistakes: [{ key: first.key, where: first.where, problem: found.problem }] };
  }
  return { ...found, mistakes: [] };
}

export type SecretPlace = { readonly file: string } | { readonly command: Command };

/**
 * Reads a secret from a file or from a command's output.
 * @param key of the setting
 * @param expected returns the expected form; null: the content is right
 */
export function secretFrom(
  key: string,
  place: SecretPlace,
  expected: (content: string) => string | null,
  {
    cwd,
    rotation,
    isToken = true,
  }: { readonly cwd: string; readonly rotation: Rotation; readonly isToken?: boolean },
): { readonly token: string; readonly live: Secret } | { readonly problem: string } {
  const [what, empty, wrong] =
    'command' in place
      ? ['the command', 'printed nothing', 'printed something else']
      : [fileCalled(place.file), 'is empty', 'holds something else'];
  const check = (content: string): Read<string> => {
    if (content === '') return { problem: `${what} ${empty}` };
    const wanted = expected(content);
    return wanted === null ? { value: content } : { problem: `${what} ${wrong}, expected ${wanted}` };
  };
  if ('command' in place) {
    const printed = runCommandAtStart(place.command, rotation.known);
    const found = 'problem' in printed ? printed : check(printed.value);
    if ('problem' in found) return found;
    return { token: found.value, live: rotation.command(key, place.command, found.value, check) };
  }
  const path = resolve(cwd, place.file);
  const readFile = (): Read<string> => {
    const read = readText(path);
    if ('failure' in read) return { problem: `${what} cannot be read (${read.failure})` };
    return check(isToken ? read.text.trim() : read.text.replace(/\r?\n$/, ''));
  };
  const found = readFile();
  if ('problem' in found) return found;
  return { token: found.value, live: rotation.file(key, path, found.value, readFile) };
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
  rotation: Rotation,
): {
  readonly read: ReadSettings;
  /** Those from files. */
  readonly live: ReadonlyMap<SettingKey, Secret>;
  readonly mistakes: readonly Mistake[];
} {
  const values: { -readonly [Key in keyof SettingValues]: SettingValues[Key] } = { ...read.values };
  const origins = new Map(read.origins);
  const live = new Map<SettingKey, Secret>();
  const mistakes: Mistake[] = [];
  for (const name of passwords) {
    const file = origins.get(`${name}File`);
    if (file === undefined) continue;
    const found = readSecret(read, cwd, name, rotation);
    mistakes.push(...found.mistakes);
    values[name] = found.token;
    if (found.live !== undefined) live.set(name, found.live);
    // A password file that cannot be read is the mistake; the password does not count as missing.
    if (file.rank < (origins.get(name)?.rank ?? Number.POSITIVE_INFINITY)) origins.set(name, file);
  }
  return { read: { ...read, values, origins }, live, mistakes };
}
