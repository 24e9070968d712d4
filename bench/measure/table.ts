export interface Column {
  readonly head: string;
  readonly align: 'left' | 'right';
}

const GAP = '  ';

/** Rows under their heads, as wide as they are: figures of a column stand under each other. A row of one cell is a heading. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const full = rows.filter((row) => row.length > 1);
  const widths = columns.map(({ head }, i) => Math.max(head.length, ...full.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    (row.length === 1
      ? row[0]!
      : row.map((cell, i) => pad(cell, widths[i]!, columns[i]!.align)).join(GAP)
    ).trimEnd();
  return [columns.map(({ head }) => head), ...rows].map((row) => `${line(row)}\n`).join('');
}

function pad(text: string, width: number, align: Column['align']): string {
  return align === 'right' ? text.padStart(width) : text.padEnd(width);
}
