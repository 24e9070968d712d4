import { isDeepStrictEqual } from 'node:util';
import { HighwaterError } from '../../errors';
import type { FilterFormat, PagingStyle } from '../../feeds/definition';
import { idPaths } from '../../feeds/row-keys';
import { writeTime } from '../../feeds/time-format';
import { valueAtPath } from '../../json/dotted-path';
import { type MoreSign, signsOfMore } from '../../source/more-rows';
import { nextLink } from '../../source/next-page';
import type { Endpoint, RateLimit } from './endpoint';
import {
  type Answer,
  type AskEndpoint,
  type FieldsOfRows,
  filterEdge,
  findFilterFormat,
  findMostRows,
  findPageSize,
  findPaging,
  findUpdatedSince,
  type KnownParameters,
  withStart,
} from './infer-paging';
import { type FeedKeys, type InferredSchema, inferSchema } from './infer-schema';
import {
  type Candidate,
  type IdField,
  idCandidates,
  idOfLonger,
  isClear,
  isIdOf,
  type JsonObject,
  keyOf,
  repeats,
  rowsIn,
  timeCandidates,
  unreadTimes,
  updateOf,
} from './row-members';

/** The flags that say what the answers may leave open. */
export interface Known extends KnownParameters {
  readonly name: string;
  readonly rows?: string | undefined;
  readonly id?: string | undefined;
  readonly updated?: string | undefined;
}

export interface Examined extends FeedKeys, InferredSchema {
  readonly responseKey: string;
  /** The name of the member does not say that it is an id. */
  readonly isIdGuessed: boolean;
  readonly parameters: Readonly<Record<'page' | 'pageSize' | 'updatedSince', string | null>>;
  readonly paging: PagingStyle;
  readonly pageSize: number | null;
  /** How many rows the schema was made of. */
  readonly rows: number;
  readonly rateLimit: RateLimit | null;
  /** The rows of a page come oldest first. */
  readonly isAscending: boolean;
  /** Members that moved between two requests while the time of the update did not; null: none. */
  readonly silent: readonly string[] | null;
  /** How the filter writes a time; null: as rows do, or there is no filter. */
  readonly updatedSinceFormat: FilterFormat | null;
  /** For people, about the time of the update. */
  readonly timeNotes: readonly string[];
  /** For people, about the filter. */
  readonly filterNotes: readonly string[];
  /** For people: what may say that there are more rows than one answer has. */
  readonly pagingNotes: readonly string[];
}

const members = {
  rows: {
    question: 'Which member of the answer holds the rows?',
    flag: '--rows PATH',
    what: 'an array of objects',
  },
  id: {
    question: 'Which member names a record?',
    flag: '--id MEMBER',
    what: 'a text or a whole number that is another one in every row',
  },
  updated: {
    question: 'Which member says when a record was last updated?',
    flag: '--updated MEMBER (or --updated "" if rows do not say it)',
    what: 'a member that holds a time in every row (Unix seconds, milliseconds, or ISO 8601)',
  },
} as const;

/**
 * Finds out by requests how an endpoint is read.
 * @param address with the query parameters that the user gave
 * @throws HighwaterError SOURCE_* from the endpoint; USAGE_INVALID when something is not clear and no flag says it
 */
export async function examine(endpoint: Endpoint, known: Known, address: URL): Promise<Examined> {
  const { responseKey, first, few, askRows } = await firstRows(endpoint, known);
  const { rows } = first;
  const firstId = idIn(rows, known);
  const times = timeCandidates(rows, known.updated);
  const updatedField = known.updated === '' ? null : oneOf(times, 'updated', known);
  const updatedFormat = times.find(({ name }) => name === updatedField)?.format ?? 'seconds';

  const sizeName = few ?? (rows.length > FEW ? await findPageSize(first, known, askRows) : null);
  const longest = sizeName === null ? null : await findMostRows(sizeName, askRows);
  const isNamed = known.id !== undefined;
  const idField = isNamed ? firstId : idOfLonger(longest?.answer?.rows ?? rows, firstId);
  if (idField === null) throw repeatedId(firstId);
  const keys = { idField, updatedField, updatedFormat };
  const fields = { ...keys, responseKey };
  const seen = new SeenRecords(keys);
  seen.add(rows);
  seen.add(longest?.answer?.rows ?? []);
  const ask: AskEndpoint = async (query, link) => {
    const answer = await askRows(query, link);
    if (!isNamed && repeats(answer.rows, idField)) throw repeatedId(idField);
    seen.add(answer.rows);
    return answer;
  };
  const short = sizeName === null ? {} : { [sizeName]: '2' };
  const found = await findPaging(short, fields, known, ask);
  const paging = found.paging.style === 'cursor' ? await withStart(found.paging, address, ask) : found.paging;
  const size = longest === null ? null : { name: sizeName!, asked: longest.size };
  const more = paging.style === 'none' ? moreThan(longest?.answer ?? first, responseKey, size, known) : [];
  const dated = updatedField === null ? null : { ...fields, updatedField };
  const since = dated && (await findUpdatedSince(first, dated, known, [...address.searchParams.keys()], ask));
  const isSaid = known.since !== undefined;
  const format =
    dated && since !== null && isSaid ? await findFilterFormat(since, first, dated, ask) : updatedFormat;
  const filter = dated && since !== null ? await tryFilter(since, format, first, dated, ask) : NO_FILTER;
  const updates = dated === null ? [] : rows.map((row) => updateOf(row, dated.updatedField, updatedFormat));
  return {
    ...keys,
    ...inferSchema(known.name, seen.rows(), keys),
    responseKey,
    isIdGuessed: !isNamed && idCandidates(rows).some(({ name, score }) => name === idField && score === 0),
    parameters: { page: found.parameter, pageSize: sizeName, updatedSince: filter.parameter },
    paging,
    pageSize: longest?.size ?? null,
    rows: seen.rows().length,
    silent: seen.restless.size === 0 ? null : [...seen.restless],
    rateLimit: endpoint.rateLimit(),
    updatedSinceFormat: filter.parameter === null || format === updatedFormat ? null : format,
    timeNotes: updatedField === null || known.updated !== undefined ? [] : timeNotes(rows, updatedField),
    filterNotes: filter.notes,
    pagingNotes: more,
    isAscending: updates.every((time, i) => i === 0 || time >= updates[i - 1]!),
  };
}

/** The rows of all answers, each record as it was seen last. */
class SeenRecords {
  private readonly byKey = new Map<string | null, JsonObject>();
  /** Members that moved between two answers while the time of the update did not. */
  readonly restless = new Set<string>();

  constructor(private readonly keys: FeedKeys) {}

  rows(): readonly JsonObject[] {
    return [...this.byKey.values()];
  }

  /** @param rows of one answer: a record does not move within it */
  add(rows: readonly JsonObject[]): void {
    const { idField, updatedField } = this.keys;
    for (const row of rows) {
      const before = this.byKey.get(keyOf(row, idField)) ?? {};
      if (updatedField === null || valueAtPath(before, updatedField) !== valueAtPath(row, updatedField))
        continue;
      for (const name in row) if (!isDeepStrictEqual(before[name], row[name])) this.restless.add(name);
    }
    for (const row of rows) this.byKey.set(keyOf(row, idField), row);
  }
}

/** So few rows do not show whether a page can be shorter. */
const FEW = 2;
/** Sizes that are tried where a page has few rows by default, until the API takes one. */
const SOME = ['20', '10', '5', '3'];

/**
 * The first rows of an endpoint, of which more are asked for where a page has few unasked.
 * @returns `few`: the parameter for their number that every request has for this; null: none
 */
async function firstRows(endpoint: Endpoint, known: Known) {
  const { body, linkHeader, headers } = await endpoint.first();
  const arrays = rowsIn(body);
  const places = arrays.map(({ path, rows }) => ({ name: path, score: rows.length }));
  const responseKey = oneOf(places, 'rows', known);
  const opening = { rows: arrays.find(({ path }) => path === responseKey)!.rows, body, linkHeader, headers };
  const askAsIs: AskEndpoint = async (query, link) => {
    const answer = await endpoint.ask(query, link);
    const there = rowsIn(answer.body).find(({ path }) => path === responseKey)?.rows ?? [];
    return { ...answer, rows: there };
  };
  const few = isPart(opening, responseKey, known) ? await findPageSize(opening, known, askAsIs) : null;
  // Little can be told by one or two rows.
  if (few !== null)
    for (const size of SOME) {
      const first = await askAsIs({ [few]: size });
      if (first.rows.length <= opening.rows.length) continue;
      const askRows: AskEndpoint = (query, link) =>
        askAsIs(link === undefined ? { [few]: size, ...query } : query, link);
      return { responseKey, first, few, askRows };
    }
  return { responseKey, first: opening, few, askRows: askAsIs };
}

/** Whether few rows came, and there may be more: the API says so, or the user names the parameter for their number. */
function isPart({ rows, body, linkHeader, headers }: Answer, responseKey: string, known: Known): boolean {
  if (rows.length > FEW || known.size !== undefined) return rows.length <= FEW;
  return signsOfMore(body, responseKey, nextLink(linkHeader) !== null, headers).some(({ isSure }) => isSure);
}

function timeNotes(rows: readonly JsonObject[], taken: string): string[] {
  const why = `is not a time that can be read in every row, so ${taken} is taken`;
  return unreadTimes(rows, taken).map((name) => `${name} ${why}`);
}

const NO_FILTER = { parameter: null, notes: [] };

/** The filter, unless it leaves out for good what a poll needs; and what people are to know about it. */
async function tryFilter(
  parameter: string,
  format: FilterFormat,
  first: Answer,
  { idField, updatedField, updatedFormat }: FieldsOfRows,
  ask: AskEndpoint,
): Promise<{ readonly parameter: string | null; readonly notes: readonly string[] }> {
  const seen = ({ rows }: Answer) => ({
    ids: rows.map((row) => keyOf(row, idField)),
    times: rows.map((row) => updateOf(row, updatedField, updatedFormat)),
  });
  const askSince = async (time: number) => seen(await ask({ [parameter]: writeTime(time, format) }));
  const edge = await filterEdge(seen(first), askSince);
  const notes = {
    unknown: `whether ${parameter} shows rows of the very time that is asked for could not be found out; doctor tries again`,
    hidden: `${parameter} leaves out rows that were updated later than the time that is asked for, so it is not used`,
    later: `${parameter} leaves out rows of the very time that is asked for; polls learn how much earlier they have to ask`,
  };
  if (edge === 'shown') return { parameter, notes: [] };
  return { parameter: edge === 'hidden' ? null : parameter, notes: [notes[edge]] };
}

/** As many rows as pages often have, whatever is asked for. */
const isUsualSize = (rows: number): boolean => [10, 20, 25, 30].includes(rows) || rows % 50 === 0;

/**
 * Without paging, a feed is one answer for ever.
 * @param size how many rows were asked for, and by which parameter
 * @returns what may say that there are more rows than it has
 * @throws HighwaterError INIT_PAGING_UNKNOWN if it says so for sure, or the user does not say that no page follows
 */
function moreThan(
  { rows: { length }, body, linkHeader, headers }: Answer,
  responseKey: string,
  size: { readonly name: string; readonly asked: number } | null,
  known: KnownParameters,
): string[] {
  const isFull = size !== null && length >= size.asked;
  const full = isFull ? [`${length} rows came, as many as were asked for`] : [];
  const signs = signsOfMore(body, responseKey, nextLink(linkHeader) !== null, headers);
  const said = (some: readonly MoreSign[]) => some.map((sign) => sign.said).slice(0, 5);
  const sure = [...full, ...said(signs.filter(({ isSure }) => isSure))];
  const none = 'no way to the next page was found. What says so:';
  if (sure.length > 0) {
    const what = `There are more than the ${length} rows of one answer, and ${none} ${sure.join(', ')}.`;
    throw new HighwaterError('INIT_PAGING_UNKNOWN', what);
  }
  const gives = size === null ? `${length} rows are` : `${size.name}=${size.asked} gives ${length} rows,`;
  const usual = isUsualSize(length) ? [`${gives} a number that pages often have`] : [];
  // Nothing shows that a size is ignored, and many small lists have 10 or 20 rows.
  const isDoubted = size !== null || length % 50 === 0;
  const weak = [...(isDoubted ? usual : []), ...said(signs.filter(({ isCursor }) => isCursor))];
  if (weak.length > 0 && !(known.page === '' && known.cursor === '')) {
    const what = `There may be more than the ${length} rows of one answer, and ${none} ${weak.join(', ')}.`;
    throw new HighwaterError('INIT_PAGING_UNKNOWN', `${what} If they are all, add --page "" --cursor "".`);
  }
  return [...said(signs), ...usual];
}

/** The member that names a record; several, if the flag names several. */
function idIn(rows: readonly JsonObject[], known: Known): IdField {
  const several = known.id?.split(',').map((name) => name.trim()) ?? [];
  if (several.length > 1 && isIdOf(rows, several)) return several;
  return oneOf(idCandidates(rows, known.id), 'id', known);
}

/** No guess is safe: of records with one id, only one would be kept. */
function repeatedId(idField: IdField): HighwaterError {
  const names = idPaths({ idField }).join(',');
  const what = `${members.id.question} ${names} is the same in several rows of one answer`;
  const remedy = `Name another one, or several that name it together (--id type,id). If the rows are the same record, add --id ${names}.`;
  return new HighwaterError('USAGE_INVALID', what, { now: 'Nothing was written.', remedy });
}

/** The member that a flag names, that is the only candidate, or whose name is clear. */
function oneOf(candidates: readonly Candidate[], of: keyof typeof members, known: Known): string {
  const { question, flag, what } = members[of];
  const named = known[of];
  const names = candidates.map(({ name }) => name);
  if (named !== undefined && names.includes(named)) return named;
  const now = 'Nothing was written.';
  if (named !== undefined || names.length === 0) {
    const which = named === undefined ? 'The answer has none' : `"${named}" is not one`;
    const others = names.length === 0 ? '' : `; these are: ${names.join(', ')}`;
    throw new HighwaterError('USAGE_INVALID', `${question} ${which}: it takes ${what}${others}`, {
      now,
      remedy: `Name an endpoint or query whose answer has rows with it, or name another one by ${flag}.`,
    });
  }
  if (names.length === 1 || isClear(candidates)) return names[0]!;
  const shown = names.map((name) => (name === '' ? '(the answer itself)' : name));
  const remedy = `Say which one by ${flag}.`;
  throw new HighwaterError('USAGE_INVALID', `${question} It may be ${shown.join(', ')}`, { now, remedy });
}
