import { HighwaterError } from '../../errors';
import type { PagingStyle } from '../../feeds/definition';
import { writeTime } from '../../feeds/time-format';
import type { CommandContext } from '../process/command-context';
import { choose } from './choose';
import type { Endpoint } from './endpoint';
import { filterEdge, type SeenRows } from './filter-edge';
import {
  type Answer,
  type AskEndpoint,
  type FieldsOfRows,
  findMostRows,
  findPageSize,
  findPaging,
  findUpdatedSince,
  moreIn,
} from './infer-paging';
import { type FeedKeys, type InferredSchema, inferSchema } from './infer-schema';
import type { RateLimit } from './rate-limit';
import {
  type Candidate,
  idCandidates,
  isClear,
  type JsonObject,
  keyOf,
  rowsIn,
  secondsOf,
  timeCandidates,
} from './row-members';

/** The flags that answer a question in advance. */
export interface Known {
  readonly name: string;
  readonly rows?: string | undefined;
  readonly id?: string | undefined;
  readonly updated?: string | undefined;
  readonly since?: string | undefined;
}

export interface Examined extends FeedKeys, InferredSchema {
  readonly responseKey: string;
  readonly parameters: Readonly<Record<'page' | 'pageSize' | 'updatedSince', string | null>>;
  readonly paging: PagingStyle;
  readonly pageSize: number | null;
  /** How many rows the schema was made of. */
  readonly rows: number;
  /** Members that have the same value in all of them. */
  readonly constant: readonly string[];
  readonly rateLimit: RateLimit | null;
  /** The rows of a page come oldest first. */
  readonly isAscending: boolean;
  /** What is to be known about the filter. */
  readonly filterNotes: readonly string[];
}

/**
 * Finds out by requests how an endpoint is read. If several answers are likely, it asks on the terminal.
 * @throws HighwaterError SOURCE_* from the endpoint; USAGE_INVALID when something is not clear and there is no terminal
 */
export async function examine(endpoint: Endpoint, known: Known, context: CommandContext): Promise<Examined> {
  const { body, linkHeader } = await endpoint.first();
  const found = rowsIn(body);
  const responseKey = await oneOf(
    known.rows,
    found.map(({ path, rows }) => ({ name: path, score: rows.length })),
    {
      question: 'Which member of the answer holds the rows?',
      flag: '--rows PATH',
      what: 'an array of objects',
    },
    context,
  );
  const { rows } = found.find(({ path }) => path === responseKey)!;
  const idField = await oneOf(
    known.id,
    idCandidates(rows, known.id),
    {
      question: 'Which member names a record?',
      flag: '--id MEMBER',
      what: 'a text or a whole number that is another one in every row',
    },
    context,
  );
  const times = timeCandidates(rows, known.updated);
  const updatedField = await oneOf(
    known.updated,
    times,
    {
      question: 'Which member says when a record was last updated?',
      flag: '--updated MEMBER',
      what: 'a member that holds a time in every row (Unix seconds, milliseconds, or ISO 8601)',
    },
    context,
  );
  const { format: updatedFormat } = times.find(({ name }) => name === updatedField)!;
  const keys = { idField, updatedField, updatedFormat };

  const fields = { ...keys, responseKey };
  const seen = new Map(rows.map((row) => [keyOf(row, idField), row]));
  const ask: AskEndpoint = async (query) => {
    const answer = await endpoint.ask(query);
    const page = pageOf(answer.body, answer.linkHeader, responseKey);
    for (const row of page.rows) seen.set(keyOf(row, idField), row);
    return page;
  };
  const first = pageOf(body, linkHeader, responseKey);
  const sizeName = await findPageSize(first, ask);
  const { paging, parameter } = await findPaging(sizeName === null ? {} : { [sizeName]: '2' }, fields, ask);
  const longest = sizeName === null ? null : await findMostRows(sizeName, ask);
  const isCut = longest !== null && longest.rows >= longest.size;
  if (paging.style === 'none' && (isCut || moreIn(body, responseKey) !== null)) throw pagingNotFound(first);
  const updatedSince =
    known.since === undefined
      ? await findUpdatedSince(first, fields, ask)
      : known.since === ''
        ? null
        : known.since;
  const filter = await tryFilter(updatedSince, first, fields, ask);
  const updates = rows.map((row) => secondsOf(row[updatedField], updatedFormat));
  return {
    ...keys,
    ...inferSchema(known.name, [...seen.values()], keys),
    responseKey,
    parameters: { page: parameter, pageSize: sizeName, updatedSince: filter.parameter },
    paging,
    pageSize: longest?.size ?? null,
    rows: seen.size,
    constant: constantIn([...seen.values()]),
    rateLimit: endpoint.rateLimit(),
    filterNotes: filter.notes,
    isAscending: updates.every((time, i) => i === 0 || time >= updates[i - 1]!),
  };
}

function constantIn(rows: readonly JsonObject[]): string[] {
  const [first = {}] = rows;
  const text = (value: unknown) => JSON.stringify(value);
  return rows.length < 2
    ? []
    : Object.keys(first).filter((name) => rows.every((row) => text(row[name]) === text(first[name])));
}

/** The filter, unless it leaves out for good what a poll needs; and what people are to know about it. */
async function tryFilter(
  parameter: string | null,
  first: Answer,
  fields: FieldsOfRows,
  ask: AskEndpoint,
): Promise<{ readonly parameter: string | null; readonly notes: readonly string[] }> {
  const { idField, updatedField, updatedFormat } = fields;
  const seen = ({ rows }: Answer): SeenRows => ({
    ids: rows.map((row) => keyOf(row, idField)),
    times: rows.map((row) => secondsOf(row[updatedField], updatedFormat)),
  });
  const askSince = async (since: number) =>
    seen(await ask({ [parameter!]: writeTime(since, updatedFormat) }));
  const edge = parameter === null ? 'unknown' : await filterEdge(seen(first), askSince);
  if (edge === 'shown') return { parameter, notes: [] };
  if (edge === 'unknown') {
    const note = `whether ${parameter} shows rows of the very time that is asked for could not be found out; doctor tries again`;
    return { parameter, notes: parameter === null ? [] : [note] };
  }
  if (edge === 'hidden') {
    const note = `${parameter} leaves out rows that were updated later than the time that is asked for, so it is not used`;
    return { parameter: null, notes: [note] };
  }
  const note = `${parameter} leaves out rows of the very time that is asked for; polls learn how much earlier they have to ask`;
  return { parameter, notes: [note] };
}

/** With `paging: none` a feed would end at the first full page. */
function pagingNotFound({ rows }: Answer): HighwaterError {
  const what = `The endpoint has more than the ${rows.length} rows of its first page, and none of the usual ways to ask for the next page works`;
  return new HighwaterError('USAGE_INVALID', what, {
    now: 'Nothing was written.',
    remedy:
      'Look up the paging in the documentation of the API, and write the feed by hand (docs/adding-a-feed.md lists what `paging` can be). If highwater cannot page so, name an address whose filters leave so few rows that one page holds them all.',
  });
}

/** The rows of an answer, where rows are known to be. */
function pageOf(body: unknown, linkHeader: string | undefined, responseKey: string): Answer {
  const rows: readonly JsonObject[] = rowsIn(body).find(({ path }) => path === responseKey)?.rows ?? [];
  return { isPage: rows.length > 0, rows, body, linkHeader };
}

interface Wanted {
  readonly question: string;
  readonly flag: string;
  readonly what: string;
}

/** The member that a flag names, that is the only candidate, or that the user chooses. */
async function oneOf(
  named: string | undefined,
  candidates: readonly Candidate[],
  { question, flag, what }: Wanted,
  context: CommandContext,
): Promise<string> {
  const names = candidates.map(({ name }) => name);
  if (named !== undefined && names.includes(named)) return named;
  if (named !== undefined || names.length === 0) {
    const which = named === undefined ? 'The answer has none' : `"${named}" is not one`;
    const others = names.length === 0 ? '' : `; these are: ${names.join(', ')}`;
    throw new HighwaterError('USAGE_INVALID', `${question} ${which}: it takes ${what}${others}`, {
      now: 'Nothing was written.',
      remedy: `Name an endpoint or query whose answer has rows with it, or name another one by ${flag}.`,
    });
  }
  if (names.length === 1 || isClear(candidates)) return names[0]!;
  const shown = names.map((name) => (name === '' ? '(the answer itself)' : name));
  return names[shown.indexOf(await choose({ question, options: shown, flag }, context))]!;
}
