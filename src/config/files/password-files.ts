import type { Mistake } from '../mistake';
import type { ReadSettings } from '../raw-settings';
import type { SettingValues } from '../settings';
import { readSecret } from './token';

const passwords = ['kafkaSslKeyPassword', 'kafkaSaslPassword', 'schemaRegistryPassword'] as const;

/** The settings, with the passwords that stand in files of their own as if they had been set themselves. */
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
    // Also where it could not be read: that is the mistake, not that there is none.
    if (file.rank < (origins.get(name)?.rank ?? Number.POSITIVE_INFINITY)) origins.set(name, file);
  }
  return { read: { ...read, values, origins }, mistakes };
}
