import { HighwaterError } from '../../../errors';
import { type FetchedPage, type PageFacts, pageBehind, repeats } from './page-facts';
import { LEAST_EVIDENCE } from './paging';
import { EXPIRED, isCode, unlessRefused } from './refusals';

/**
 * Pages in a row without rows. An API that filters the rows of each page may have many, so they show no fault: this only ends a
 * reading that may have no end.
 */
const MOST_EMPTY_PAGES = 1_000;

/** Pages whose answers say how the next page is asked for. */
export class ContinuedPages {
  private from = Number.NaN;
  /** The place of each page of the walk: undefined for page 0, null behind the last page. */
  private places: (string | null | undefined)[] = [undefined];
  /** Place → the number of the page that was asked for there. */
  private pages = new Map<string, number>();
  /** Places of pages with rows that are the last, since they name themselves as the next. */
  private ends = new Set<string>();
  private latest: FetchedPage | null = null;
  /** Rows of the longest page of the walk. */
  private longest = 0;

  /**
   * @param fetch null: the body was too large @param pageSize rows that are asked for
   * @param fullLength how long pages get, as far as is known
   * @param isThorough the end of each walk has to be proved @param doubt takes note of a page that may be the last one
   */
  constructor(
    private readonly feed: string,
    private readonly fetch: (
      from: number,
      continuation: string | undefined,
      pageSize?: number,
    ) => Promise<FetchedPage | null>,
    private readonly pageSize: () => number,
    private readonly fullLength: () => number,
    private readonly isThorough = () => false,
    private readonly doubt: (last: FetchedPage) => void = () => {},
  ) {}

  /**
   * Page n (from 0) of the rows from a second on. Page 0 begins a new walk; a later page is reached from the last page that the walk
   * has read. If a page has no rows but names a next page, the page behind it takes its place.
   *
   * @returns null when a body was too large: the walk is over then
   * @throws HighwaterError SCAN_CURSOR_REPEATED, SCAN_PAGES_EMPTY
   */
  async read(second: number, n: number): Promise<FetchedPage | null> {
    if (n === 0 || second !== this.from) this.begin(second);
    if (n < this.places.length - 1) this.goBackTo(n);
    for (let i = this.places.length - 1; ; i++) {
      if (this.places[i] === null) return pageBehind(this.latest!);
      const page = await this.readNext(i);
      if (page === null) this.begin(Number.NaN);
      if (page === null || i === n) return page;
    }
  }

  private begin(second: number): void {
    this.from = second;
    this.places = [undefined];
    this.pages = new Map();
    this.ends = new Set();
    this.latest = null;
    this.longest = 0;
  }

  /** Forgets the places behind page n, since that page is read again. */
  private goBackTo(n: number): void {
    this.places.length = n + 1;
    for (const [place, page] of this.pages) if (page >= n) this.pages.delete(place);
  }

  private visit(place: string, n: number): void {
    const before = this.pages.get(place);
    if (before !== undefined) throw cursorRepeated(this.feed, this.from, n, before);
    this.pages.set(place, n);
  }

  /**
   * A page with rows that names itself as the next page is the last one, if no other answer names another: one answer may be wrong, or lack
   * rows. It is not the last one if it is full and begins with rows of the page before: an API that ignores the place would answer like
   * this, and one whose places are times never gets past a time that is wider than a page. A few of them are the end: rows of the last time
   * come again.
   */
  private async fetchAt(place: string | undefined): Promise<FetchedPage | null> {
    const first = await this.fetch(this.from, place);
    const page = this.isEndBehindLongPage(first, place)
      ? await this.fetch(this.from, place).catch((error) => {
          if (!isCode(error, EXPIRED)) throw error;
          return first; // some APIs drop the place with their last answer
        })
      : first;
    const namesItself = (one: FetchedPage | null) =>
      one !== null && place !== undefined && one.next === place && one.facts.length > 0;
    if (place === undefined || !namesItself(page)) {
      this.ends.delete(place ?? '');
      return page;
    }
    if (this.ends.has(place) || (await this.isStuck(page!, place))) return page;
    const again = await this.fetch(this.from, place);
    if (again === null || (again.next !== null && again.next !== place)) return again;
    // A scroll gives the next rows at each request with one place: a request that is sent again would skip some.
    if (again.facts.length > 0 && isOther(again, page!)) {
      const third = await this.fetch(this.from, place);
      if (third !== null && isOther(third, again)) throw placeMoves(this.feed, this.from);
    }
    this.ends.add(place);
    return again.facts.length < page!.facts.length ? page : again;
  }

  private async isStuck(page: FetchedPage, place: string): Promise<boolean> {
    const { latest, pages, longest } = this;
    const { facts } = page;
    const { length } = facts;
    // The last row alone comes again as well.
    const isOne = length === 1 && (pages.size > 1 || this.pageSize() > 1);
    const isFull = length >= longest && (this.from === 0 || length >= this.fullLength());
    if (latest === null || !isFull || isOne || isOther(page, latest)) return false;
    const isSame = repeats(facts, latest.facts);
    // So few rows may be the whole feed. Where APIs cap pages, it is at a multiple of 4 or 5, above 4.
    const mayBeCap = length > 4 && (length % 5 === 0 || length % 4 === 0);
    const mayBeAll = length < Math.min(this.pageSize(), LEAST_EVIDENCE) && !mayBeCap;
    if (isSame ? !mayBeAll : beginsSecondAgain(facts, latest.facts)) return true;
    const half = Math.ceil(length / 2);
    const shorter = await unlessRefused(this.fetch(this.from, place, half), EXPIRED);
    // If the API gives as many rows as it is asked for, and gave fewer than the page size, these are all.
    if (isSame) return shorter?.facts.length !== half;
    // A shorter page has rows behind it, so it has to name another one.
    const next = shorter !== null && shorter.facts.length < length ? shorter.next : null;
    if (next === null) this.doubt(page);
    return next === place;
  }

  /**
   * An empty page is the end behind a long one, and of the whole feed, only if it comes twice: one answer may be wrong. Ordinary polls of few
   * rows need no second one.
   */
  private isEndBehindLongPage(page: FetchedPage | null, place: string | undefined): boolean {
    const isEnd = page?.facts.length === 0 && (page.next === null || page.next === place);
    if (!isEnd || this.latest === null) return false;
    return this.isThorough() || this.from === 0 || 2 * this.latest.facts.length > this.fullLength();
  }

  /** @param n the first page of the walk that is not read yet */
  private async readNext(n: number): Promise<FetchedPage | null> {
    let place = this.places[n] ?? undefined;
    let first: FetchedPage | null = null;
    for (let empty = 1; ; empty++) {
      if (place !== undefined) this.visit(place, n);
      const page = await this.fetchAt(place);
      if (page === null) return null;
      first ??= page;
      // Some APIs name a place for future rows behind their last page. It has no rows, and names itself as the next place.
      const isBehind = page.facts.length === 0 && page.next === place;
      const isLast = page.next === null || isBehind || (place !== undefined && this.ends.has(place));
      if (page.facts.length > 0 || isLast) {
        this.places[n] = place;
        this.places[n + 1] = isLast ? null : page.next;
        const { serverSecond, ownSecond, knownSecond } = first;
        // A row that became visible after the first of these answers may be on none of them.
        this.longest = Math.max(this.longest, page.facts.length);
        this.latest = first === page ? page : { ...page, serverSecond, ownSecond, knownSecond };
        return this.latest;
      }
      if (empty === MOST_EMPTY_PAGES) throw onlyEmptyPages(this.feed, this.from, empty);
      place = page.next;
    }
  }
}

function cursorRepeated(feed: string, from: number, n: number, before: number): HighwaterError {
  return new HighwaterError(
    'SCAN_CURSOR_REPEATED',
    `Feed ${feed}: page ${n} of the rows from ${from} on would be asked for exactly as page ${before} was, so the pages would never end.`,
  );
}

function placeMoves(feed: string, from: number): HighwaterError {
  return new HighwaterError(
    'SCAN_CURSOR_REPEATED',
    `Feed ${feed}: each answer behind the rows from ${from} on names the same next page, and each request for it shows other rows, as a scroll does.`,
  );
}

function isOther({ facts }: FetchedPage, before: FetchedPage): boolean {
  const known = new Set(before.facts.keys);
  return !facts.keys.some((key) => known.has(key));
}

/**
 * A page of one second has all rows of that second that the page before has: its place is that second. A last page by number may show rows
 * again as well, if rows have moved or ties have changed places, but then it has rows of other seconds, or lacks some.
 */
function beginsSecondAgain({ keys, least, greatest }: PageFacts, before: PageFacts): boolean {
  const known = new Set(keys);
  const again = before.keys.filter((_, i) => least !== null && before.updated[i] === least);
  return least === greatest && again.length > 0 && again.every((key) => known.has(key));
}

function onlyEmptyPages(feed: string, from: number, count: number): HighwaterError {
  return new HighwaterError(
    'SCAN_PAGES_EMPTY',
    `Feed ${feed}: ${count} pages in a row, of the records from ${from} on, had no records, and each of them named a next page.`,
  );
}
