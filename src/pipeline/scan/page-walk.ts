import { HighwaterError } from '../../errors';
import type { FetchedPage } from './fetched-page';
import type { PageReader } from './page-reader';

/**
 * Reads rows that only paging can tell apart: one second that is wider than a page, or a window whose order is not given.
 *
 * While it walks, rows that the vendor updates leave the window, and those behind them move one place forward. Walked
 * upward, that would skip rows. So pages are walked from the last to the first, where it causes repeats, until a walk
 * brings no new id and no walk has had more rows than distinct ids are known. (Ties that the server shuffles on each
 * request need several walks.)
 *
 * Where each page says how the next one is asked for, there is no way down. A place in the vendor's own order does not shift:
 * one climb is all. An address may hold a number that does: the climb is repeated until it brings no new id.
 *
 * @param first page 0, if the caller has read it last
 * @throws HighwaterError SCAN_BEYOND_REACH, SCAN_PAGING_IGNORED
 */
export async function* walkPages(
  reader: PageReader,
  window: Window,
  first?: FetchedPage,
): AsyncGenerator<FetchedPage, Walked> {
  const seen = new Set<string>();
  const seenWithoutId = new Set<string>();
  let next: number | null = null;
  let rows = 0;
  let isNews = false;
  const take = (page: FetchedPage): Taken => {
    let inside = 0;
    let hasOlder = false;
    page.facts.ids.forEach((id, i) => {
      const second = page.facts.updated[i] ?? null;
      if (second !== null && window.second !== null && second > window.second) {
        next = Math.min(next ?? second, second);
        return;
      }
      if (second !== null && window.second !== null && second < window.second) hasOlder = true;
      inside++;
      rows++;
      if (id !== null && !seen.has(id)) {
        seen.add(id);
        isNews = true;
      } else if (id === null) {
        // It cannot be counted on as one record, but a new one is news.
        rows--;
        const key = page.facts.keys[i]!;
        if (!seenWithoutId.has(key)) isNews = true;
        seenWithoutId.add(key);
      }
    });
    // A page with a row behind the window, or an empty one, is the window's end.
    const isEnd = page.facts.length === 0 || inside < page.facts.length;
    return { isEnd, hasOlder };
  };

  const { kind } = reader;
  let top = 0;
  // No other page leads to the next one, and reading it again would begin another walk.
  if (kind !== 'numbered' && first !== undefined) {
    take(first);
    top = 1;
  }
  for (let walk = 0; walk <= MOST_WALKS; walk++) {
    rows = 0;
    isNews = false;
    for (let ended = false; !ended; ) {
      if (top * reader.paging().pageSize > window.pagingLimit) throw beyondReach(window);
      const records = seen.size + seenWithoutId.size;
      if (top > MOST_PAGES_A_RECORD * records + MORE_PAGES) throw pagingIgnored(window, top, records);
      const page = await reader.read(window.from, top);
      if (page === 'page-size-changed') return { end: page, next };
      const { isEnd, hasOlder } = take(page);
      yield page;
      if (hasOlder) return { end: olderOn(top), next };
      ended = isEnd;
      if (!ended) top++;
    }
    if (kind === 'continued' || (kind === 'linked' && walk > 0 && !isNews)) return { end: 'all-read', next };
    if (kind === 'linked') {
      top = 0;
      continue;
    }
    // The first climb only finds the end; what it saw counts for the ids, not as a walk.
    if (walk === 0) continue;
    for (let n = top - 1; n >= 0; n--) {
      const page = await reader.read(window.from, n);
      if (page === 'page-size-changed') return { end: page, next };
      const { hasOlder } = take(page);
      yield page;
      if (hasOlder) return { end: olderOn(n), next };
    }
    if (!isNews && seen.size >= rows) return { end: 'all-read', next };
  }
  return { end: 'not-settled', next };
}

/** On the first page, a row has become visible late in front of the second; on a later one, pages may not be oldest first. */
function olderOn(n: number): WalkEnd {
  return n === 0 ? 'begin-again' : 'not-in-order';
}

/** What a page was for a walk. */
interface Taken {
  /** The window ends on it. */
  readonly isEnd: boolean;
  /** A row on it is older than the one second that is read. */
  readonly hasOlder: boolean;
}

export interface Window {
  /** Anchor of all requests, Unix seconds. */
  readonly from: number;
  /** The one second that is read; rows after it are not the walk's concern. Null for everything from the anchor on. */
  readonly second: number | null;
  /** Greatest record position that the server's paging reaches. */
  readonly pagingLimit: number;
  readonly feed: string;
}

/** `not-in-order`: a row older than the one second came behind it. */
export type WalkEnd = 'all-read' | 'not-settled' | 'not-in-order' | 'begin-again' | 'page-size-changed';

export interface Walked {
  readonly end: WalkEnd;
  /** The first second behind the window; null when the window reaches to the server's end. */
  readonly next: number | null;
}

export const MOST_WALKS = 20;

/** How often reading from one second begins again because pages contradict each other: rows that come in between need it once. */
export const MOST_RESTARTS = 3;

/**
 * The end of a window of n records comes after n pages at most, whatever paging counts. Where ties are shuffled on each request,
 * pages of one row each have shown two thirds of the records by then. A longer climb leads nowhere: the server ignores paging.
 */
const MOST_PAGES_A_RECORD = 2;
const MORE_PAGES = 10;

function beyondReach(window: Window): HighwaterError {
  const what =
    window.second !== null ? `second ${window.second}` : `window from ${window.from}, which has no order,`;
  return new HighwaterError(
    'SCAN_BEYOND_REACH',
    `The ${what} of feed ${window.feed} holds more records than paging reaches (${window.pagingLimit}).`,
  );
}

function pagingIgnored({ feed, from }: Window, pages: number, records: number): HighwaterError {
  return new HighwaterError(
    'SCAN_PAGING_IGNORED',
    `Feed ${feed}: ${pages} pages from ${from} on show the same ${records} records again and again and come to no end, ` +
      'so the server ignores paging; what does not fit into one page cannot be read.',
  );
}
