import type { Behaviour } from '../behaviour';
import type { Endpoint } from '../endpoints';
import type { FeedQuery } from '../http/query';
import { type Random, shuffle } from '../random';
import { lowerBound, type Version, type View } from './view';

/** All rows that an answer's pages are cut from. */
export interface Window {
  readonly length: number;
  /** Rows from one position up to, not including, another. */
  rows(from: number, to: number): Version[];
}

/** Filters and orders the records by the query and the behaviour. */
export function selectWindow(
  endpoint: Endpoint,
  view: View,
  query: FeedQuery,
  behaviour: Behaviour,
  random: Random,
): Window {
  const keep = rowFilter();
  const since =
    behaviour.ignoreUpdated || query.updatedSince === null
      ? null
      : firstShown[behaviour.since](query.updatedSince);
  const low = since === null ? 0 : lowerBound(view.byUpdated, since);
  const kept = (rows: readonly Version[]) => (keep === null ? rows : rows.filter(keep));
  const listed = (rows: readonly Version[]) =>
    listWindow(kept(since === null ? rows : rows.filter(({ updated }) => updated >= since)));

  const order = query.updatedSince === null ? endpoint.defaultOrder : behaviour.order;
  switch (order) {
    case 'asc':
    case 'desc':
      return keep === null
        ? byUpdatedWindow(view.byUpdated, low, order === 'desc')
        : byUpdatedWindow(view.byUpdated.slice(low).filter(keep), 0, order === 'desc');
    case 'shuffled':
      return listWindow(shuffle([...kept(view.byUpdated.slice(low))], random));
    case 'insertion':
      return listed(view.byInsertion());
    case 'date':
      return listed(view.byDate());
  }

  function rowFilter(): ((row: Version) => boolean) | null {
    const { symbols } = query;
    let { from, to } = query;
    if (endpoint.latestDayDefault && behaviour.latestDayDefault && from === null && to === null) {
      from = view.latestDate();
      to = from;
    }
    const tests: ((row: Version) => boolean)[] = [];
    // A range around everything is what every careful client sends; it must not cost a pass over all rows.
    if (from !== null && view.earliestDate() < from) tests.push((row) => row.date >= from);
    if (to !== null && view.latestDate() > to) tests.push((row) => row.date <= to);
    if (symbols !== null) tests.push((row) => symbols.has(row.symbol));
    return tests.length === 0 ? null : (row) => tests.every((test) => test(row));
  }

  /** Rows sorted by `updated` from `low` on, read forwards or backwards, ties in their order or shuffled. */
  function byUpdatedWindow(sorted: readonly Version[], low: number, descending: boolean): Window {
    const length = sorted.length - low;
    return {
      length,
      rows: (from, to) => {
        const end = Math.min(to, length);
        if (from >= end) return [];
        const first = descending ? sorted.length - end : low + from;
        const last = descending ? sorted.length - from : low + end;
        const isTurned = behaviour.ties === 'by-page' && Math.floor(from / (to - from)) % 2 === 1;
        const rows =
          behaviour.ties === 'shuffled'
            ? withShuffledTies(sorted, low, first, last, random)
            : isTurned
              ? withTurnedTies(sorted, low, first, last)
              : sorted.slice(first, last);
        return descending ? rows.reverse() : rows;
      },
    };
  }
}

function listWindow(rows: readonly Version[]): Window {
  return { length: rows.length, rows: (from, to) => rows.slice(from, to) };
}

/** By behaviour: the second that is asked for → the least second of the rows that are shown. 0 asks for everything. */
const firstShown: Readonly<Record<Behaviour['since'], (since: number) => number>> = {
  from: (since) => since,
  after: (since) => (since === 0 ? 0 : since + 1),
  minute: (since) => Math.ceil(since / 60) * 60,
  hours: (since) => (since === 0 ? 0 : since + 8 * 3600),
  earlier: (since) => Math.max(0, since - 8 * 3600),
};

/** Shuffles each run of one second over its whole length, even if it reaches beyond the requested rows. */
function withShuffledTies(
  sorted: readonly Version[],
  low: number,
  first: number,
  last: number,
  random: Random,
): Version[] {
  const start = Math.max(low, lowerBound(sorted, sorted[first]!.updated));
  const end = lowerBound(sorted, sorted[last - 1]!.updated + 1);
  const rows: Version[] = [];
  for (let at = start; at < end; ) {
    const runEnd = lowerBound(sorted, sorted[at]!.updated + 1);
    for (const row of shuffle(sorted.slice(at, runEnd), random)) rows.push(row);
    at = runEnd;
  }
  return rows.slice(first - start, last - start);
}

/** Neighbours of one second change places, counted from `low`, in the same way at each request. */
function withTurnedTies(sorted: readonly Version[], low: number, first: number, last: number): Version[] {
  const rows: Version[] = [];
  for (let at = first; at < last; at++) {
    const run = Math.max(low, lowerBound(sorted, sorted[at]!.updated));
    const other = sorted[run + ((at - run) ^ 1)];
    rows.push(other?.updated === sorted[at]!.updated ? other : sorted[at]!);
  }
  return rows;
}
