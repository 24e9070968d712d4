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

interface FittedColumn {
  readonly at: number;
  readonly cells: number;
}

function fittingColumns(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): FittedColumn[] {
  let places = columns.map((_, at): FittedColumn => ({ at, cells: natural[at]! }));
  for (;;) {
    const over = places.reduce((sum, { cells }) => sum + cells + GAP, -GAP) - width;
    if (over <= 0) return places;
    const cut = cutBy(over, places, columns);
    if (cut !== null) return cut;
    const [leaving] = places
      .filter(({ at }) => columns[at]!.leaves !== undefined)
      .sort((a, b) => columns[b.at]!.leaves! - columns[a.at]!.leaves!);
    if (leaving === undefined) return places;
    places = places.filter((place) => place !== leaving);
  }
}

/** From the last column on; null when that is not enough. */
function cutBy(
  over: number,
  places: readonly FittedColumn[],
  columns: readonly Column[],
): FittedColumn[] | null {
  let left = over;
  const cut = places
    .slice()
    .reverse()
    .map(({ at, cells }) => {
      const spare = Math.min(left, Math.max(0, cells - (columns[at]!.least ?? cells)));
      left -= spare;
      return { at, cells: cells - spare };
    });
  return left > 0 ? null : cut.reverse();
}
