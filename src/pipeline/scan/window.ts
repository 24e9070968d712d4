import type { Feed } from '../../feeds/feed';
import type { FetchedPage } from './fetched-page';
import { behindFirstPage } from './first-page';
import type { PageReader } from './page-reader';
import { MOST_RESTARTS, type Window, walkPages } from './page-walk';

/** How the reading of a window went. */
export interface WindowRead {
  /** Everything that the server showed has been read, as far as the walks could tell. */
  readonly isSettled: boolean;
  /** The page that it began with, the last time. */
  readonly first: FetchedPage;
}

/**
 * Reads a window in whatever order its rows come: the first page, and where rows go on behind it, walks over all pages.
 * An empty first page is not believed at once.
 * @throws HighwaterError SCAN_BEYOND_REACH, SCAN_PAGING_IGNORED
 */
export async function* readWindow(
  feed: Feed,
  reader: PageReader,
  window: Window,
): AsyncGenerator<FetchedPage, WindowRead> {
  for (let restarts = 0; ; ) {
    let first = await reader.readFirst(window.from);
    if (first.facts.length === 0) first = await reader.readFirst(window.from);
    yield first;
    if (first.facts.length === 0) return { first, isSettled: true };
    const beyond = await behindFirstPage(feed, reader, window.from, first);
    if (typeof beyond !== 'string') return { first, isSettled: true };
    const { end } = beyond === 'more' ? yield* walkPages(reader, window, first) : { end: beyond };
    if (end === 'all-read') return { first, isSettled: true };
    if (end === 'page-size-changed') continue;
    if (end === 'not-settled' || ++restarts > MOST_RESTARTS) return { first, isSettled: false };
  }
}
