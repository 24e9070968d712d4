/** Replaces every secret in a text. */
export type Redact = (text: string) => string;

const mask = '[redacted]';
// Catches a token that somebody else shortened while echoing the address, which no exact match would.
const tokenParameter = /(\b|%3F|%26)(token(?:=|%3D))(?!\[redacted\])[^&\s"'<>\\]+/gi;
const htmlEntities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };

/**
 * Finds the secrets plain, percent-encoded (any mix), escaped for JSON or HTML, in base64 and base64url at any alignment
 * (so also inside `user:password`), and the value of any `token=` query parameter.
 */
export function createRedactor(secrets: readonly string[]): Redact {
  const patterns = [...new Set(secrets)]
    .filter((secret) => secret !== '')
    // The longest first: a secret may be the beginning of another.
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [anySpelling(secret), ...base64Cores(secret).map(anySpelling)]);
  const known = patterns.length === 0 ? null : new RegExp(patterns.join('|'), 'g');
  return (text) => {
    const withoutKnown = known === null ? text : text.replace(known, mask);
    return withoutKnown.replace(tokenParameter, `$1$2${mask}`);
  };
}

/** A pattern that matches each character as itself or in any of its escapes. */
function anySpelling(secret: string): string {
  return Array.from(secret, (character) => `(?:${spellings(character).join('|')})`).join('');
}

function spellings(character: string): string[] {
  const percent = Array.from(Buffer.from(character), (byte) => `%${caseless(hex(byte, 2))}`).join('');
  const json = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\\\u${caseless(hex(unit, 4))}`)
    .join('');
  const found = [escapePattern(character), percent, json, `&#${character.codePointAt(0)};`];
  if (character === ' ') found.push('\\+');
  if (character === '"' || character === '\\' || character === '/') {
    found.unshift(`\\\\${escapePattern(character)}`);
  }
  const entity = htmlEntities[character];
  if (entity !== undefined) found.unshift(`&${entity};`);
  return found;
}

/**
 * The characters of the base64 form that do not depend on what stands before and after, for each of the three
 * alignments. Short secrets have too few of them to tell from chance, and are looked for whole.
 */
function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const whole = bytes.toString('base64').replace(/=+$/, '');
  const cores = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const shared = (shift + bytes.length) % 3 === 0 ? 0 : 1;
    return encoded.slice(shift === 0 ? 0 : shift + 1, encoded.length - shared);
  });
  const longEnough = [whole, ...cores.filter((core) => core.length >= 8)];
  return longEnough.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function caseless(digits: string): string {
  return digits.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

function escapePattern(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
