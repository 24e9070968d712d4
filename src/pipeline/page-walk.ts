import { HighwaterError } from '../errors';
import type { FetchedPage, PageReader } from './page-reader';

/**
 * Reads rows that only paging can tell apart: one second that is wider than a page, or a window whose order is not given.
 *
 * While it walks, rows that the vendor updates leave the window, and those behind them move one place forward. Walked
 * upward, that would skip rows. So pages are walked from the last to the first, where it causes repeats, until a walk
 * brings no new id and no walk has had more rows than distinct ids are known. (Ties that the server shuffles on each
 * request need several walks.)
 */
export async function* walkPages(reader: PageReader, window: Window): AsyncGenerator<FetchedPage, Walked> {
  const seen = new Set<string>();
  const seenWithoutId = new Set<string>();
  let next: number | null = null;
  let rows = 0;
  let fresh = 0;
  let older = false;
  const take = (page: FetchedPage): boolean => {
    let inside = 0;
    page.facts.ids.forEach((id, i) => {
      const second = page.facts.updated[i] ?? null;
      if (second !== null && window.second !== null && second > window.second) {
        next = Math.min(next ?? second, second);
        return;
      }
      if (second !== null && window.second !== null && second < window.second) older = true;
      inside++;
      rows++;
      if (id !== null && !seen.has(id)) {
        seen.add(id);
        fresh++;
      } else if (id === null) {
        // It cannot be counted on as one record, but a new one is news.
        rows--;
        const key = page.facts.keys[i]!;
        if (!seenWithoutId.has(key)) fresh++;
        seenWithoutId.add(key);
      }
    });
    // A page with a row behind the window, or an empty one, is the window's end.
    return page.facts.length === 0 || inside < page.facts.length;
  };

  let top = 0;
  for (let walk = 0; walk <= MOST_WALKS; walk++) {
    rows = 0;
    fresh = 0;
    for (let ended = false; !ended; ) {
      if (top * reader.paging().pageSize > window.pagingLimit) throw beyondReach(window);
      const page = await reader.read(window.from, top);
      if (page === 'page-size-changed') return { end: 'begin-again', next };
      ended = take(page);
      // In front of the second, a row has become visible late; behind it, the pages are not oldest first.
      if (older) return { end: top === 0 ? 'begin-again' : 'not-in-order', next };
      if (!ended) top++;
      yield page;
    }
    // The first climb only finds the end; what it saw counts for the ids, not as a walk.
    if (walk === 0) continue;
    for (let n = top - 1; n >= 0; n--) {
      const page = await reader.read(window.from, n);
      if (page === 'page-size-changed') return { end: 'begin-again', next };
      take(page);
      yield page;
    }
    if (fresh === 0 && seen.size >= rows) return { end: 'all-read', next };
  }
  return { end: 'not-settled', next };
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

/** `not-in-order`: a row older than the one second came behind it, so the pages are not oldest first. */
export type WalkEnd = 'all-read' | 'not-settled' | 'not-in-order' | 'begin-again';

export interface Walked {
  readonly end: WalkEnd;
  /** The first second behind the window; null when the window reaches to the server's end. */
  readonly next: number | null;
}

export const MOST_WALKS = 20;

function beyondReach(window: Window): HighwaterError {
  const what =
    window.second !== null ? `second ${window.second}` : `window from ${window.from}, which has no order,`;
  return new HighwaterError(
    'SCAN_BEYOND_REACH',
    `The ${what} of feed ${window.feed} holds more records than paging reaches (${window.pagingLimit}).`,
  );
}
