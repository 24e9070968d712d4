import { isAbsolute, resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import type { Live, Rotation, Secret } from '../../secrets/rotation';
import { type Command, type Read, runCommandAtStart } from '../../secrets/secret-command';
import { shown } from '../mistake';
import type { Loading } from '../raw-settings';
import { type SettingKey, settings } from '../settings';

/** The settings that can also be set by a file of their own. */
type Name = { [Key in SettingKey]: `${Key}File` extends SettingKey ? Key : never }[SettingKey];

/** A secret that is set. `secret` is left out if it is a text that cannot change. */
export interface SetSecret extends Live<string> {
  readonly secret?: Secret;
}

export function isSecretSet({ origins }: Loading, name: Name): boolean {
  return origins.has(name) || origins.has(`${name}File`);
}

/**
 * A secret, the content of its file, or what its command prints: whichever is set nearer to the command line. Blanks around a token
 * are ignored; a password file loses only the line break at its end. From then on nobody sees the secret.
 * @param name of the setting; the settings of the file and the command add `File` and `Command` to it
 * @param runs whether a command is run; else its secret counts as not set
 * @param mayComeLate as for `secretFrom`
 * @returns null if it is not set, or cannot be read, which is a mistake
 */
export function readSecret(
  loading: Loading,
  name: Name,
  { runs = true, mayComeLate = false } = {},
): SetSecret | null {
  const { values, origins, cwd, rotation, mistakes } = loading;
  const isToken = name.endsWith('Token');
  const commandKey = `${name}Command` as 'apiTokenCommand' | 'kafkaSaslOauthbearerTokenCommand';
  const keys = [name, `${name}File`, ...(commandKey in settings ? [commandKey] : [])] as const;
  const set = keys
    .flatMap((key) => (origins.has(key) ? [{ key, ...origins.get(key)! }] : []))
    .sort((a, b) => a.rank - b.rank);
  const [first, second] = set;
  if (first !== undefined && first.rank === second?.rank) {
    const what = isToken ? 'a token' : 'a password';
    const where = `${first.where} and ${second.where}`;
    mistakes.push({ key: name, where, problem: `is set twice, expected ${what} or a file of one` });
    return null;
  }
  const text = values[name];
  if (first === undefined || first.key === name) {
    rotation.hide(text === null ? [] : [text]);
    return text === null ? null : { value: text };
  }
  const given = values[first.key];
  const isCommand = first.key === commandKey;
  if (given === null || (isCommand && !runs)) return null;
  const place = isCommand ? { command: given as Command } : { file: given as string };
  // The error shows the expected form, never the secret.
  const expected = (content: string) =>
    settings[name].schema.safeParse(content).error?.issues[0]?.message ?? null;
  const found = secretFrom(first.key, place, expected, { cwd, rotation, isToken, mayComeLate });
  if ('problem' in found) {
    mistakes.push({ key: first.key, where: first.where, problem: found.problem });
    return null;
  }
  const { live: secret } = found;
  rotation.hide([found.token]);
  return {
    secret,
    get value() {
      return secret.value;
    },
  };
}

export type SecretPlace = { readonly file: string } | { readonly command: Command };

/**
 * Reads a secret from a file or from a command's output.
 * @param key of the setting
 * @param expected returns the expected form; null: the content is right
 * @returns a secret that comes late is empty for now
 */
export function secretFrom(
  key: string,
  place: SecretPlace,
  expected: (content: string) => string | null,
  {
    cwd,
    rotation,
    isToken = true,
    mayComeLate = false,
    secretsIn,
  }: {
    readonly cwd: string;
    readonly rotation: Rotation;
    readonly isToken?: boolean;
    /** Whether a command that gives no usable secret at the start is tried again later. */
    readonly mayComeLate?: boolean;
    /** Default: the whole text is one secret. */
    readonly secretsIn?: (content: string) => readonly string[];
  },
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
    if ('problem' in found && !mayComeLate) return found;
    const token = 'problem' in found ? '' : found.value;
    return { token, live: rotation.command(key, place.command, token, check) };
  }
  const path = resolve(cwd, place.file);
  const readFile = (): Read<string> => {
    const read = readText(path);
    if ('failure' in read) return { problem: `${what} cannot be read (${read.failure})` };
    return check(isToken ? read.text.trim() : read.text.replace(/\r?\n$/, ''));
  };
  const found = readFile();
  if ('problem' in found) return found;
  return { token: found.value, live: rotation.file(key, path, found.value, readFile, secretsIn) };
}

/** A long value that does not look like a path may be the token itself, set in place of the file name. */
export function fileCalled(path: string): string {
  const isPath = isAbsolute(path) || path.startsWith('.') || path.length < 16;
  return isPath ? `the file ${shown(path)}` : 'the file of that name';
}
