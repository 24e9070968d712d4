/** Two texts as they fit a line. */
export interface Difference {
  readonly before: string;
  readonly after: string;
}

/** Number of common letters that are kept before the first difference. */
const CONTEXT = 8;

/**
 * Shortens two long texts to begin shortly before their first difference. Otherwise a line would show their common beginning twice.
 * @param most letters; texts up to it stay as they are
 */
export function difference(before: string, after: string, most = 26): Difference {
  if (before.length <= most && after.length <= most) return { before, after };
  const old = [...before];
  const now = [...after];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same += 1;
  // At the beginning of a word, if there is one.
  const space = old.slice(0, same).lastIndexOf(' ', same - CONTEXT);
  const from = same <= CONTEXT ? 0 : space < 0 ? same - CONTEXT : space + 1;
  const cut = (letters: readonly string[]) => {
    const text = letters
      .slice(from, from + most)
      .join('')
      .trimEnd();
    return `${from > 0 ? '…' : ''}${text}${letters.length > from + most ? '…' : ''}`;
  };
  return { before: cut(old), after: cut(now) };
}
