import { addressPasswords, proxyPasswords } from '../secrets/proxy-passwords';
import { settingKeys, settings } from './settings';
import { leastSecretCharacters } from './value-types';

/** A shorter one is refused, unseen; hiding it would hide most of the error as well. */
const isHidden = (secret: string) => secret.trim().length >= leastSecretCharacters;

/**
 * The parts of an environment that nobody may see, whether its settings are right or not: secrets, and passwords in
 * addresses.
 */
export function environmentSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  const found = settingKeys.flatMap((key) => {
    const value = env[settings[key].env] ?? '';
    if (settings[key].secret) return isHidden(value) ? [value, value.trim()] : [];
    // A password may stand in front of an @, though it must not.
    return /(Url|Brokers)$/.test(key) ? addressPasswords(value) : [];
  });
  return [...found, ...proxyPasswords(env)].filter((one) => one !== '');
}
