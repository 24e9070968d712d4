import type { Feed } from '../../../feeds/feed';
import { behindFirstPage } from './first-page';
import type { FetchedPage } from './page-facts';
import type { PageReader } from './page-reader';
import { MOST_RESTARTS, PageWalk } from './page-walk';
import type { WalkEnd, Window } from './window';

/**
 * Reads the rows of a window, in any order. `end`, `next` and `page` say how it went, once `pages` or `behind` is over.
 *
 * Both throw HighwaterError SCAN_BEYOND_REACH or SCAN_PAGING_IGNORED.
 */
export class WindowReader {
  end: WalkEnd = 'all-read';
  /** The first second behind the window; null if the window reaches to the server's end. */
  next: number | null = null;
  /** The first page. After `behind`, the page that proved that nothing is behind the first page, if there was one. */
  page!: FetchedPage;

  constructor(
    private readonly feed: Feed,
    private readonly reader: PageReader,
    private readonly window: Window,
  ) {}

  /** Everything that the server showed has been read, as far as the walks could tell. */
  get isSettled(): boolean {
    return this.end === 'all-read';
  }

  /** All pages of the window. An empty first page is asked for again. */
  async *pages(): AsyncGenerator<FetchedPage> {
    const { reader, window } = this;
    for (let restarts = 0; ; ) {
      let first = await reader.readFirst(window.from);
      if (first.facts.length === 0) first = await reader.readFirst(window.from);
      yield first;
      if (first.facts.length === 0) this.end = 'all-read';
      else yield* this.behind(first);
      this.page = first;
      if (this.end === 'page-size-changed') continue;
      if (this.end !== 'begin-again' || ++restarts > MOST_RESTARTS) return;
    }
  }

  /** The pages behind the first one. */
  async *behind(first: FetchedPage): AsyncGenerator<FetchedPage> {
    const { feed, reader, window } = this;
    this.page = first;
    const behind = await behindFirstPage(feed, reader, window.from, first);
    if (window.second !== null && !reader.paging().ordered) this.end = 'not-in-order';
    else if (behind === 'more') {
      const walk = new PageWalk(feed, reader, window);
      this.end = yield* walk.pages(first);
      this.next = walk.next;
    } else if (typeof behind === 'string') this.end = behind;
    else {
      this.end = 'all-read';
      this.page = behind;
    }
  }
}
