import type { Feed } from '../../../feeds/feed';
import { type FetchedPage, haveSameKeys, keepsOrder, type PageFacts, seamRows } from './page-facts';
import type { PageReader } from './page-reader';
import { LEAST_EVIDENCE } from './paging';
import { beyondReach, pagingIgnored, tryPageSize, type WalkEnd, type Window } from './window';

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
 * of one row each have shown two thirds of the records by then. On a longer climb, the server ignores paging. So it does if that many
 * pages show known rows, and do not get shorter, for each older record behind the first page.
 */
const MOST_PAGES_A_RECORD = 2;
const MORE_PAGES = 10;

/** So many pages in a row that have only rows of the time since the walk began. */
const MOST_FRESH_PAGES = 1_000;

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
 *
 * A row that comes on two pages may stand in the place of a row that is on none: a server that orders ties differently on each page
 * does so in the same way at each request. Walks over the same pages cannot show that. So the next walks go over pages with other
 * borders. If the API decides the borders, the window does not count as settled.
 */
export class PageWalk {
  /** The first second behind the window; null if the window reaches to the server's end. */
  next: number | null = null;
  /** Keys of all rows of the window, how many of them have an id, and how many were not written since the walk began. */
  readonly seen = new Set<string>();
  private ids = 0;
  private older = 0;
  /** How many rows the pages before each page had, as they came on the climb. The last number belongs to the page that ends it. */
  private begins = [0];
  /** Where the second page begins, if not behind the first one: moves the borders of pages that are asked for by position. */
  private secondBegin = Number.POSITIVE_INFINITY;
  /** This walk: how many rows have an id, whether one of them is new, and its pages, from the window's end to its beginning. */
  private rows = 0;
  private isNews = false;
  /** Rows behind the window's second, and whether some of them still have to be seen before the second is left. */
  private later = 0;
  private looksBeyond: boolean;
  private shown: FetchedPage[] = [];
  /** This walk: key → second at which the row came, how many rows have ids of their own, and how many came again at the same second. */
  private places = new Map<string, number | null>();
  private names = 0;
  /** The first page and the last one, as they came on the climb, and whether nothing is behind the last one. */
  private first: PageFacts | null = null;
  private last: PageFacts | null = null;
  private isEndShown = true;
  private repeats = 0;
  private mostRows = 0; // the most rows with an id that a walk has had
  private isShuffled = false; // rows came in another order than in the walk before
  private quietWalks = 0;
  private quietBorders = 0; // walks in a row without a new row, each over pages with other borders
  hasMovedBorders = false;
  private hasFixedSize = false;
  private hasOtherBorders = false; // this walk goes over pages with other borders than all walks before
  /** Time of the first answer, Unix seconds. Rows that are no older were not hidden before. */
  private began = Number.POSITIVE_INFINITY;

  constructor(
    private readonly feed: Feed,
    private readonly reader: PageReader,
    private readonly window: Window,
  ) {
    this.looksBeyond = window.second !== null;
  }

  /** @param first page 0: needed if each page says how the next one is asked for */
  async *pages(first?: FetchedPage): AsyncGenerator<FetchedPage, WalkEnd> {
    const asked = this.reader.paging();
    this.began = first?.knownSecond ?? Number.POSITIVE_INFINITY;
    try {
      return yield* this.walks(first);
    } finally {
      const { pageSize, longestPage } = asked;
      if (this.hasMovedBorders) this.reader.setPaging({ ...this.reader.paging(), pageSize, longestPage });
    }
  }

  private async *walks(first?: FetchedPage): AsyncGenerator<FetchedPage, WalkEnd> {
    const { kind } = this.reader;
    let before: FetchedPage[] = [];
    let orderBefore: readonly string[] = [];
    let repeated = 0;
    // Pages that name the next one keep their borders, so the first one is read again, too.
    const isBegunAnew = this.window.otherBorders && kind !== 'numbered' && (await this.moveBorders(first));
    for (let walk = 0; walk <= MOST_WALKS; walk++) {
      this.begin();
      // Only the first page leads to the second one, and reading it again would begin another walk.
      if (kind !== 'numbered' && walk === 0 && first !== undefined && !isBegunAnew) this.show(first);
      // The first climb only finds the end. Its rows count as seen, but it does not count as a walk.
      const hasDescent = kind === 'numbered' && walk > 0;
      const odd =
        (yield* this.climb(walk === 0 || kind !== 'numbered')) ?? (hasDescent ? yield* this.descend() : null);
      if (odd !== null) return odd;
      const order = [...new Set(this.shown.toReversed().flatMap(({ facts }) => facts.keys))];
      this.isShuffled ||= !keepsOrder(order, orderBefore);
      orderBefore = order;
      this.mostRows = Math.max(this.mostRows, this.rows);
      if (kind === 'numbered' && !hasDescent) {
        if (this.window.otherBorders) await this.moveBorders();
        continue;
      }
      this.quietWalks = this.isNews ? 0 : this.quietWalks + 1;
      if (this.isNews) this.quietBorders = 0;
      else if (this.hasOtherBorders) this.quietBorders++;
      this.hasOtherBorders = false;
      // Other borders than before show other rows: ties change places.
      this.isShuffled ||= walk > 0 && this.hasMovedBorders && (this.isNews || this.names < this.ids);
      if (this.hasAllRows()) return 'all-read';

      // Shuffled ties would not come in the same order again. So many rows that do are where the server has them.
      repeated = !this.isNews && areSame(this.shown, before) ? repeated + this.rows : 0;
      before = this.shown;
      if (kind !== 'numbered') this.begins = [0];
      if (this.surplus() <= 0 || (kind === 'numbered' && this.isNews)) continue;
      const isEnough = this.quietBorders >= this.neededWalks();
      if (isEnough && (kind !== 'numbered' || this.surplus() <= this.rowsAtSeams())) return 'all-read';
      if (repeated >= LEAST_EVIDENCE && (isEnough || this.otherLength() === 0)) return 'repeated';
      if (!isEnough && (await this.moveBorders())) continue;
      if (kind !== 'numbered' && !this.isNews) return 'repeated';
    }
    return 'not-settled';
  }

  private begin(): void {
    this.rows = 0;
    this.isNews = false;
    this.shown = [];
    this.places = new Map();
    this.names = 0;
    this.repeats = 0;
  }

  /** Takes the first page of a climb that another reader has fetched. */
  private show(first: FetchedPage): void {
    this.rows += this.take(first).named;
    this.shown.unshift(first);
    this.begins.push(first.facts.length);
  }

  private hasAllRows(): boolean {
    if (this.surplus() > 0) return false;
    if (this.reader.kind === 'continued') return true;
    if (this.quietWalks === 0) return false;
    return !this.isShuffled || this.quietWalks >= this.neededWalks();
  }

  private neededWalks(): number {
    if (!this.isShuffled) return this.isEndShown ? 1 : 2; // pages of one other size may all be full, too
    return this.ids >= this.mostRows ? QUIET_WALKS.ifAsManyIds : QUIET_WALKS.else;
  }

  /** Rows of this walk that may stand in the places of rows that it has not shown. */
  private surplus(): number {
    if (!this.isEndShown) return Math.max(1, this.rows - this.ids);
    // A feed of one record has no borders.
    if (this.ids < 2) return 0;
    // A row that moves to the end of its order comes twice, with another time.
    const rows =
      this.reader.kind === 'numbered' ? this.rows - this.ids : this.window.joins ? 0 : this.repeats;
    return rows - this.firstPageAgain();
  }

  /** Numbers that count pages from 1 show the first page twice. */
  private firstPageAgain(): number {
    const [first, second] = [this.shown.at(-1)?.facts, this.shown.at(-2)?.facts];
    if (this.reader.kind !== 'numbered' || this.reader.paging().unit === 'record') return 0;
    // A page of one row may be one of two ties.
    const isAgain =
      first !== undefined && second !== undefined && first.length > 1 && haveSameKeys(first, second);
    return isAgain ? second.ids.filter((id) => id !== null).length : 0;
  }

  /** A length of pages that moves their borders; 0: there is none. */
  private otherLength(first = this.shown.at(-1)): number {
    const length = first?.facts.length ?? 0;
    return this.reader.bordersMove === 'never' || this.hasFixedSize
      ? 0
      : Math.max(0, Math.min(length, this.secondBegin) - 1);
  }

  /** The next walk goes over pages that begin and end at other rows. @param first page as it was shown last @returns whether it does */
  private async moveBorders(first?: FetchedPage): Promise<boolean> {
    const length = this.otherLength(first);
    if (length === 0) return false;
    if (this.reader.bordersMove === 'by-position') this.secondBegin = length;
    else this.hasFixedSize = !(await tryPageSize(this.reader, length, this.window.from));
    if (this.hasFixedSize) return false;
    this.hasMovedBorders = true;
    this.hasOtherBorders = true;
    this.isEndShown = true;
    this.begins = [0];
    return true;
  }

  /** The first climb passes all pages; a later one only those from the end that was known. */
  private async *climb(isFirst: boolean): AsyncGenerator<FetchedPage, WalkEnd | null> {
    let quiet = 0;
    let fresh = 0;
    for (;;) {
      const n = this.begins.length - 1;
      const begin = this.begins[n]!;
      const { unit, pageSize, longestPage } = this.reader.paging();
      const position = unit === 'record' ? begin : n * pageSize;
      if (position >= this.window.reach) {
        // A short page shows the end without a request behind it.
        if ((this.last?.length ?? 0) < (this.first?.length ?? 0)) return null;
        throw beyondReach(this.feed, this.window);
      }
      const behind = Math.max(0, this.older - (this.first?.length ?? 0));
      if (quiet > MOST_PAGES_A_RECORD * behind + MORE_PAGES) {
        // Rows came behind a page that held all others. Places behind it may begin again.
        if ((this.first?.length ?? 0) < (longestPage || pageSize)) return 'begin-again';
        throw pagingIgnored(this.feed, this.window, n, this.seen.size);
      }
      const page = await this.reader.read(this.window.from, n, begin);
      if (page === 'page-size-changed') return page;
      if (this.beginsAgain(n, page.facts)) {
        // More rows follow the first page, and a full page may say so by its length.
        const isSaid = this.isEndShown && !haveSameKeys(page.facts, this.first!);
        await this.reader.noteEnd(this.window.from, isSaid ? page : { ...page, isLast: null }, begin);
        return null;
      }
      fresh = this.isFresh(page) ? fresh + 1 : 0;
      if (fresh > MOST_FRESH_PAGES) return 'not-settled';
      const [{ size }, { older }] = [this.seen, this];
      const { inside, named, hasOlder } = this.take(page);
      yield page;
      if (hasOlder) return olderOn(n);
      const isKnown = this.older === older && 2 * (this.seen.size - size) < page.facts.length;
      if (isKnown && page.facts.length >= (this.last?.length ?? 0)) quiet++;
      // A row behind the window ends it, and so does an empty page. The way down does not read this page.
      const isEnd = inside === 0 || inside < page.facts.length;
      if (isEnd || isFirst) {
        this.rows += named;
        this.shown.unshift(page);
      }
      const end = begin + page.facts.length;
      if (isEnd) return this.looksBeyond && this.later > 0 ? yield* this.beyond(n, end) : null;
      this.last = page.facts;
      this.begins.push(n === 0 ? Math.min(end, this.secondBegin) : end);
    }
  }

  /** All rows are younger than the walk: if the vendor writes as many rows as a page has, the end is never reached. */
  private isFresh({ facts: { updated } }: FetchedPage): boolean {
    return updated.length > 0 && updated.every((second) => second !== null && second >= this.began);
  }

  /**
   * Positions behind the last row show the first page again, or the last one. If that page is shorter than the first one, it is the end. A
   * full page may also be the last one that paging reaches: then pages with other borders have to show the end.
   */
  private beginsAgain(n: number, page: PageFacts): boolean {
    if (n === 0) this.first = page;
    const { first, last } = this;
    // If the second page is the first one, paging is ignored.
    if (this.reader.kind !== 'numbered' || n < 2 || first === null || last === null) return false;
    const isAgain = !haveSameKeys(first, last) && [first, last].some((one) => haveSameKeys(page, one));
    if (isAgain) this.isEndShown = last.length < first.length;
    return isAgain;
  }

  /**
   * Some rows behind the window's second, so that it is not left because of a few rows that were updated in a list that is not in
   * order: rows of the second, or older ones, would follow them.
   */
  private async *beyond(end: number, rows: number): AsyncGenerator<FetchedPage, WalkEnd | null> {
    this.looksBeyond = false;
    let before = rows;
    for (let n = end + 1; this.later < LEAST_EVIDENCE && n <= end + LEAST_EVIDENCE; n++) {
      const page = await this.reader.read(this.window.from, n, before);
      if (page === 'page-size-changed') return page;
      if (page.facts.length === 0) return null;
      const { keys, updated } = page.facts;
      const isBehind = keys.some(
        (key, i) => !this.seen.has(key) && (updated[i] ?? Number.POSITIVE_INFINITY) <= this.window.second!,
      );
      if (isBehind) return 'not-in-order';
      // Rows without a time are of any second, so they do not count as rows of the window.
      for (const second of updated) if (second !== null) this.passes(second);
      yield page;
      before += page.facts.length;
    }
    return null;
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
      const { named, hasOlder } = this.take(page, due);
      yield page;
      if (hasOlder) return olderOn(n);
      if (isCut) {
        this.begins.splice(n + 1, 0, begin + length);
        n += 2;
        continue;
      }
      this.rows += named;
      this.shown.push(page);
    }
    return null;
  }

  /**
   * @param due how many rows come before those of the next page
   * @returns how many rows of the page are in the window, how many of those due have an id, and whether one is too old for it
   */
  private take({ facts }: FetchedPage, due = Number.POSITIVE_INFINITY) {
    const { second } = this.window;
    let inside = 0;
    let named = 0;
    let hasOlder = false;
    let hasLater = false;
    facts.keys.forEach((key, i) => {
      const updated = facts.updated[i] ?? null;
      if (updated !== null && this.passes(updated)) {
        hasLater = true;
        return;
      }
      // Behind a later row, pages that are not read any more may have rows of the second, too.
      if (second !== null && updated !== null && (hasLater || updated < this.least(second))) hasOlder = true;
      const hasId = facts.ids[i] !== null;
      inside++;
      if (hasId && i < due) named++;
      if (hasId && this.places.get(key) === updated) this.repeats++;
      if (hasId && !this.places.has(key)) this.names++;
      this.places.set(key, updated);
      if (this.seen.has(key)) return;
      this.seen.add(key);
      if ((updated ?? 0) < this.began) this.older++;
      this.isNews ||= this.reader.kind === 'numbered' || (updated ?? 0) < this.began;
      if (hasId) this.ids++;
    });
    return { inside, named, hasOlder };
  }

  /** Notes a row behind the window. @returns whether the row is there */
  private passes(updated: number): boolean {
    const { second } = this.window;
    if (second === null || updated <= second) return false;
    this.next = Math.min(this.next ?? updated, updated);
    this.later++;
    return true;
  }

  /** A filter with a lag shows rows in front of the window's second. */
  private least(second: number): number {
    return this.reader.paging().lag === 0 ? second : this.reader.least(this.window.from);
  }

  /** Rows that begin a page and also ended the page before. If other borders show no more rows, each page only joins the next one. */
  private rowsAtSeams(): number {
    const pages = this.shown.toReversed();
    const countsPages = this.reader.paging().unit !== 'record';
    return pages.slice(1).reduce((sum, page, n) => {
      const before = pages[n]!.facts;
      const asked = n === 0 ? Math.max(0, before.length - this.secondBegin) : 0;
      return sum + Math.max(0, seamRows(before, page.facts, countsPages && n === 0) - asked);
    }, 0);
  }
}

/** On the first page, a row has become visible late in front of the second. On a later page, pages may not be oldest first. */
function olderOn(n: number): WalkEnd {
  return n === 0 ? 'begin-again' : 'not-in-order';
}

/** Two walks showed the same rows in the same places. */
function areSame(walk: readonly FetchedPage[], before: readonly FetchedPage[]): boolean {
  return walk.length === before.length && walk.every(({ facts }, i) => haveSameKeys(facts, before[i]!.facts));
}
