/** Text as a terminal shows it, in cells: the width that alignment and clipping go by. */

export { harmless } from '../../format/harmless';

// What Unicode calls wide or fullwidth (East Asian Width), by scripts and blocks; a little too much of it costs a space, too
// little would fold a line.
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Emoji_Presentation}\u2329\u232A\u2E80-\u303E\u3040-\uA4CF\uAC00-\uD7A3\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]/u;
const zero = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Format characters that are drawn, and the one that makes an emoji of a narrow sign. */
const drawn = /\u00AD|[\u0600-\u0605]|\u06DD|\u070F|\uFE0F/u;

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
  if (zero.test(character)) return drawn.test(character) ? 1 : 0;
  return wide.test(character) ? 2 : 1;
}
