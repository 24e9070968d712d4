import { cellsOf, clip } from './cells';
import { type Span, span } from './spans';

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
