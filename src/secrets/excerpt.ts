import type { Redact } from './redaction';

/**
 * The beginning of somebody else's text, fit for one line of an error: secrets are removed before it is cut (a half token
 * would not be recognised), control and format characters become spaces.
 */
export function excerpt(text: string, redact: Redact, maxCharacters = 120): string {
  const clean = redact(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  const characters = Array.from(clean.slice(0, maxCharacters * 2 + 2));
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join('')}…` : clean;
}
