import type { WriteStream } from 'node:tty';
import { cellsIn, painted, type Span } from './format/spans';
import { heightOf, widthOf } from './terminal';

/** Lines at the end of a terminal that are drawn over again: progress, or a table that keeps itself up to date. */
export interface LiveRegion {
  /** Takes the place of what is shown. What the terminal has no room for is cut. */
  show(lines: readonly (readonly Span[])[]): void;
  /** Writes whole lines that stay, above what is shown. */
  above(text: string): void;
  /** Gives the terminal back, with the last lines on it or without. May be called again. */
  end(what: 'keep' | 'clear'): void;
}

type Screen = Pick<WriteStream, 'write' | 'columns' | 'rows' | 'isTTY'>;

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** @param stream a terminal that can be redrawn (`canRedraw`) */
export function liveRegion(stream: Screen, color: boolean): LiveRegion {
  let shown: readonly (readonly Span[])[] = [];
  /** Cells of the lines as they stand there. */
  let drawn: readonly number[] = [];
  let isOpen = false;

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
    // However the process ends, its terminal has a cursor afterwards.
    process.once('exit', showCursor);
    return HIDE_CURSOR;
  }
  function showCursor(): void {
    stream.write(SHOW_CURSOR);
  }

  return {
    show(lines) {
      shown = lines;
      if (lines.length === 0 && drawn.length === 0) return;
      stream.write(open() + toFirstLine() + frame());
    },
    above(text) {
      if (!isOpen) stream.write(text);
      else stream.write(`${toFirstLine()}${CLEAR_BELOW}${text}${frame()}`);
    },
    end(what) {
      if (!isOpen) return;
      isOpen = false;
      process.off('exit', showCursor);
      stream.write((what === 'clear' ? toFirstLine() + CLEAR_BELOW : '') + SHOW_CURSOR);
      [shown, drawn] = [[], []];
    },
  };
}
