import { addressPasswords, proxyPasswords } from '../proxy-passwords';
import { type SettingKey, settingKeys, settings } from './settings';

/** Where a password may stand in front of an @, though it must not. */
const addresses: readonly SettingKey[] = ['apiUrl', 'schemaRegistryUrl', 'kafkaBrokers'];

/** What nobody may see of an environment, whether its settings are right or not: secrets, and passwords in addresses. */
export function environmentSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  const found = settingKeys.flatMap((key) => {
    const value = env[settings[key].env] ?? '';
    if (settings[key].secret) return [value, value.trim()];
    return addresses.includes(key) ? addressPasswords(value) : [];
  });
  return [...found, ...proxyPasswords(env)].filter((one) => one !== '');
}
