/** At most so many characters of a text, made harmless, the last one an ellipsis where something was left out. */
export function shortText(text: string, mostCharacters: number): string {
  // So many units hold one character more than may be shown.
  const beginning = text.slice(0, 2 * mostCharacters + 2);
  const characters = Array.from(harmless(beginning).toWellFormed());
  const isWhole = beginning.length === text.length && characters.length <= mostCharacters;
  return isWhole ? characters.join('') : `${characters.slice(0, mostCharacters - 1).join('')}…`;
}

/** Nothing that a server sent may begin a line, steer a terminal, or turn the reading order of what stands beside it. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');
}
