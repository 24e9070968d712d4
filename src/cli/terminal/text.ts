import pc from 'picocolors';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

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

export type Style =
  | 'plain'
  | 'dim'
  | 'bold'
  | 'red'
  | 'green'
  | 'yellow'
  | 'blue'
  | 'cyan'
  | 'magenta'
  | 'alarm';

/** A stretch of text in one style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

export function span(text: string, style: Style = 'plain'): Span {
  return { text, style };
}

export function cellsIn(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + cellsOf(text), 0);
}

/** The spans as one line of at most `width` cells; colour costs no width. */
export function painted(spans: readonly Span[], width: number, color: boolean): string {
  const paint = painter(color);
  let left = width;
  let line = '';
  for (const { text, style } of spans) {
    const fits = clip(text, left);
    if (fits !== '') line += paint(fits, style);
    left -= cellsOf(fits);
    if (fits !== text) break;
  }
  return line;
}

export function painter(color: boolean): (text: string, style: Style) => string {
  const colors = pc.createColors(color);
  return (text, style) => {
    if (style === 'plain') return text;
    return style === 'alarm' ? colors.bold(colors.red(text)) : colors[style](text);
  };
}

/** How a record reads: a short label, and what there is to say. */
export interface LineText {
  readonly label: Span;
  readonly spans: readonly Span[];
}

export interface Column {
  readonly head: string;
  /** Figures stand under each other. */
  readonly alignRight?: true;
  /** Where there is no room it is cut to no less than this; not at all when left out. */
  readonly least?: number;
  /** Columns go when cutting is not enough, the highest of these first; those without it stay. */
  readonly leaves?: number;
}

const GAP = 2;

/** Rows under their heads, in a terminal of so many cells: first columns are cut, then left out, so that no line is folded. */
export function fittedTable(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  width: number,
): Span[][] {
  const natural = columns.map(({ head }, i) =>
    Math.max(cellsOf(head), ...rows.map((row) => cellsOf(row[i]!.text))),
  );
  const places = fittingColumns(columns, natural, width);
  const line = (row: readonly Span[]): Span[] =>
    places.map(({ at, cells }, n) => {
      const { text, style } = row[at]!;
      const clipped = clip(text, cells);
      const fill = ' '.repeat(cells - cellsOf(clipped));
      const filled = columns[at]!.alignRight ? fill + clipped : clipped + fill;
      return span(n === places.length - 1 ? filled.trimEnd() : filled + ' '.repeat(GAP), style);
    });
  return [line(columns.map(({ head }) => span(head, 'dim'))), ...rows.map(line)];
}

type FittedColumn = Column & { readonly at: number; readonly cells: number };

function fittingColumns(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): readonly FittedColumn[] {
  let places = columns.map((column, at): FittedColumn => ({ ...column, at, cells: natural[at]! }));
  const spareOf = ({ cells, least = cells }: FittedColumn) => Math.max(0, cells - least);
  for (;;) {
    let over = places.reduce((sum, { cells }) => sum + cells + GAP, -GAP) - width;
    if (over <= 0) return places;
    const spare = places.reduce((sum, place) => sum + spareOf(place), 0);
    if (spare >= over) {
      // From the last column on.
      const cut = places.toReversed().map((place) => {
        const less = Math.min(over, spareOf(place));
        over -= less;
        return { ...place, cells: place.cells - less };
      });
      return cut.reverse();
    }
    const last = Math.max(0, ...places.map(({ leaves = 0 }) => leaves));
    if (last === 0) return places;
    places = places.filter(({ leaves }) => leaves !== last);
  }
}

/** The same as text of whole lines. */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  { width, color }: { width(): number; readonly color: boolean },
): string {
  const lines = fittedTable(columns, rows, width());
  return lines.map((line) => `${painted(line, width(), color)}\n`).join('');
}
