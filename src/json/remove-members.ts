import { isJsonObject } from './exact-number';
import { jsonText } from './json-text';
import { TEXT_NOT_KEPT, UnreadableRow, wholeOf } from './unreadable-row';

/**
 * Removes the members at dotted paths from parsed JSON, in place. A path leads through lists: `lines.note` is the `note` of each element.
 * Names may have dots themselves (`@odata.note`): every member is removed whose names, joined by dots, are the path.
 * @returns the paths that led to a member
 */
export function removeMembers(value: unknown, paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.filter((path) => removeAt(value, path)));
}

/** Keeps the places that are left in a list and does not call itself: lists may be nested deeper than the stack. */
function removeAt(value: unknown, path: string): boolean {
  let isFound = false;
  const left: (readonly [holder: unknown, path: string])[] = [[value, path]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [holder, rest] = next;
    if (Array.isArray(holder)) for (const item of holder) left.push([item, rest]);
    if (!isJsonObject(holder)) continue;
    if (Object.hasOwn(holder, rest)) isFound = delete holder[rest];
    for (let dot = rest.indexOf('.'); dot >= 0; dot = rest.indexOf('.', dot + 1)) {
      const name = rest.slice(0, dot);
      if (Object.hasOwn(holder, name)) left.push([holder[name], rest.slice(dot + 1)]);
    }
  }
  return isFound;
}

/**
 * Rows without the members at these paths, and the paths that led to a member. Only hash and length are kept of a row that is not an
 * object, since it cannot be cleaned.
 */
export function withoutMembers(
  rows: readonly unknown[],
  paths: readonly string[],
): { readonly rows: readonly unknown[]; readonly omitted: ReadonlySet<string> } {
  const parsed = rows.filter((row) => isJsonObject(row) && !(row instanceof UnreadableRow));
  const omitted = removeMembers(parsed, paths);
  const reason = `the row is not an object${TEXT_NOT_KEPT}`;
  const kept = (row: unknown) =>
    isJsonObject(row) ? row : new UnreadableRow(undefined, undefined, reason, '', wholeOf(jsonText(row)));
  return { rows: rows.map(kept), omitted };
}
