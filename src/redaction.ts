/** Replaces every secret in a text. */
export type Redact = (text: string) => string;

const mask = '[redacted]';
// Catches a token that somebody else shortened while echoing the address, which no exact match would.
const tokenParameter = /(\b|%(?:25)*(?:3F|26))(token(?:=|%(?:25)*3D))(?!\[redacted\])[^&\s"'<>\\]+/gi;
const htmlEntities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };

/** Of a character in UTF-16: a zero, or the space that stands for it where control characters are taken out. */
const secondByte = '(?:\\0| |\\\\+u0000|%(?:25)*00)?';

/** The digits of fewer may stand in a text by chance. */
const leastBytes = 6;

/**
 * Finds the secrets plain, percent-encoded (any mix, once or several times), escaped for JSON or HTML, with slashes reversed,
 * in hexadecimal, in base64 and base64url at any alignment (so also inside `user:password`), and the value of any `token=`
 * query parameter.
 */
export function createRedactor(secrets: readonly string[]): Redact {
  const withoutKnown = redactKnown(secrets);
  return (text) => withoutKnown(text).replace(tokenParameter, `$1$2${mask}`);
}

/** As `createRedactor`, and leaves parameters alone that hold none of the secrets. */
export function redactKnown(secrets: readonly string[]): Redact {
  const patterns = [...new Set(secrets)]
    .filter((secret) => secret !== '')
    // The longest first: a secret may be the beginning of another.
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [
      anySpelling(secret),
      ...[...new Set([secret, encodeURIComponent(secret.toWellFormed())])]
        .flatMap(base64Cores)
        .map(anyBase64),
      ...asBytes(secret),
    ]);
  const known = patterns.length === 0 ? null : new RegExp(patterns.join('|'), 'g');
  return (text) => (known === null ? text : text.replace(known, mask));
}

/** A pattern that matches each character as itself or in any of its escapes, also in UTF-16 that was taken for UTF-8. */
function anySpelling(secret: string): string {
  return Array.from(secret, (character) => `(?:${spellings(character).join('|')})`).join(secondByte);
}

function spellings(character: string): string[] {
  const percent = Array.from(Buffer.from(character), (byte) => `%(?:25)*${caseless(hex(byte, 2))}`).join('');
  const json = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\\\+u${caseless(hex(unit, 4))}`)
    .join('');
  const codePoint = character.codePointAt(0)!;
  const html = `&#(?:${codePoint}|[xX]0*${caseless(hex(codePoint, 2))});`;
  const found = [escapePattern(character), percent, json, html];
  if (character === ' ') found.push('\\+', '%(?:25)*2[bB]');
  // JSON inside JSON has several backslashes. Quotes are escaped where a text is printed as JavaScript, too.
  if (character === '"' || character === "'" || character === '/') {
    found.unshift(`\\\\+${escapePattern(character)}`);
  }
  if (character === '\\') found.unshift('\\\\+');
  if (character === '/') found.push('\\\\+');
  const entity = htmlEntities[character];
  if (entity !== undefined) found.unshift(`&${entity};`);
  return found;
}

/** Of both alphabets, with the characters escaped that have escapes: letters and digits have none in practice. */
function anyBase64(text: string): string {
  return text
    .replaceAll('+', '(?:[-+]|%(?:25)*2[bB]|\\\\+u002[bB])')
    .replaceAll('/', '(?:\\\\*[/_]|%(?:25)*2[fF]|\\\\+u002[fF])');
}

/** As `toString('hex')` has it, with something between the bytes (`74 6f`, `74:6f`, `\x74\x6f`), and as a buffer in JSON: `116,111`. */
function asBytes(secret: string): string[] {
  const bytes = Array.from(Buffer.from(secret));
  if (bytes.length < leastBytes) return [];
  return [bytes.map((byte) => caseless(hex(byte, 2))).join('(?:[ :,]|\\\\+x)?'), bytes.join(',\\s*')];
}

/**
 * The characters of the base64 form that do not depend on what stands before and after, for each of the three
 * alignments. Short secrets have too few of them to tell from chance, and are looked for whole.
 */
export function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const whole = bytes.toString('base64').replace(/=+$/, '');
  const cores = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const shared = (shift + bytes.length) % 3 === 0 ? 0 : 1;
    return encoded.slice(shift === 0 ? 0 : shift + 1, encoded.length - shared);
  });
  return [whole, ...cores.filter((core) => core.length >= 8)];
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
