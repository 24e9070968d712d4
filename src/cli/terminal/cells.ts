import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

export { harmless } from '../../format/harmless';

/** Width of a text on a terminal, in cells. */
export function cellsOf(text: string): number {
  return stringWidth(text);
}

/**
 * At most `width` cells, the last one an ellipsis if something was left out. Not `cli-truncate`: the versions that CommonJS
 * can load count an emoji as one cell, and return lines that are too wide.
 */
export function clip(text: string, width: number): string {
  if (cellsOf(text) <= width) return text;
  let kept = '';
  let cells = 0;
  for (const character of text) {
    cells += cellsOf(character);
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

/** Words in lines of at most `width` cells, at least one line. A word that is wider than a line is broken, never cut. */
export function wrapped(text: string, width: number): string[] {
  return wrapAnsi(text, Math.max(1, width), { hard: true }).split('\n');
}
