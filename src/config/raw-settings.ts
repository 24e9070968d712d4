import { addressPasswords, proxyPasswords } from '../secrets/proxy-passwords';
import type { Rotation } from '../secrets/rotation';
import { didYouMean, meantOrKnown } from './did-you-mean';
import { type ConfigFile, mistakeIn } from './files/config-file';
import { CONFIG_VARIABLE, type ConfigInput } from './files/read-config-file';
import { type Mistake, unexpected } from './mistake';
import {
  flagName,
  type Setting,
  type SettingKey,
  type SettingValues,
  settingKeys,
  settings,
} from './settings';
import { leastSecretCharacters } from './value-types';

interface SettingSources extends Omit<ConfigInput, 'cwd'> {
  readonly file: ConfigFile;
}

/** Where a value was set; a lower rank goes before a higher one. */
interface SettingOrigin {
  readonly rank: 0 | 1 | 2;
  readonly where: string;
}

export interface ReadSettings {
  readonly values: SettingValues;
  readonly origins: ReadonlyMap<SettingKey, SettingOrigin>;
  readonly mistakes: readonly Mistake[];
}

/** The settings while they are loaded. Each part adds its mistakes, and hides its secrets. */
export interface Loading extends Pick<ReadSettings, 'values' | 'origins'> {
  readonly cwd: string;
  readonly rotation: Rotation;
  readonly mistakes: Mistake[];
}

/** Where a setting was set; null if it was not. */
export function whereSet({ origins }: Pick<ReadSettings, 'origins'>, key: SettingKey): string | null {
  return origins.get(key)?.where ?? null;
}

/** Flags over environment over file over defaults. */
export function readSettings(sources: SettingSources): ReadSettings {
  const values: Record<string, unknown> = {};
  const origins = new Map<SettingKey, SettingOrigin>();
  const mistakes: Mistake[] = [];
  for (const key of settingKeys) {
    const setting: Setting = settings[key];
    const found = lookUp(key, setting, sources);
    if (found !== null) origins.set(key, found.origin);
    const parsed = found === null ? null : setting.schema.safeParse(found.raw);
    const usual = setting.default === null ? null : setting.schema.parse(setting.default);
    values[key] = parsed?.success ? parsed.data : usual;
    if (found !== null && parsed?.success === false) {
      const expected = parsed.error.issues[0]?.message ?? 'something else';
      const problem = setting.secret ? `expected ${expected}` : unexpected(found.raw, expected);
      mistakes.push({ key, where: found.origin.where, problem });
    }
  }
  return { values: values as SettingValues, origins, mistakes };
}

function lookUp(
  key: SettingKey,
  setting: Setting,
  { flags, env, file }: SettingSources,
): { readonly raw: unknown; readonly origin: SettingOrigin } | null {
  const flag = setting.flag === null ? undefined : flags[flagName(setting.flag)];
  if (flag !== undefined && setting.flag !== null) {
    return { raw: flag, origin: { rank: 0, where: setting.flag.split(' ')[0] ?? setting.flag } };
  }
  // Compose files and charts pass an empty variable for a setting that is not set.
  const variable = env[setting.env];
  if (variable !== undefined && variable !== '')
    return { raw: variable, origin: { rank: 1, where: setting.env } };
  const written = file.values[key];
  if (written !== undefined && written !== null)
    return { raw: written, origin: { rank: 2, where: file.where([key]) } };
  return null;
}

/**
 * Keys and variables that nobody reads, because they are misspelt. Their values stay unseen.
 * @param named variables that feeds name
 */
export function findUnknown({ env, file }: SettingSources, named: readonly string[] = []): Mistake[] {
  const mistakes: Mistake[] = [];
  const known = [...settingKeys, 'feeds', 'deliveries'];
  for (const key of Object.keys(file.values)) {
    if (known.includes(key)) continue;
    mistakes.push(mistakeIn(file, [key], `is not a setting${meantOrKnown(key, known)}`));
  }
  const variables = [CONFIG_VARIABLE, ...settingKeys.map((key) => settings[key].env)];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value === '') continue;
    // Only variables that resemble a setting: Kubernetes itself sets HIGHWATER_SERVICE_HOST, KAFKA_PORT and the like.
    if (!/^(HIGHWATER|KAFKA|SCHEMA_REGISTRY)_/.test(name) || variables.includes(name) || named.includes(name))
      continue;
    const near = didYouMean(name, variables);
    if (near !== null)
      mistakes.push({ key: name, where: 'environment', problem: `is not a setting; did you mean ${near}?` });
  }
  return mistakes;
}

/** Whether a mistake is, or was meant to be, about one of these settings. The file itself and the log count as all of them. */
export function concerns({ key }: Mistake, used: readonly SettingKey[]): boolean {
  if (key === 'config') return true;
  const meant = didYouMean(
    key,
    settingKeys.flatMap((one) => [one, settings[one].env]),
  );
  return used.some((one) => key === one || meant === one || meant === settings[one].env);
}

/** Nothing of a shorter one, which is refused, unseen; hiding it would hide most of the error as well. */
export function hiddenSecret(value = ''): string[] {
  return value.trim().length < leastSecretCharacters ? [] : [value, value.trim()];
}

/**
 * The parts of an environment that nobody may see, whether its settings are right or not: secrets, and passwords in
 * addresses.
 */
export function environmentSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  const found = settingKeys.flatMap((key) => {
    const value = env[settings[key].env] ?? '';
    if (settings[key].secret) return hiddenSecret(value);
    // A password may stand in front of an @, though it must not.
    return /(Url|Brokers)$/.test(key) ? addressPasswords(value) : [];
  });
  return [...found, ...proxyPasswords(env)].filter((one) => one !== '');
}
