import type { PagingStyle, TimeFormat } from '../../feeds/definition';
import { writeTime } from '../../feeds/time-format';
import { ExactNumber } from '../../json/exact-number';
import { nextLink } from '../../source/next-page';
import { isObject, type JsonObject, keyOf, secondsOf } from './row-members';

/** One answer of the endpoint. Rows are empty if the answer is not a page. */
export interface Answer {
  readonly isPage: boolean;
  readonly rows: readonly JsonObject[];
  readonly body: unknown;
  readonly linkHeader: string | undefined;
}

/** Asks the endpoint with more query parameters than it was named with. */
export type AskEndpoint = (query: Readonly<Record<string, string>>) => Promise<Answer>;

export interface FieldsOfRows {
  readonly idField: string;
  readonly updatedField: string;
  readonly updatedFormat: TimeFormat;
  /** Dotted path of the rows. */
  readonly responseKey: string;
}

const sizeNames = [
  'limit',
  'per_page',
  'page_size',
  'pageSize',
  'pagesize',
  'size',
  'count',
  'max_results',
  'maxResults',
  'page[size]',
];
const offsetNames = ['offset', 'skip', 'start', 'startIndex'];
const pageNames = ['page', 'page_number', 'pageNumber', 'page[number]', 'p'];
const cursorNames = [
  'cursor',
  'after',
  'page_token',
  'pageToken',
  'starting_after',
  'next_token',
  'page[after]',
];
const lastRowNames = ['starting_after', 'after', 'after_id', 'last_id', 'since_id', 'page[after]'];
const moreNames = /^(has_?(more|next)(_?(page|items|results))?|more)$/i;
const sinceNames = [
  'updated_since',
  'updatedSince',
  'modifiedSince',
  'since',
  'updated_after',
  'modified_since',
  'modified_after',
  'updated',
  'updated_at_min',
  'updated_min',
  'updated_from',
  'date_updated_gt',
  'last_modified_since',
  'start_time',
  'updated[gte]',
  'filter[updated_since]',
];
const nextNames =
  /^(next|after|cursor|next_?(page|url|link|cursor|token|page_?token)|end_?cursor|after_?cursor|continuation(_?token)?)$/i;

/** The name of the parameter that says how many rows a page has; null when none of the usual ones does. */
export async function findPageSize(first: Answer, ask: AskEndpoint): Promise<string | null> {
  if (first.rows.length <= 2) return null;
  for (const name of sizeNames) if ((await ask({ [name]: '2' })).rows.length === 2) return name;
  return null;
}

/** The longest page that the endpoint gives, of the sizes that are worth asking for, and how many rows it had. */
export async function findMostRows(
  sizeName: string,
  ask: AskEndpoint,
): Promise<{ readonly size: number; readonly rows: number }> {
  for (const size of [1000, 500, 250, 100, 50]) {
    const { isPage, rows } = await ask({ [sizeName]: String(size) });
    if (isPage) return { size, rows: rows.length };
  }
  return { size: 20, rows: 20 };
}

/** @param query asks for short pages, so that there is a second page; empty if there is no parameter for the size */
export async function findPaging(
  query: Readonly<Record<string, string>>,
  { idField, responseKey }: Pick<FieldsOfRows, 'idField' | 'responseKey'>,
  ask: AskEndpoint,
): Promise<{ readonly paging: PagingStyle; readonly parameter: string | null }> {
  const first = await ask(query);
  const ids = first.rows.map((row) => keyOf(row, idField));
  if (nextLink(first.linkHeader) !== null) return { paging: { style: 'link', from: null }, parameter: null };
  const pointers = nextIn(first.body, responseKey);
  const link = pointers.find(({ value }) => /^(https?:\/)?\//.test(value) || value.startsWith('?'));
  if (link !== undefined) return { paging: { style: 'link', from: link.path }, parameter: null };
  for (const { path, value } of pointers) {
    const own = path.split('.').at(-1)!;
    for (const parameter of new Set([...cursorNames, own])) {
      if (isBehind(await ask({ ...query, [parameter]: value }), ids, idField))
        return { paging: { style: 'cursor', parameter, from: path }, parameter: null };
    }
  }
  const lastId = ids.at(-1) ?? null;
  for (const parameter of lastId === null ? [] : lastRowNames) {
    if (!isBehind(await ask({ ...query, [parameter]: lastId! }), ids, idField)) continue;
    const more = moreIn(first.body, responseKey);
    const hasMore = more === null ? {} : { hasMore: more };
    return { paging: { style: 'cursor', parameter, lastRow: idField, ...hasMore }, parameter: null };
  }
  for (const parameter of offsetNames) {
    const { rows } = await ask({ ...query, [parameter]: '1' });
    if (ids.length > 1 && keyOf(rows[0], idField) === ids[1])
      return { paging: { style: 'offset' }, parameter };
  }
  for (const parameter of pageNames) {
    // The first page is 0 or 1, and there may be two.
    for (const page of ['2', '1']) {
      if (!isBehind(await ask({ ...query, [parameter]: page }), ids, idField)) continue;
      const begins = async (number: string) =>
        keyOf((await ask({ ...query, [parameter]: number })).rows[0], idField);
      const zero = await begins('0');
      // Some APIs refuse page 0, or have nothing on it, and some show page 1 there.
      const isOne = (zero === null || zero === ids[0]) && (await begins('1')) === ids[0];
      return { paging: { style: 'page', ...(isOne && { first: 1 as const }) }, parameter };
    }
  }
  return { paging: { style: 'none' }, parameter: null };
}

/** Members of an answer that may lead to the next page. */
function nextIn(body: unknown, rowsPath: string): { path: string; value: string }[] {
  return membersBeside(body, rowsPath).flatMap(({ path, name, value }) => {
    const isText =
      typeof value === 'string' ? value !== '' : Number.isSafeInteger(value) || value instanceof ExactNumber;
    return isText && nextNames.test(name) ? [{ path, value: String(value) }] : [];
  });
}

/** The path of the flag that says that more rows follow; null when no member says so. */
export function moreIn(body: unknown, rowsPath: string): string | null {
  const found = membersBeside(body, rowsPath).find(
    ({ name, value }) => value === true && moreNames.test(name),
  );
  return found?.path ?? null;
}

interface Member {
  /** Dotted. */
  readonly path: string;
  readonly name: string;
  readonly value: unknown;
}

/** The members of an answer beside its rows, including members of nested objects. */
function membersBeside(body: unknown, rowsPath: string, path = '', depth = 0): Member[] {
  if (!isObject(body) || depth === 3) return [];
  return Object.entries(body).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    if (at === rowsPath) return [];
    return [{ path: at, name, value }, ...membersBeside(value, rowsPath, at, depth + 1)];
  });
}

/** Whether a page begins behind the rows with these ids. */
function isBehind({ rows }: Answer, ids: readonly unknown[], idField: string): boolean {
  return rows.length > 0 && rows.every((row) => !ids.includes(keyOf(row, idField)));
}

/** The name of the parameter that leaves out rows that were not updated since; null when none of the usual ones does. */
export async function findUpdatedSince(
  first: Answer,
  { updatedField, updatedFormat }: FieldsOfRows,
  ask: AskEndpoint,
): Promise<string | null> {
  const times = (rows: readonly JsonObject[]) =>
    rows.map((row) => secondsOf(row[updatedField], updatedFormat));
  const seen = times(first.rows).sort((a, b) => a - b);
  // A second that leaves rows out, and shows others.
  const since = Math.floor(seen.find((time) => time > Math.floor(seen[0]!) + 1) ?? Number.NaN);
  if (Number.isNaN(since)) return null;
  for (const name of sinceNames) {
    const { rows } = await ask({ [name]: writeTime(since, updatedFormat) });
    if (rows.length > 0 && times(rows).every((time) => time >= since)) return name;
  }
  return null;
}
