import { cellsOf } from './cells';

/**
 * Words in lines of at most `width` cells. A word that is wider than a line is broken: an address must not be lost.
 * @returns at least one line
 */
export function wrapped(text: string, width: number): string[] {
  const room = Math.max(1, width);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (cellsOf(longer) <= room) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line.trimEnd());
    line = '';
    for (const character of word) {
      if (line !== '' && cellsOf(line + character) > room) {
        lines.push(line);
        line = '';
      }
      line += character;
    }
  }
  return [...lines, line];
}
