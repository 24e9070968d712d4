import type { Interruption } from '../process/this-process';
import { heightOf, type Output, widthOf } from './terminal';
import { cellsIn, painted, type Span } from './text';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/**
 * Lines at the end of a terminal that are drawn over again: progress, or a table that keeps itself up to date.
 * Not `log-update`: it erases before it writes (flicker), needs three writes for a line above, leaves rests when the terminal
 * becomes narrower, and for the cursor it patches `process.emit` and writes to stderr whatever the stream.
 * @param stream a terminal that can be redrawn (`canRedraw`)
 */
export function liveRegion(stream: Output, color: boolean, beforeExit: Interruption['beforeExit']) {
  let shown: readonly (readonly Span[])[] = [];
  /** Cells of the lines as they stand there. */
  let drawn: readonly number[] = [];
  let isOpen = false;
  // However the process ends, its terminal has a cursor afterwards.
  beforeExit(() => {
    if (isOpen) stream.write(SHOW_CURSOR);
  });

  // Each frame is one write, so that nothing else comes in between.
  function toFirstLine(): string {
    const width = widthOf(stream);
    // A terminal that has become narrower since has folded them.
    const rows = drawn.reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / width)), 0);
    return rows === 0 ? '\r' : `\u001b[${rows}A\r`;
  }
  function frame(): string {
    // The last column stays free: some terminals fold there already.
    const width = widthOf(stream) - 1;
    const lines = shown.slice(0, Math.max(1, heightOf(stream) - 1));
    drawn = lines.map((line) => Math.min(width, cellsIn(line)));
    return lines.map((line) => `${painted(line, width, color)}${CLEAR_LINE_END}\n`).join('') + CLEAR_BELOW;
  }
  function open(): string {
    if (isOpen) return '';
    isOpen = true;
    return HIDE_CURSOR;
  }

  return {
    /** Replaces the shown lines. Lines that do not fit the terminal are cut. */
    show(lines: readonly (readonly Span[])[]): void {
      shown = lines;
      if (lines.length === 0 && drawn.length === 0) return;
      stream.write(open() + toFirstLine() + frame());
    },
    /** Writes permanent lines above the shown lines. */
    above(text: string): void {
      if (!isOpen) stream.write(text);
      else stream.write(`${toFirstLine()}${CLEAR_BELOW}${text}${frame()}`);
    },
    /** Gives the terminal back, with the last lines on it or without. May be called again. */
    end(what: 'keep' | 'clear'): void {
      if (!isOpen) return;
      isOpen = false;
      stream.write((what === 'clear' ? toFirstLine() + CLEAR_BELOW : '') + SHOW_CURSOR);
      [shown, drawn] = [[], []];
    },
  };
}
