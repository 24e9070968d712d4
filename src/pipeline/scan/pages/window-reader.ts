import type { Feed } from '../../../feeds/feed';
import { behindFirstPage } from './first-page';
import type { FetchedPage } from './page-facts';
import type { PageReader } from './page-reader';
import { MOST_RESTARTS, PageWalk } from './page-walk';
import { isCode, unlessRefused } from './refusals';
import { beyondReach, type WalkEnd, type Window } from './window';

/** A server or a cache may lag for so long. */
const LATE_SECONDS = 60;

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
  async *behind(begin: FetchedPage): AsyncGenerator<FetchedPage> {
    const { feed, reader, window } = this;
    let first = begin;
    this.page = first;
    const behind = await behindFirstPage(feed, reader, window.from, first);
    if (window.second !== null && !reader.paging().ordered) this.end = 'not-in-order';
    else if (behind === 'more') {
      let joins = false;
      for (let restarts = 0; ; restarts++) {
        const walk = new PageWalk(feed, reader, joins ? { ...window, otherBorders: false, joins } : window);
        try {
          this.end = yield* walk.pages(first);
        } catch (error) {
          // Pages of another size may stand still at a second where pages of the usual size do not.
          if (joins || !walk.hasMovedBorders || !isCode(error, ['SCAN_CURSOR_REPEATED'])) throw error;
          joins = true;
          first = await reader.readFirst(window.from);
          yield first;
          continue;
        }
        this.next = walk.next;
        if (!(await this.isCut(first, walk.seen.size))) break;
        // Later rows may have come since.
        if (restarts === MOST_RESTARTS) throw beyondReach(feed, { ...window, reach: walk.seen.size });
      }
    } else if (typeof behind === 'string') this.end = behind;
    else {
      this.end = 'all-read';
      this.page = behind;
    }
  }

  /**
   * Whether there are later rows, and the pages of a second have ended without one of them. An API that shows only so many rows of an answer,
   * and does not say so, would keep them from a scan in order for ever. It shows at least a page of them.
   */
  private async isCut({ knownSecond, agedMs }: FetchedPage, rows: number): Promise<boolean> {
    const { reader } = this;
    const { from, second } = this.window;
    const isEnd = this.end === 'all-read' && this.next === null && reader.announced.hidden === null;
    // A later row that one server shows, another one may not show yet. Pages that a cache has kept lack later rows as well.
    const shown = Math.min(knownSecond - LATE_SECONDS, reader.windowEnd(from));
    if (second === null || !isEnd || agedMs > 0 || second >= shown) return false;
    if (rows < (reader.paging().longestPage ?? 0)) return false;
    const behind = await unlessRefused(reader.readFirst(second + 1));
    return behind?.facts.updated.some((at) => at !== null && at > second && at < shown) ?? false;
  }
}
