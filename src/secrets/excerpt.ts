import type { Redact } from './redaction';

/**
 * The beginning of a foreign text, for one line of an error. Secrets are removed before it is cut, because half a token would not
 * be recognised. Control and format characters become spaces.
 */
export function excerpt(text: string, redact: Redact, maxCharacters = 120): string {
  const clean = redact(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  const characters = Array.from(clean.slice(0, maxCharacters * 2 + 2));
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join('')}…` : clean;
}
