import type { Endpoint } from '../endpoints';
import { type Answer, badRequest } from './answer';

export type QueryText = Readonly<Record<string, string | string[] | undefined>>;

/** A parsed request. */
export type FeedQuery = Exclude<ReturnType<typeof readQuery>, Answer>;

const defaultPageSize = 100;
const maxPageSize = 1000;
const maxPage = 100_000;
const maxSymbols = 50;

/** The query, or the answer that refuses it. */
export function readQuery(endpoint: Endpoint, query: QueryText) {
  const text = (name: string): string | null => {
    const value = query[name];
    const last = Array.isArray(value) ? value.at(-1) : value;
    return last === undefined || last === '' ? null : last;
  };

  const page = wholeNumber(text(endpoint.page), 0);
  if (page === null || page > maxPage) return badRequest('Invalid page');
  const asked = wholeNumber(text(endpoint.pageSize), defaultPageSize);
  if (asked === null || asked === 0) return badRequest('Invalid page size');
  const since = text(endpoint.updatedSince);
  const updatedSince = since === null ? null : wholeNumber(since, 0);
  if (since !== null && updatedSince === null) return badRequest('Invalid updated');

  let from: string | null = null;
  let to: string | null = null;
  if (endpoint.dates !== null) {
    const on = endpoint.dates.on.map(text).find((date) => date !== null) ?? null;
    from = on ?? text(endpoint.dates.from);
    to = on ?? text(endpoint.dates.to);
    for (const date of [from, to]) {
      if (date !== null && !/^\d{4}-\d{2}-\d{2}$/.test(date)) return badRequest('Invalid date');
    }
  }

  const list = endpoint.symbols === null ? null : text(endpoint.symbols);
  const symbols: ReadonlySet<string> | null =
    list === null ? null : new Set(list.split(',').map((symbol) => symbol.trim().toUpperCase()));
  if (symbols !== null && symbols.size > maxSymbols) return badRequest('Too many tickers');

  return {
    page,
    pageSize: Math.min(asked, maxPageSize),
    /** Unix seconds, inclusive; null: not asked. */
    updatedSince,
    from,
    to,
    symbols,
  };
}

function wholeNumber(text: string | null, otherwise: number): number | null {
  if (text === null) return otherwise;
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
