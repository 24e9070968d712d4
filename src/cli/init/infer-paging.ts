import { isDeepStrictEqual } from 'node:util';
import {
  type CursorPaging,
  type FilterFormat,
  filterFormats,
  type PagingStyle,
  type TimeFormat,
} from '../../feeds/definition';
import { writeTime } from '../../feeds/time-format';
import { valueAtPath } from '../../json/dotted-path';
import { type Headers, moreIn, pointersIn } from '../../source/more-rows';
import { nextLink } from '../../source/next-page';
import { type IdField, type JsonObject, keyOf, updateOf } from './row-members';

/** One answer of the endpoint. Rows are empty if the answer is not a page. */
export interface Answer {
  readonly rows: readonly JsonObject[];
  readonly body: unknown;
  readonly linkHeader: string | undefined;
  readonly headers?: Headers | undefined;
  /** The link that was followed names another host, and its path was asked for at the API's own one. */
  readonly isByPath?: boolean | undefined;
}

/** Asks the endpoint with more query parameters than it was named with, or follows a link as it is. */
export type AskEndpoint = (query: Readonly<Record<string, string>>, link?: string) => Promise<Answer>;

export interface FieldsOfRows {
  readonly idField: IdField;
  readonly updatedField: string;
  readonly updatedFormat: TimeFormat;
  /** Dotted path of the rows. */
  readonly responseKey: string;
}

/** Names of query parameters that the user knows; an empty name: the endpoint has no such parameter. */
export interface KnownParameters {
  readonly size?: string | undefined;
  readonly page?: string | undefined;
  readonly cursor?: string | undefined;
  readonly since?: string | undefined;
}

/** The names that are tried, the most usual first. Another one is said by its flag. */
const usual: Readonly<Record<keyof KnownParameters, readonly string[]>> = {
  size: 'limit per_page page_size pageSize pagesize size count max_results maxResults page[size] pagination[pageSize]'.split(
    ' ',
  ),
  page: 'offset skip start startIndex startAt page page_number pageNumber page[number] pagination[page] p'.split(
    ' ',
  ),
  cursor:
    `cursor after starting_after page_token pageToken next_token nextToken after_id last_id since_id page[after]
    page[cursor] scroll_id scrollId scroll continuation continuationToken bookmark marker`.split(/\s+/),
  since: `updated_since updatedSince modifiedSince since updated_after modified_since modified_after updated
    updated_at_min updated_min updated_from date_updated_gt last_modified_since start_time updated[gte]
    filter[updated_since]`.split(/\s+/),
};
/** @param likely names that the answers or the address suggest */
function namesOf(
  of: keyof KnownParameters,
  known: KnownParameters,
  likely: readonly string[] = [],
): Set<string> {
  const named = known[of];
  if (named === undefined) return new Set([...likely, ...usual[of]]);
  return new Set(named === '' ? [] : [named]);
}

/** The name of the parameter that says how many rows a page has, which a flag may say; null when there is none. */
export async function findPageSize(
  first: Answer,
  known: KnownParameters,
  ask: AskEndpoint,
): Promise<string | null> {
  const size = first.rows.length === 2 ? 3 : 2;
  for (const name of namesOf('size', known))
    if ((await ask({ [name]: String(size) })).rows.length === size) return name;
  // A list that short cannot show whether the flag is right.
  return first.rows.length < size ? known.size || null : null;
}

/** The longest page that the endpoint gives, of the sizes that are worth asking for; null: it gives none of them. */
export async function findMostRows(
  sizeName: string,
  ask: AskEndpoint,
): Promise<{ readonly size: number; readonly answer: Answer | null }> {
  for (const size of [1000, 500, 250, 100, 50, 20, 10]) {
    const answer = await ask({ [sizeName]: String(size) });
    if (answer.rows.length > 0) return { size, answer };
  }
  return { size: 5, answer: null };
}

/**
 * @param query asks for short pages, so that there is a second page; empty if there is no parameter for the size
 * @returns `parameter` holds the number of a page or of a row
 */
export async function findPaging(
  query: Readonly<Record<string, string>>,
  { idField, responseKey }: Pick<FieldsOfRows, 'idField' | 'responseKey'>,
  known: KnownParameters,
  ask: AskEndpoint,
): Promise<{ readonly paging: PagingStyle; readonly parameter: string | null }> {
  const isShort = Object.keys(query).length > 0;
  const first = await ask(query);
  if (isShort && first.rows.length === 0) return findPaging({}, { idField, responseKey }, known, ask);
  const idsOf = ({ rows }: Answer) => rows.map((row) => keyOf(row, idField));
  let ids = idsOf(first);
  const by = (paging: PagingStyle, parameter: string | null = null) => ({ paging, parameter });
  const firstIdWith = async (parameter: string, value: string) =>
    idsOf(await ask({ ...query, [parameter]: value }))[0] ?? null;
  const isApart = (shown: typeof ids, had = ids) =>
    shown.length > 0 && shown.every((id) => !had.includes(id));
  /** The rows of a page that begins behind those of the first one; null if it does not. */
  const behind = async (parameter: string, value: string) => {
    const shown = idsOf(await ask({ ...query, [parameter]: value }));
    return isApart(shown) ? shown : null;
  };
  const isBehind = async (parameter: string, value: string) => (await behind(parameter, value)) !== null;
  /** All rows of the first page have moved. On longer pages, rows stay longer. */
  let isRestless = false;
  /**
   * The result of a test, if the first page has stayed as it was: rows that move look like rows of another page.
   * @param holds if some of its rows have stayed, whether it also holds for all rows that it has had
   */
  const whileSteady = async <T>(
    test: () => Promise<T | null>,
    holds: (found: T, had: typeof ids) => boolean = () => false,
  ): Promise<T | null> => {
    for (let tries = 0; tries < 5 && !(isRestless && isShort); tries++) {
      const found = await test();
      if (found === null) return null;
      const before = ids;
      ids = idsOf(await ask(query));
      if (isDeepStrictEqual(ids, before)) return found;
      const hasStayed = ids.some((id) => before.includes(id));
      if (hasStayed && holds(found, [...before, ...ids])) return found;
      isRestless ||= !hasStayed;
    }
    return null;
  };

  const pointers = pointersIn(first.body, responseKey);
  const addresses = pointers.filter(({ isAddress }) => isAddress).slice(0, MOST_POINTERS);
  for (const { path, value } of [{ path: null, value: nextLink(first.linkHeader) }, ...addresses]) {
    if (value === null) continue;
    const isNext = (answer: Answer, had = ids) => {
      const isNew = idsOf(answer).some((id) => !had.includes(id));
      // Some APIs name a next page that is empty behind the last one.
      const list = responseKey === '' ? answer.body : valueAtPath(answer.body, responseKey);
      return isNew || (Array.isArray(list) && list.length === 0);
    };
    const found = await whileSteady(async () => {
      const answer = await ask({}, value);
      return isNext(answer) ? answer : null;
    }, isNext);
    if (found !== null)
      return by({ style: 'link', from: path, ...(found.isByPath === true && { followPath: true }) });
  }
  for (const { path, name, value } of pointers.slice(0, MOST_POINTERS))
    for (const parameter of namesOf('cursor', known, parametersFor(name, value)))
      if (await whileSteady(() => behind(parameter, value), isApart))
        return by({ style: 'cursor', parameter, from: path });

  const others = pointers.map(({ path }) => path);
  for (const parameter of known.cursor === undefined ? startedNames : namesOf('cursor', known)) {
    const begun = pointersIn((await ask({ ...query, [parameter]: '*' })).body, responseKey);
    const given = begun.filter(({ path, isAddress }) => !isAddress && !others.includes(path));
    for (const { path, value } of given.slice(0, MOST_POINTERS))
      if (await whileSteady(() => behind(parameter, value), isApart))
        return by({ style: 'cursor', parameter, from: path, start: '*' });
  }

  // An API takes the value of one member.
  const lastRow = typeof idField === 'string' && ids.length > 0 ? idField : undefined;
  for (const parameter of lastRow === undefined ? [] : namesOf('cursor', known)) {
    const isLed = async () => {
      const lastId = ids.at(-1) ?? null;
      return lastId === null ? null : behind(parameter, lastId);
    };
    if (!(await whileSteady(isLed, isApart))) continue;
    const hasMore = moreIn(first.body, responseKey);
    return by({ style: 'cursor', parameter, lastRow, ...(hasMore !== null && { hasMore }) });
  }
  for (const parameter of namesOf('page', known)) {
    const found = await whileSteady(async (): Promise<PagingStyle | null> => {
      if (ids.length > 1 && (await firstIdWith(parameter, '1')) === ids[1]) return { style: 'offset' };
      // The first page is 0 or 1, and there may be two.
      if (!(await isBehind(parameter, '2')) && !(await isBehind(parameter, '1'))) return null;
      const zero = await firstIdWith(parameter, '0');
      // Some APIs refuse page 0, or have nothing on it, and some show page 1 there.
      const isOne = (zero === null || zero === ids[0]) && (await firstIdWith(parameter, '1')) === ids[0];
      return { style: 'page', ...(isOne && { first: 1 as const }) };
    });
    if (found !== null) return by(found, parameter);
  }
  if (isRestless && isShort) return findPaging({}, { idField, responseKey }, known, ask);
  return by({ style: 'none' });
}

/** An answer may have any number of members whose names say next; each is tried with every parameter. */
const MOST_POINTERS = 5;

/** At some APIs (Crossref, OpenAlex, Solr), an answer names the next page only if the request had `*` here. */
const startedNames = ['cursor', 'cursorMark'];

/**
 * The paging with the cursor that the address begins with, if the API needs one: without it, an answer has no rows, or names no next page.
 * Otherwise it is left out, because a copied address may begin in the middle.
 */
export async function withStart(paging: CursorPaging, address: URL, ask: AskEndpoint): Promise<CursorPaging> {
  const start = address.searchParams.get(paging.parameter);
  if (start === null) return paging;
  const bare = new URL(address);
  bare.searchParams.delete(paging.parameter);
  const { rows, body } = await ask({}, bare.href);
  const next = paging.from === undefined ? rows.length : valueAtPath(body, paging.from);
  return rows.length > 0 && next !== undefined && next !== null ? paging : { ...paging, start };
}

/** Names that the parameter for such a member may have: `nextPageToken` is sent as `pageToken`. A number may be that of a page. */
function parametersFor(name: string, value: string): string[] {
  const rest = name.replace(/^.*?next_?(?=.)/i, '');
  const bare = rest.charAt(0).toLowerCase() + rest.slice(1);
  return usual.page.includes(bare) && /^\d+$/.test(value) ? [name] : [name, bare];
}

/**
 * The name of the parameter that leaves out rows that were not updated since; null when there is none.
 * @param inAddress parameters that the user gave: one of them may be the filter
 */
export async function findUpdatedSince(
  first: Answer,
  { updatedField, updatedFormat }: FieldsOfRows,
  known: KnownParameters,
  inAddress: readonly string[],
  ask: AskEndpoint,
): Promise<string | null> {
  if (known.since !== undefined) return known.since === '' ? null : known.since;
  const times = (rows: readonly JsonObject[]) =>
    rows.map((row) => updateOf(row, updatedField, updatedFormat));
  /** A second that leaves rows out, and shows others. */
  const between = (rows: readonly JsonObject[]) => {
    const seen = times(rows).sort((a, b) => a - b);
    return Math.floor(seen.find((time) => time > Math.floor(seen[0]!) + 1) ?? Number.NaN);
  };
  let since = between(first.rows);
  const likely = inAddress.filter((name) => /since|after|from|start|updated|modified/i.test(name));
  for (const name of namesOf('since', known, likely))
    for (let tries = 0; tries < 3 && !Number.isNaN(since); tries++) {
      const { rows } = await ask({ [name]: writeTime(since, updatedFormat) });
      if (rows.length === 0 || times(rows).some((time) => time < since)) break;
      // The rows before this second may all have been updated meanwhile.
      const all = (await ask({})).rows;
      if (times(all).some((time) => time < since)) return name;
      since = between(all);
    }
  return null;
}

/** The ids and the times of an answer's rows, in its order. */
export interface SeenRows {
  readonly ids: readonly unknown[];
  /** Unix seconds. */
  readonly times: readonly number[];
}

/**
 * Whether a filter shows a row of the very time that is asked for. `later`: only if an earlier time is asked for. `hidden`: not even then.
 * `unknown`: the answers prove nothing.
 * @param first rows that were seen before, as many as an answer may have
 * @param ask for rows since a time
 */
export async function filterEdge(
  first: SeenRows,
  ask: (since: number) => Promise<SeenRows>,
): Promise<'shown' | 'later' | 'hidden' | 'unknown'> {
  // The last time but one, so that an answer has rows even if the filter leaves out its own time.
  const time = [...new Set(first.times)].sort((a, b) => a - b).at(-2);
  if (time === undefined) return 'unknown';
  const sought = first.ids.filter((_, i) => first.times[i] === time);
  for (const earlier of [0, 1, 60, 3_600, 86_400]) {
    const { ids, times } = await ask(Math.max(0, time - earlier));
    // A row that is not on a full page may be on the next one, unless the page goes beyond its time.
    const isOrdered = times.every((one, i) => i === 0 || one >= times[i - 1]!);
    const isShort = ids.length < first.ids.length;
    const isBeyond = isShort || (isOrdered && times.at(-1)! > time);
    if (ids.some((id) => sought.includes(id))) {
      if (earlier === 0) return 'shown';
      // A filter by the times of the rows never leaves out one that is later than another one that it shows.
      const least = Math.min(...times);
      const isLeftOut = (id: unknown, at: number) => at > least && at < time && !ids.includes(id);
      const leavesOut = first.ids.some((id, i) => isLeftOut(id, first.times[i]!));
      return leavesOut && (isShort || isOrdered) ? 'hidden' : 'later';
    }
    if (ids.length === 0 || !isBeyond) return earlier === 0 ? 'unknown' : 'later';
  }
  return 'hidden';
}

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
