import { HighwaterError } from '../../errors';
import { type FetchedPage, pageBehind } from './page-facts';

/** Pages whose answers say how the next page is asked for. */
export interface ContinuedPages {
  /**
   * Page n (from 0) of the rows from a second on. Page 0 begins a new walk; a later page is reached from the last page that the walk
   * has read. If a page has no rows but names a next page, the page behind it takes its place.
   *
   * @returns null when a body was too large: the walk is over then
   * @throws HighwaterError SCAN_CURSOR_REPEATED, SCAN_PAGING_IGNORED
   */
  read(from: number, n: number): Promise<FetchedPage | null>;
}

/** Pages without rows that one scan accepts, and how many more for each page with rows. */
const MOST_EMPTY_PAGES = 100;
const EMPTY_PAGES_A_PAGE = 2;

/** @param fetch null: the body was too large */
export function continuedPages(
  feed: string,
  fetch: (from: number, continuation: string | undefined) => Promise<FetchedPage | null>,
): ContinuedPages {
  let from = Number.NaN;
  /** The place of each page of the walk: undefined for page 0, null behind the last page. */
  let places: (string | null | undefined)[] = [undefined];
  /** Place → the number of the page that was asked for there. */
  let pages = new Map<string, number>();
  let latest: FetchedPage | null = null;
  let full = 0;
  let empty = 0;

  function begin(second: number): void {
    from = second;
    places = [undefined];
    pages = new Map();
  }

  /** Forgets the places behind page n, since that page is read again. */
  function goBackTo(n: number): void {
    places.length = n + 1;
    for (const [place, page] of pages) if (page >= n) pages.delete(place);
  }

  function visit(place: string, n: number): void {
    const before = pages.get(place);
    if (before !== undefined) throw cursorRepeated(feed, from, n, before);
    pages.set(place, n);
  }

  /** @param n the first page of the walk that is not read yet */
  async function readNext(n: number): Promise<FetchedPage | null> {
    let place = places[n] ?? undefined;
    let first: FetchedPage | null = null;
    for (;;) {
      if (place !== undefined) visit(place, n);
      const page = await fetch(from, place);
      if (page === null) return null;
      first ??= page;
      // Some APIs name a place for future rows behind their last page. It has no rows, and names itself as the next place.
      const isLast = page.next === null || (page.facts.length === 0 && page.next === place);
      if (page.facts.length > 0 || isLast) {
        full++;
        places[n] = place;
        places[n + 1] = isLast ? null : page.next;
        const { serverSecond, ownSecond, knownSecond } = first;
        // A row that became visible after the first of these answers may be on none of them.
        latest = first === page ? page : { ...page, serverSecond, ownSecond, knownSecond };
        return latest;
      }
      empty++;
      if (empty > MOST_EMPTY_PAGES + EMPTY_PAGES_A_PAGE * full) throw onlyEmptyPages(feed, from, empty);
      place = page.next;
    }
  }

  return {
    async read(second, n) {
      if (n === 0 || second !== from) begin(second);
      if (n < places.length - 1) goBackTo(n);
      for (let i = places.length - 1; ; i++) {
        if (places[i] === null) return pageBehind(latest!);
        const page = await readNext(i);
        if (page === null) begin(Number.NaN);
        if (page === null || i === n) return page;
      }
    },
  };
}

function cursorRepeated(feed: string, from: number, n: number, before: number): HighwaterError {
  return new HighwaterError(
    'SCAN_CURSOR_REPEATED',
    `Feed ${feed}: page ${n} of the rows from ${from} on would be asked for exactly as page ${before} was, so the pages would never end.`,
  );
}

function onlyEmptyPages(feed: string, from: number, count: number): HighwaterError {
  return new HighwaterError(
    'SCAN_PAGING_IGNORED',
    `Feed ${feed}: ${count} pages from ${from} on had no records, and each of them named a next one.`,
  );
}
