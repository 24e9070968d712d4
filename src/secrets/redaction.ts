/** Replaces every secret in a text. */
export type Redact = (text: string) => string;

const mask = '[redacted]';

/** Matches a query parameter with any value: an exact match misses a token that was shortened when the address was echoed. */
function parameterPattern(name: string): RegExp {
  const start = /^\w/.test(name) ? '\\b|' : '(?<!\\w)|';
  // Letters stay plain, because the pattern is tried at every position of every line.
  const spelled = name.replace(/\W/gu, spelling);
  const value = `(?!\\[redacted\\])[^&\\s"'<>\\\\]+`;
  return new RegExp(`(${start}%(?:25)*(?:3F|26))(${spelled}(?:=|%(?:25)*3D))${value}`, 'gi');
}

/** The characters that writers of HTML escape by name. */
const htmlNames: Readonly<Record<string, string>> = {
  '"': 'quot',
  '&': 'amp',
  "'": 'apos',
  '<': 'lt',
  '>': 'gt',
};

/** JSON inside JSON has several. The number is limited, because a long run would be searched to its end from each position. */
const backslashes = '\\\\{1,16}';

/** HTML inside HTML repeats `amp;`; JSON in ASCII may write `\u0026` for `&`. */
const ampersand = `(?:&|${backslashes}u0026)(?:amp;)*`;

/** Line ends, plain, escaped for JSON or percent-encoded, with the blanks of a folded line after them. */
const lineEnds = /(?:[\r\n]|\\{1,16}(?:[rn]|u000[ad])|%(?:25)*0[ad])+[ \t]*/gi;

/**
 * Finds the secrets plain, percent-encoded (any mix, once or several times), escaped for JSON or HTML, in base64 and base64url at any
 * alignment (so also inside `user:password`), each of them also broken into lines, and the value of any `token=` query parameter.
 * @param secrets the list is followed if it changes
 * @param parameter another query parameter that carries a token
 */
export function createRedactor(secrets: readonly string[], parameter: string | null = null): Redact {
  const withoutKnown = redactKnown(secrets);
  const parameters = [...new Set(['token', parameter ?? 'token'])].map(parameterPattern);
  return (text) =>
    parameters.reduce((clean, pattern) => clean.replace(pattern, `$1$2${mask}`), withoutKnown(text));
}

/** Like `createRedactor`, but leaves parameters alone that hold none of the secrets. */
export function redactKnown(secrets: readonly string[]): Redact {
  let compiled: readonly string[] = [];
  let known: readonly RegExp[] = [];
  return (text) => {
    // A list that has changed holds secrets that were replaced while the program runs.
    if (secrets.length !== compiled.length || secrets.some((secret, i) => secret !== compiled[i])) {
      compiled = [...secrets];
      known = patternsFor(compiled);
    }
    const joined = text.replace(lineEnds, '');
    // First, because the rest of a long token would not be recognised once its beginning is gone.
    const broken = joined === text ? [] : known.filter((one) => joined.search(one) >= 0);
    return known.reduce((rest, one) => rest.replace(one, mask), broken.reduce(replaceBroken, text));
  };
}

function patternsFor(secrets: readonly string[]): RegExp[] {
  // One expression for each secret: with a single large one, V8 searches ten times slower.
  return (
    [...new Set(secrets)]
      .filter((secret) => secret !== '')
      // The longest first: a secret may be the beginning of another.
      .sort((a, b) => b.length - a.length)
      .map((secret) => new RegExp(patternsOf(secret).join('|'), 'g'))
  );
}

/** The characters of bearer tokens (RFC 6750), in any of their escapes. */
const tokenCharacters = `(?:[\\w.~+/=%-]|${backslashes}(?:u[\\da-fA-F]{4}|/)|&#\\w+;)*`;
const [longToken, headLength] = [/^[\w.~+/=-]{257,}$/, 64];

function patternsOf(secret: string): string[] {
  // The pattern of a whole JWT takes a second to compile, or is refused as too large. Its beginning tells enough.
  if (longToken.test(secret))
    return patternsOf(secret.slice(0, headLength)).map((head) => head + tokenCharacters);
  const inBase64 = [...new Set([secret, encodeURIComponent(secret.toWellFormed())])].flatMap(base64Cores);
  return [Array.from(secret, spelling).join(''), ...inBase64.map(anyBase64)];
}

/** Replaces secrets that appear once the lines are joined, together with the line ends within them. */
function replaceBroken(text: string, known: RegExp): string {
  // Position in `text` of each character of the joined text.
  const places: number[] = [];
  let at = 0;
  for (const { 0: end, index } of [...text.matchAll(lineEnds), { 0: '', index: text.length }]) {
    while (at < index) places.push(at++);
    at += end.length;
  }
  let clean = '';
  let copied = 0;
  for (const { 0: match, index } of text.replace(lineEnds, '').matchAll(known)) {
    clean += text.slice(copied, places[index]) + mask;
    copied = places[index + match.length - 1]! + 1;
  }
  return clean + text.slice(copied);
}

/** A pattern that matches a character as itself or in any of its escapes. */
function spelling(character: string): string {
  const bytes = Array.from(Buffer.from(character), (byte) => caseless(hex(byte, 2)));
  const percent = bytes.map((byte) => `%(?:25)*${byte}`).join('');
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `u${caseless(hex(unit, 4))}`)
    .join(backslashes);
  const codePoint = character.codePointAt(0)!;
  const plain = escapePattern(character);
  // Quotes are also escaped when a text is printed as JavaScript.
  const escaped = /["'/]/.test(character) ? `(?:${units}|${plain})` : units;
  const name = htmlNames[character];
  const named = name === undefined ? '' : `|${caseless(name)}`;
  const html = `${ampersand}(?:#(?:0*${codePoint}|[xX]0*${caseless(codePoint.toString(16))})${named});`;
  const blank = character === ' ' ? '|\\+|%(?:25)*2[bB]' : '';
  // A backslash may be escaped any number of times. A spelling that begins like another must come before it.
  return `(?:${backslashes}${escaped}|${percent}|${html}|${character === '\\' ? backslashes : plain}${blank})`;
}

const base64Spellings: Readonly<Record<string, string>> = {
  '+': `(?:[-+]|%(?:25)*2[bB]|${backslashes}u002[bB]|${ampersand}#(?:43|[xX]2[bB]);)`,
  '/': `(?:[/_]|${backslashes}(?:/|u002[fF])|%(?:25)*2[fF]|${ampersand}#(?:47|[xX]2[fF]);)`,
};

/** Matches both alphabets. Only `+` and `/` are ever escaped in practice. */
function anyBase64(text: string): string {
  return Array.from(text, (character) => base64Spellings[character] ?? character).join('');
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

function caseless(letters: string): string {
  return letters.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

function escapePattern(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
