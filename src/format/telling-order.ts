import { valueAt } from '../avro/path';

type Fields = Readonly<Record<string, unknown>>;

const LONG_TEXT = 40;

/**
 * Changed fields in the order in which a person wants to see them: the telling ones first, then as the schema has them, long
 * texts last.
 */
export function inTellingOrder(
  fields: readonly string[],
  telling: readonly string[],
  before: Fields,
  after: Fields,
): readonly string[] {
  const rank = (field: string): number => {
    const at = telling.indexOf(field);
    if (at >= 0) return at;
    const isLong = [before, after].some((image) => String(valueAt(image, field) ?? '').length > LONG_TEXT);
    return telling.length + (isLong ? 1 : 0);
  };
  return fields
    .map((field) => [rank(field), field] as const)
    .sort(([a], [b]) => a - b)
    .map(([, field]) => field);
}
