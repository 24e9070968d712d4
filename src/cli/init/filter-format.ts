import { type FilterFormat, filterFormats } from '../../feeds/definition';
import { writeTime } from '../../feeds/time-format';
import type { Answer, AskEndpoint, FieldsOfRows } from './infer-paging';
import { type JsonObject, updateOf } from './row-members';

const DAY = 86_400;

/**
 * How a filter that the user named takes a time: as rows have it, or else in the first form by which it leaves rows out, and shows others.
 * As rows have it, too, if no form does so.
 */
export async function findFilterFormat(
  parameter: string,
  first: Answer,
  { updatedField, updatedFormat }: FieldsOfRows,
  ask: AskEndpoint,
): Promise<FilterFormat> {
  const times = (rows: readonly JsonObject[]) =>
    rows.map((row) => updateOf(row, updatedField, updatedFormat));
  const seen = times(first.rows).sort((a, b) => a - b);
  const middle = Math.floor(seen[Math.floor(seen.length / 2)] ?? 0);
  for (const format of new Set([updatedFormat, ...filterFormats])) {
    const least = format === 'date' ? middle - (middle % DAY) : middle;
    // Else all rows would be shown by any filter.
    if (!seen.some((time) => time < least)) continue;
    const shown = times((await ask({ [parameter]: writeTime(middle, format) })).rows);
    if (shown.length > 0 && shown.every((time) => time >= least)) return format;
  }
  return updatedFormat;
}
