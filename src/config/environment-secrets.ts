import { addressPasswords, proxyPasswords } from '../secrets/proxy-passwords';
import { settingKeys, settings } from './settings';
import { leastSecretCharacters } from './value-types';

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
