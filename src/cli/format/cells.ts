/** Text as a terminal shows it, in cells: the width that alignment and clipping go by. */

export { harmless } from '../../format/harmless';

// Closer than a table of East Asian widths, without one: what a terminal draws two cells wide in practice.
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uFF01-\uFF60]/u;
const zero = /[\p{Mn}\p{Me}\p{Cf}]/u;

export function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += cellOf(character);
  return cells;
}

/** At most `width` cells, the last one an ellipsis where something was left out. */
export function clip(text: string, width: number): string {
  if (cellsOf(text) <= width) return text;
  let kept = '';
  let cells = 0;
  for (const character of text) {
    cells += cellOf(character);
    if (cells > width - 1) break;
    kept += character;
  }
  return width < 1 ? '' : `${kept.trimEnd()}…`;
}

/** Exactly `width` cells. */
export function column(text: string, width: number): string {
  const clipped = clip(text, width);
  return clipped + ' '.repeat(Math.max(0, width - cellsOf(clipped)));
}

function cellOf(character: string): 0 | 1 | 2 {
  if (character >= ' ' && character <= '~') return 1;
  if (zero.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}
