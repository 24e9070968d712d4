import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { behindFirstPage } from './first-page';
import type { FetchedPage } from './page-facts';
import { seamRows } from './page-facts';
import type { PageReader } from './page-reader';
import { LEAST_EVIDENCE } from './paging';

/** Rows that only paging can tell apart. */
export interface Window {
  /** Anchor of all requests, Unix seconds. */
  readonly from: number;
  /** The only second that is read; later rows do not count. Null: everything from the anchor on. */
  readonly second: number | null;
  /** Greatest record position that the walk may ask for. */
  readonly reach: number;
}

/**
 * - `not-settled`: every walk brought new rows. `repeated`: the server shows the same rows again on other pages, in each walk.
 * - `not-in-order`: a row older than the window's second came behind that second.
 * - `begin-again`: a row has become visible in front of the window's second, or rows came while the end was looked for.
 * - `page-size-changed`: from now on fewer records are asked for, which moves every position.
 */
export type WalkEnd =
  | 'all-read'
  | 'not-settled'
  | 'repeated'
  | 'not-in-order'
  | 'begin-again'
  | 'page-size-changed';

export const MOST_WALKS = 20;

/**
 * How many walks in a row without a new id end the reading of ties that the server shuffles. A hidden row shows itself in each of them
 * with a chance of two thirds. The smaller number is enough if as many ids are known as rows ever came in one walk.
 */
const QUIET_WALKS = { ifAsManyIds: 4, else: 6 };

/** How often reading from one second begins again because pages contradict each other. Rows that come meanwhile need it once. */
export const MOST_RESTARTS = 3;

/**
 * The end of a window of n records comes after at most n pages, for any unit of paging. If ties are shuffled on each request, pages
 * of one row each have shown two thirds of the records by then. On a longer climb, the server ignores paging.
 */
const MOST_PAGES_A_RECORD = 2;
const MORE_PAGES = 10;

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

/**
 * While pages are walked, rows that the vendor updates leave the window, and the rows behind them move one place forward.
 * An upward walk would skip rows then. So numbered pages are walked from the last to the first, where a move causes a repeat,
 * until a walk brings no new id and had no more rows than distinct ids are known.
 *
 * If the server shuffles ties on each request, that is not enough: a known row that leaves the window stands for a row that no walk
 * has shown. Then several walks in a row have to bring nothing new.
 *
 * If each page says how the next one is asked for, there is no way down. A place in the vendor's own order does not shift, so
 * one climb is enough. An address may hold a number that shifts, so the climb is repeated until it brings no new id.
 */
export class PageWalk {
  /** The first second behind the window; null if the window reaches to the server's end. */
  next: number | null = null;
  /** Keys of all rows of the window, and how many of these rows have an id. */
  private readonly seen = new Set<string>();
  private ids = 0;
  /** How many rows the pages before each page had, as they came on the climb. The last number belongs to the page that ends it. */
  private begins = [0];
  /** This walk: how many rows have an id, whether one of them is new, and its pages, from the window's end to its beginning. */
  private rows = 0;
  private isNews = false;
  private shown: FetchedPage[] = [];
  /** The most rows with an id that a walk has had. */
  private mostRows = 0;
  /** Rows came in another order than in the walk before. */
  private isShuffled = false;
  private quietWalks = 0;

  constructor(
    private readonly feed: Feed,
    private readonly reader: PageReader,
    private readonly window: Window,
  ) {}

  /** @param first page 0: needed if each page says how the next one is asked for */
  async *pages(first?: FetchedPage): AsyncGenerator<FetchedPage, WalkEnd> {
    const { kind } = this.reader;
    // Only the first page leads to the second one, and reading it again would begin another walk.
    if (kind !== 'numbered' && first !== undefined) {
      this.take(first);
      this.begins.push(first.facts.length);
    }
    let before: FetchedPage[] = [];
    let orderBefore: ReadonlySet<string> = new Set();
    let repeated = 0;
    for (let walk = 0; walk <= MOST_WALKS; walk++) {
      this.rows = 0;
      this.isNews = false;
      this.shown = [];
      // The first climb only finds the end. Its rows count as seen, but it does not count as a walk.
      const hasDescent = kind === 'numbered' && walk > 0;
      const odd = (yield* this.climb(walk === 0)) ?? (hasDescent ? yield* this.descend() : null);
      if (odd !== null) return odd;
      if (kind === 'continued' || (kind === 'linked' && walk > 0 && !this.isNews)) return 'all-read';
      if (kind === 'linked') this.begins = [0];
      if (kind !== 'numbered') continue;
      const order = new Set(this.shown.toReversed().flatMap(({ facts }) => facts.keys));
      this.isShuffled ||= !keepsOrder(order, orderBefore);
      orderBefore = order;
      this.mostRows = Math.max(this.mostRows, this.rows);
      if (!hasDescent) continue;
      this.quietWalks = this.isNews ? 0 : this.quietWalks + 1;
      if (this.hasAllRows()) return 'all-read';
      // Shuffled ties would not come in the same order again. So many rows that do are where the server has them.
      repeated = !this.isNews && areSame(this.shown, before) ? repeated + this.rows : 0;
      if (repeated >= LEAST_EVIDENCE)
        return this.ids >= this.rows - this.rowsAtSeams() ? 'all-read' : 'repeated';
      before = this.shown;
    }
    return 'not-settled';
  }

  private hasAllRows(): boolean {
    if (this.quietWalks === 0 || this.ids < this.rows) return false;
    const needed = this.ids >= this.mostRows ? QUIET_WALKS.ifAsManyIds : QUIET_WALKS.else;
    return !this.isShuffled || this.quietWalks >= needed;
  }

  /** The first climb passes all pages; a later one only those from the end that was known. */
  private async *climb(isFirst: boolean): AsyncGenerator<FetchedPage, WalkEnd | null> {
    for (;;) {
      const n = this.begins.length - 1;
      const begin = this.begins[n]!;
      const { unit, pageSize } = this.reader.paging();
      const position = unit === 'record' ? begin : n * pageSize;
      if (position > this.window.reach) throw this.beyondReach();
      if (n > MOST_PAGES_A_RECORD * this.seen.size + MORE_PAGES) throw this.pagingIgnored(n);
      const page = await this.reader.read(this.window.from, n, begin);
      if (page === 'page-size-changed') return page;
      const { inside, named, hasOlder } = this.take(page);
      yield page;
      if (hasOlder) return olderOn(n);
      // A row behind the window ends it, and so does an empty page. The way down does not read this page.
      const isEnd = inside === 0 || inside < page.facts.length;
      if (isEnd || isFirst) {
        this.rows += named;
        this.shown.unshift(page);
      }
      if (isEnd) return null;
      this.begins.push(begin + page.facts.length);
    }
  }

  private async *descend(): AsyncGenerator<FetchedPage, WalkEnd | null> {
    for (let n = this.begins.length - 2; n >= 0; n--) {
      const begin = this.begins[n]!;
      const page = await this.reader.read(this.window.from, n, begin);
      if (page === 'page-size-changed') return page;
      // A server that counts records may cut the page shorter than on the climb: then the rows up to the next page come first.
      const due =
        this.reader.paging().unit === 'record' ? this.begins[n + 1]! - begin : Number.POSITIVE_INFINITY;
      const { length } = page.facts;
      const isCut = length > 0 && length < due && due < Number.POSITIVE_INFINITY;
      const { named, hasOlder } = this.take(page);
      yield page;
      if (hasOlder) return olderOn(n);
      if (isCut) {
        this.begins.splice(n + 1, 0, begin + length);
        n += 2;
        continue;
      }
      this.rows += Math.min(named, due);
      this.shown.push(page);
    }
    return null;
  }

  /** @returns how many rows of the page are in the window and how many of them have an id, and whether one is too old for it */
  private take({ facts }: FetchedPage) {
    const { second } = this.window;
    let inside = 0;
    let named = 0;
    let hasOlder = false;
    facts.keys.forEach((key, i) => {
      const updated = facts.updated[i] ?? null;
      if (second !== null && updated !== null && updated > second) {
        this.next = Math.min(this.next ?? updated, updated);
        return;
      }
      if (second !== null && updated !== null && updated < second) hasOlder = true;
      const hasId = facts.ids[i] !== null;
      inside++;
      if (hasId) named++;
      if (this.seen.has(key)) return;
      this.seen.add(key);
      this.isNews = true;
      if (hasId) this.ids++;
    });
    return { inside, named, hasOlder };
  }

  /** Rows that begin a page and also ended the page before: nothing is hidden between these two pages. */
  private rowsAtSeams(): number {
    const pages = this.shown.toReversed();
    const countsPages = this.reader.paging().unit !== 'record';
    return pages.slice(1).reduce((sum, page, n) => {
      // Numbers that count pages from 1 show the first page twice.
      const mayBeWhole = countsPages && n === 0;
      return sum + seamRows(pages[n]!.facts, page.facts, mayBeWhole);
    }, 0);
  }

  private beyondReach(): HighwaterError {
    const { from, second, reach } = this.window;
    const what = second !== null ? `second ${second}` : `window from ${from}, which has no order,`;
    return new HighwaterError(
      'SCAN_BEYOND_REACH',
      `The ${what} of feed ${this.feed.name} holds more records than paging reaches (${reach}).`,
    );
  }

  private pagingIgnored(pages: number): HighwaterError {
    return new HighwaterError(
      'SCAN_PAGING_IGNORED',
      `Feed ${this.feed.name}: ${pages} pages from ${this.window.from} on show the same ${this.seen.size} records again and again ` +
        'and come to no end, so the server ignores paging; what does not fit into one page cannot be read.',
    );
  }
}

/** On the first page, a row has become visible late in front of the second. On a later page, pages may not be oldest first. */
function olderOn(n: number): WalkEnd {
  return n === 0 ? 'begin-again' : 'not-in-order';
}

/** Rows that both walks showed come in the same order. */
function keepsOrder(keys: ReadonlySet<string>, before: ReadonlySet<string>): boolean {
  const places = new Map([...before].map((key, at) => [key, at]));
  let last = -1;
  return [...keys].every((key) => {
    const place = places.get(key) ?? last;
    const isBehind = place >= last;
    last = place;
    return isBehind;
  });
}

/** Two walks showed the same rows in the same places. */
function areSame(walk: readonly FetchedPage[], before: readonly FetchedPage[]): boolean {
  const isSamePage = ({ facts: { keys } }: FetchedPage, i: number): boolean => {
    const other = before[i]!.facts.keys;
    return keys.length === other.length && keys.every((key, at) => key === other[at]);
  };
  return walk.length === before.length && walk.every(isSamePage);
}
