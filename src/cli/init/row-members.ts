import type { TimeFormat } from '../../feeds/definition';
import { ExactNumber } from '../../json/exact-number';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface RowsAt {
  /** Dotted path in the answer; empty when the answer is the array. */
  readonly path: string;
  readonly rows: readonly JsonObject[];
}

/** How deep an answer is looked through for its rows. */
const MOST_DEPTH = 4;

/** The arrays of objects in an answer, the longest first. Arrays within rows are not among them. */
export function rowsIn(answer: unknown, path = '', depth = 0): RowsAt[] {
  if (Array.isArray(answer)) {
    const rows = answer.filter(isObject);
    return rows.length > 0 && rows.length === answer.length ? [{ path, rows }] : [];
  }
  if (!isObject(answer) || depth === MOST_DEPTH) return [];
  return Object.entries(answer)
    .flatMap(([name, value]) => rowsIn(value, path === '' ? name : `${path}.${name}`, depth + 1))
    .sort((a, b) => b.rows.length - a.rows.length);
}

export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** A member that may be meant, and how much its name says so: 0 is the least. */
export interface Candidate {
  readonly name: string;
  readonly score: number;
}

export interface TimeCandidate extends Candidate {
  readonly format: TimeFormat;
}

const idNames = [
  /^(id|_id|uuid|guid)$/i,
  /^(number|key|code|sku|slug|reference)$/i,
  /(^|[_-])(id|no|number|uuid)$|Id$/,
];
const timeNames = [
  /^(updated|modified|changed)([_-]?(at|on|time|date|timestamp|ms))?$|^date[_-]?(updated|modified)$/i,
  /updat|modif|chang/i,
  /timestamp|^ts$/i,
  /created|time|date|_at$|At$/,
];

/** Members by which every row differs from the others, best first. */
export function idCandidates(rows: readonly JsonObject[]): Candidate[] {
  return everyName(rows)
    .filter((name) => {
      const values = rows.map((row) => row[name]).map(wholeAsText);
      const isKey = (value: unknown) =>
        (typeof value === 'string' && value !== '' && value.length <= 200) || Number.isSafeInteger(value);
      return values.every(isKey) && new Set(values).size === values.length && timeFormatOf(values) === null;
    })
    .map((name) => ({ name, score: scoreBy(idNames, name) }))
    .sort(bestFirst);
}

/** Members that hold a time in every row, best first. */
export function timeCandidates(rows: readonly JsonObject[]): TimeCandidate[] {
  return everyName(rows)
    .flatMap((name) => {
      const format = timeFormatOf(rows.map((row) => row[name]));
      return format === null ? [] : [{ name, format, score: scoreBy(timeNames, name) }];
    })
    .sort(bestFirst);
}

/** The first is clearly meant: its name says so, and no other name says so as clearly. */
export function isClear([first, second]: readonly Candidate[]): boolean {
  return first !== undefined && first.score > 0 && first.score > (second?.score ?? 0);
}

/** An integer of any length. */
function wholeAsText(value: unknown): unknown {
  return value instanceof ExactNumber ? (value.toInteger() ?? value) : value;
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

function timeFormatOf(values: readonly unknown[]): TimeFormat | null {
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

/** Unix seconds with their fraction. */
export function secondsOf(value: unknown, format: TimeFormat): number {
  if (format !== 'iso8601') return format === 'milliseconds' ? Number(value) / 1000 : Number(value);
  const text = String(value).replace(' ', 'T');
  const hasZone = /Z$|[+-]\d\d:?\d\d$/.test(text) || !text.includes('T');
  return Date.parse(hasZone ? text : `${text}Z`) / 1000;
}
