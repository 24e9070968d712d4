import { isJsonObject } from '../json/exact-number';
import { jsonText } from '../json/json-text';
import { removeMembers } from '../json/remove-members';
import { TEXT_NOT_KEPT, UnreadableRow, wholeOf } from '../json/unreadable-row';
import type { SourcePage } from './source';

/** Rows without the members at these paths. A row without members cannot be cleaned, so nothing of it is kept but hash and length. */
export function withoutMembers(
  rows: readonly unknown[],
  paths: readonly string[],
): Pick<SourcePage, 'rows' | 'omitted'> {
  const parsed = rows.filter((row) => isJsonObject(row) && !(row instanceof UnreadableRow));
  const omitted = removeMembers(parsed, paths);
  const reason = `the row is not an object${TEXT_NOT_KEPT}`;
  const kept = (row: unknown) =>
    isJsonObject(row) ? row : new UnreadableRow(undefined, undefined, reason, '', wholeOf(jsonText(row)));
  return { rows: rows.map(kept), omitted };
}
