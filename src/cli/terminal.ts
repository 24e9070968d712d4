type Stream = { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** Of terminals that do not tell their size. */
const USUAL = { columns: 80, rows: 24 };

/** Cells of a line; Infinity where nobody counts them. */
export function widthOf({ isTTY, columns }: Stream): number {
  if (isTTY !== true) return Number.POSITIVE_INFINITY;
  return columns === undefined || columns < 1 ? USUAL.columns : columns;
}

export function heightOf({ rows }: Stream): number {
  return rows === undefined || rows < 1 ? USUAL.rows : rows;
}

/** Whether what is shown can be overwritten: on a terminal that moves its cursor, with somebody before it. */
export function canRedraw({ isTTY }: Stream, { TERM, CI }: NodeJS.ProcessEnv): boolean {
  return isTTY === true && TERM !== 'dumb' && (CI ?? '') === '';
}
