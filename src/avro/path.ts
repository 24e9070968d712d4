/** Value at a dotted path of a decoded record (`security.symbol`); null if any part of the path is null. */
export function valueAt(record: Readonly<Record<string, unknown>> | null, path: string): unknown {
  let value: unknown = record;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value ?? null;
}
