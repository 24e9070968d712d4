import { isDeepStrictEqual } from 'node:util';
import type { TimeFormat } from '../../feeds/definition';
import { idPaths, joinedId } from '../../feeds/row-keys';
import { valueAtPath } from '../../json/dotted-path';
import { ExactNumber, isJsonObject } from '../../json/exact-number';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The member that names a record, or several that name it together. */
export type IdField = string | readonly string[];

/** How deep an answer is looked through for its rows. */
const MOST_DEPTH = 4;

/**
 * The arrays of objects in an answer, the longest first. Arrays within rows are not among them.
 * @returns each with its dotted path in the answer, which is empty when the answer is the array
 */
export function rowsIn(
  answer: unknown,
  path = '',
  depth = 0,
): { readonly path: string; readonly rows: readonly JsonObject[] }[] {
  if (Array.isArray(answer)) {
    const rows = answer.filter(isJsonObject);
    return rows.length > 0 && rows.length === answer.length ? [{ path, rows }] : [];
  }
  if (!isJsonObject(answer) || depth === MOST_DEPTH) return [];
  return Object.entries(answer)
    .flatMap(([name, value]) => rowsIn(value, path === '' ? name : `${path}.${name}`, depth + 1))
    .sort((a, b) => b.rows.length - a.rows.length);
}

/** A member that may be meant, and how much its name says so: 0 is the least. */
export interface Candidate {
  readonly name: string;
  readonly score: number;
}

const idNames = [
  /^(id|_id|\$oid|uuid|guid)$/i,
  // ServiceNow's `number` may change.
  /^sys_id$/i,
  /^(number|key|code|sku|slug|reference)$/i,
  /(^|[_-])(id|no|number|uuid)$|Id$|ID$/,
];
/** The score of a name that surely is that of an id. */
const SURE_SCORE = idNames.length;
const timeNames = [
  /^(updated|modified|changed)([_-]?(at|on|time|date|timestamp|ms))?$|^date[_-]?(updated|modified)$/i,
  /updat|modif|chang|(?<!cr)edit(?!ion)/i,
  /timestamp|^ts$/i,
  /created|time|date|_at$|At$/,
];

/**
 * Members by which every row differs from the others, best first. Numbers from 1e8 on may be ids or times, and their name decides.
 * Within other members, an id is only looked for if no name of a row's own members says so, or if MongoDB writes it (`_id.$oid`).
 * @param named member that the user says is the id: it may look like a time
 */
export function idCandidates(rows: readonly JsonObject[], named?: string): Candidate[] {
  const such = (names: readonly string[]): Candidate[] =>
    names
      .map((name) => ({ name, score: scoreBy(idNames, lastName(name)) }))
      .filter(({ name, score }) => {
        const keys = rows.map((row) => keyOf(row, name));
        if (keys.includes(null) || new Set(keys).size < keys.length) return false;
        return name === named || score > 0 || timeFormatOf(rows, name) === null;
      });
  const own = such(withNamed(everyName(rows), rows, named));
  const isNamed = own.some(({ name, score }) => name === named || score > 0);
  const within = such(pathsWithin(rows, idNames, 1));
  return [...own, ...within.filter((one) => !isNamed || one.name.endsWith('.$oid'))].sort(bestFirst);
}

/**
 * Members that hold a time in every row, best first. Within other members, only the time of an update is looked for.
 * @param named member that the user says is the time: its name may be that of an id
 */
export function timeCandidates(
  rows: readonly JsonObject[],
  named?: string,
): (Candidate & { readonly format: TimeFormat })[] {
  const own = everyName(rows);
  return withNamed([...own, ...pathsWithin(rows, timeNames, 3)], rows, named)
    .flatMap((name) => {
      const format = timeFormatOf(rows, name);
      const score = timeScore(name, own.includes(name));
      const isId = format !== 'iso8601' && score === 0 && scoreBy(idNames, name) > 0;
      return format === null || (isId && name !== named) ? [] : [{ name, format, score }];
    })
    .sort(bestFirst);
}

/** Only the time of the update has such a name. */
const updateName = /^(last[_-]?)?(updated?|modified|changed|edited)([_-]?(at|on|time|date|timestamp|ms))?$/i;

/**
 * Members with the name of the time of the update that do not hold a time in every row.
 * @param taken member that is taken for it: none is missed if its name says so, too
 */
export function unreadTimes(rows: readonly JsonObject[], taken: string): string[] {
  if (timeScore(taken, true) >= 3) return [];
  const isOther = (name: string) => rows.every((row) => typeof row[name] === 'boolean');
  return everyName(rows).filter(
    (name) => updateName.test(name) && timeFormatOf(rows, name) === null && !isOther(name),
  );
}

/** Members in which many APIs hold the members of a record. */
const holderName = /^_?(id|fields|attributes|properties|data|values|source|sys(tem)?|meta(data)?)$/i;

/** Paths into these members whose last name has at least this score. */
function pathsWithin(rows: readonly JsonObject[], names: readonly RegExp[], least: number): string[] {
  return everyName(rows)
    .filter((name) => holderName.test(name) && rows.every((row) => isJsonObject(row[name])))
    .flatMap((holder) =>
      everyName(rows.map((row) => row[holder] as JsonObject)).map((of) => `${holder}.${of}`),
    )
    .filter((path) => scoreBy(names, lastName(path)) >= least);
}

/** WordPress writes a time twice, once by the clock of the site, which repeats an hour each autumn. */
const ofUtc = /[_-]?(utc|gmt)$/i;

/** A member of the row itself comes before one of the same name within another member, and a time of UTC before another one. */
function timeScore(path: string, isOwn: boolean): number {
  const name = lastName(path);
  const score = scoreBy(timeNames, name.replace(ofUtc, ''));
  return score === 0 ? 0 : score - (isOwn ? 0 : 0.5) + (ofUtc.test(name) ? 0.25 : 0);
}

function withNamed(
  names: readonly string[],
  rows: readonly JsonObject[],
  named: string | undefined,
): readonly string[] {
  if (named === undefined || names.includes(named)) return names;
  return rows.every((row) => valueAtPath(row, named) !== undefined) ? [...names, named] : names;
}

/** Also of a name with a dot of its own. */
const lastName = (path: string): string => path.split('.').at(-1)!;

/** What names a row, as text, so that numbers of any length can be compared; null if it cannot be a key. */
export function keyOf(row: JsonObject | undefined, idField: IdField): string | null {
  const parts = idPaths({ idField }).map((path) => keyPart(valueAtPath(row, path)));
  return parts.length === 1 ? parts[0]! : joinedId(parts);
}

function keyPart(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.toInteger();
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' && value.length <= 200 ? value : null;
}

/** The first is clearly meant: its name says so, and no other name says so as clearly. */
export function isClear([first, second]: readonly Candidate[]): boolean {
  return first !== undefined && first.score > 0 && first.score > (second?.score ?? 0);
}

function everyName(rows: readonly JsonObject[]): string[] {
  return Object.keys(rows[0] ?? {}).filter((name) => rows.every((row) => Object.hasOwn(row, name)));
}

function scoreBy(patterns: readonly RegExp[], name: string): number {
  const found = patterns.findIndex((pattern) => pattern.test(name));
  return found === -1 ? 0 : patterns.length - found;
}

const bestFirst = (a: Candidate, b: Candidate): number => b.score - a.score;

/** 1973 to 5138 in seconds; above, it is milliseconds. */
const [LEAST_SECONDS, MOST_SECONDS] = [1e8, 1e11];
const isoText = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?$/;

function timeFormatOf(rows: readonly JsonObject[], path: string): TimeFormat | null {
  const values = rows.map((row) => valueAtPath(row, path));
  if (values.every((value) => typeof value === 'string' && isoText.test(value))) return 'iso8601';
  const numbers = values.map((value) => (isNumeric(value) ? Number(value) : Number.NaN));
  if (numbers.every((value) => value >= LEAST_SECONDS && value < MOST_SECONDS)) return 'seconds';
  return numbers.every((value) => Number.isInteger(value) && value >= MOST_SECONDS) ? 'milliseconds' : null;
}

/** Some vendors write numbers as text. */
function isNumeric(value: unknown): boolean {
  if (value instanceof ExactNumber) return true;
  return typeof value === 'number' || (typeof value === 'string' && /^\d{9,16}$/.test(value));
}

/** When a row was updated, in Unix seconds with their fraction. */
export function updateOf(row: JsonObject, updatedField: string, format: TimeFormat): number {
  const value = valueAtPath(row, updatedField);
  if (format !== 'iso8601') return format === 'milliseconds' ? Number(value) / 1000 : Number(value);
  const text = String(value).replace(' ', 'T');
  const hasZone = /Z$|[+-]\d\d:?\d\d$/.test(text) || !text.includes('T');
  return Date.parse(hasZone ? text : `${text}Z`) / 1000;
}

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
