/** Rows of a table for `it.each`, each behind its name. */
export function namedRows<const Row extends readonly unknown[]>(
  rows: Readonly<Record<string, Row>>,
): [name: string, ...Row][] {
  return Object.entries(rows).map(([name, row]) => [name, ...row]);
}
