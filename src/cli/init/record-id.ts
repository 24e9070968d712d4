import { isDeepStrictEqual } from 'node:util';
import { everyName, type IdField, idCandidates, type JsonObject, keyOf, SURE_SCORE } from './row-members';

/** Members that say of which kind a record is: in a list of several kinds, ids may count for each of them. */
const kindName =
  /^[@_]?([a-z]+[_-])?(type|kind|class|object|entity|model|module|resource|collection|item|locale|language)$|[a-z](Type|Kind|Class|Entity|Model)$/i;

/** Whether these members name each row, and no two by the same id. */
export function isIdOf(rows: readonly JsonObject[], idField: IdField): boolean {
  return rows.every((row) => keyOf(row, idField) !== null) && !repeats(rows, idField);
}

/** Whether different rows of one answer have the same id. */
export function repeats(rows: readonly JsonObject[], idField: IdField): boolean {
  const seen = new Map<string, JsonObject>();
  return rows.some((row) => {
    const key = keyOf(row, idField);
    if (key === null) return false;
    const before = seen.get(key);
    seen.set(key, row);
    return before !== undefined && !isDeepStrictEqual(before, row);
  });
}

/**
 * The id, if it also names the rows of a longer answer; else another member that is surely one, or the id together with the kind of the
 * record. Null: there is none.
 */
export function idOfLonger(rows: readonly JsonObject[], idField: IdField): IdField | null {
  if (!repeats(rows, idField)) return idField;
  const sure = idCandidates(rows).find(({ score }) => score === SURE_SCORE);
  const pairs = everyName(rows)
    .filter((name) => kindName.test(name))
    .map((name) => [name, idField].flat());
  return sure?.name ?? pairs.find((pair) => isIdOf(rows, pair)) ?? null;
}
