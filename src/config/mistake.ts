import { HighwaterError } from '../errors';
import type { Redact } from '../secrets/redaction';

export interface Mistake {
  /** `pollInterval`, `feeds.ipos.pageSize`. */
  readonly key: string;
  /** Where it was set: a flag, a variable, a file with its line; null when it was not set at all. */
  readonly where: string | null;
  /** The mistake, for people. */
  readonly problem: string;
}

/** One error with every mistake, each on its line. */
export function configError(mistakes: readonly Mistake[], redact: Redact): HighwaterError {
  const count = mistakes.length === 1 ? 'One setting is wrong' : `${mistakes.length} settings are wrong`;
  const lines = mistakes.map(({ key, where, problem }) =>
    redact(`  ${key}${where === null ? '' : ` (${where})`}: ${problem}`),
  );
  return new HighwaterError('CONFIG_INVALID', `${count}:\n${lines.join('\n')}`);
}

/** A value for an error: short, and only the parts of an address that cannot hold a password or token. */
export function shown(value: unknown): string {
  const bare = (_: string, one: unknown) => (typeof one === 'string' ? bareAddress(one) : one);
  const json = JSON.stringify(value, bare) ?? String(value);
  const clean = json.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
  return clean.length > 80 ? `${clean.slice(0, 80)}…` : clean;
}

export function unexpected(value: unknown, expected: string): string {
  return `found ${shown(value)}, expected ${expected}`;
}

/** What stands before an @ may be a password, what stands behind ? or # a token, also where the address is broken. */
function bareAddress(value: string): string {
  return value.replace(/^.*@/s, '…@').replace(/([?#]).*$/s, '$1…');
}
