import { unescape as decodePercent } from 'node:querystring';

/**
 * Passwords of the proxies that requests go through, as they stand in their variables and as they are. They could come back in
 * what a proxy answers.
 */
export function proxyPasswords(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    /^(https?|all)_proxy$/i.test(name) && value !== undefined ? addressPasswords(value) : [],
  );
}

/** A user without a password may be a token, when it is as long as one. */
const leastTokenLength = 12;

/** Also of addresses without a scheme, which is how proxies may be named, and of broken ones. */
export function addressPasswords(address: string): string[] {
  const [, login] = /^(?:[^/?#]*:\/\/|\/\/)?(.+)@/s.exec(address) ?? [];
  if (login === undefined) return [];
  const colon = login.indexOf(':');
  if (colon < 0 && login.length < leastTokenLength) return [];
  const written = login.slice(colon + 1);
  const parsed = URL.canParse(address) ? new URL(address).password : '';
  return [...new Set([written, decodePercent(written), parsed])].filter((one) => one !== '');
}
