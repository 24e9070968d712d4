import { unescape as decodePercent } from 'node:querystring';

/**
 * Passwords of the proxies in the environment, both as written and decoded. A proxy's answer could repeat them.
 */
export function proxyPasswords(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    /^(https?|all)_proxy$/i.test(name) && value !== undefined ? addressPasswords(value) : [],
  );
}

/** A user without a password counts as a token if it is at least this long. */
const leastTokenLength = 12;

/** Also for addresses without a scheme, which proxies may have, and for malformed ones. */
export function addressPasswords(address: string): string[] {
  const [, login] = /^(?:[^/?#]*:\/\/|\/\/)?(.+)@/s.exec(address) ?? [];
  if (login === undefined) return [];
  const colon = login.indexOf(':');
  if (colon < 0 && login.length < leastTokenLength) return [];
  const written = login.slice(colon + 1);
  const parsed = URL.canParse(address) ? new URL(address).password : '';
  return [...new Set([written, decodePercent(written), parsed])].filter((one) => one !== '');
}
