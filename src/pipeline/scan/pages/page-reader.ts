import { HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import { type RowKeys, rowKeys } from '../../../feeds/row-keys';
import type { PageRequest, Source } from '../../../source/source';
import { type Paging, WHOLE_FEED } from '../../../types';
import { Announced } from './announced';
import { ContinuedPages } from './continued-pages';
import { EndTest, mayBeCap, type PagesBefore } from './end-test';
import { isLikeNamed, NamedNext, withNamed } from './named-next';
import { testNoList } from './no-list';
import {
  type FetchedPage,
  fetchedPage,
  haveSameKeys,
  type Numbered,
  type PageFacts,
  pageBehind,
  pageFacts,
  type ReadPage,
} from './page-facts';
import {
  declaredPaging,
  firstNumber,
  lastingPaging,
  type PagingKind,
  pageOffset,
  pagingKind,
  pagingReach,
  showOrder,
  withPageSize,
  withUnit,
} from './paging';
import { hasRows, isCode, noZero, orRefusal, REFUSALS, throwAnswer, UNANSWERED } from './refusals';
import { refusedEnd } from './refused-end';

const LEARNING_TRIES = 3;
const MOST_ANCHORS = 50; // that are remembered at once

/** Reads the pages of one scan, and learns the server's paging on the way. */
export class PageReader {
  readonly kind: PagingKind;
  readonly reach: number;
  private readonly isLearned: boolean; // the unit of the paging parameter is learned
  private readonly keys: RowKeys;
  private readonly continued: ContinuedPages;
  private known: Paging;
  private readonly isNew: boolean; // no row of the feed has come yet
  private end: ReadPage | null = null; // the page that an answer has called the last one
  private counted: ReadPage | null = null; // the latest page, if it may be the last
  private first: PageFacts | null = null; // the latest first page
  private readonly last = new Map<number, Numbered>(); // anchor → the last page by number that had rows
  readonly announced: Announced; // rows that the answers may not have shown
  readonly endTest = new EndTest(this);
  private readonly namedNext: NamedNext;
  private refused = ''; // the place of the page behind the end, as proved last
  private mostRows = Number.POSITIVE_INFINITY; // above it, a body was too large
  private isBeginOpen = false; // a range has no page 0: the first range with rows tells whether there is one

  constructor(
    private readonly feed: Feed,
    private readonly source: Source,
    learned: Paging,
    private readonly signal: AbortSignal,
    shownRecords = 0, // as in `ScanStart`
  ) {
    this.kind = pagingKind(feed);
    this.reach = pagingReach(feed);
    this.isLearned = feed.paging.style === 'page';
    this.keys = rowKeys(feed);
    this.known = declaredPaging(feed, learned);
    this.isNew = !learned.longestPage;
    this.announced = new Announced(feed, shownRecords);
    this.continued = new ContinuedPages(
      feed.name,
      (...asked) => this.fetchContinued(...asked),
      () => this.known.pageSize,
      () => this.fullLength(),
      () => this.endTest.isThorough,
      ({ facts }) => this.announced.noteDoubt(facts.length),
    );
    this.namedNext = new NamedNext(feed, this.announced, (...asked) => this.fetchContinued(...asked));
  }

  paging(): Paging {
    return this.known;
  }

  learned(): Paging {
    return lastingPaging(this.feed, this.known);
  }

  /**
   * Positions are counted in pages of the requested size, so every walk begins again with another size. A size that was too large is
   * not set again: pages only get smaller, so the new beginnings end.
   */
  setPaging(next: Paging): void {
    const declared = declaredPaging(this.feed, next);
    this.known = declared.pageSize > this.mostRows ? withPageSize(declared, this.mostRows) : declared;
  }

  /**
   * Page n (from 0) of the rows with `updated >= from`. If its body is too large, fewer records are asked for from then on. That
   * moves every position, so the caller has to begin again.
   * @param before rows that came on the pages before it
   */
  async read(from: number, n: number, before: number): Promise<FetchedPage | 'page-size-changed'> {
    const page = await this.pageAt(from, n, before);
    if (page === null) return 'page-size-changed';
    this.known = { ...this.known, longestPage: Math.max(this.known.longestPage ?? 0, page.facts.length) };
    return page;
  }

  async readFirst(from: number): Promise<FetchedPage> {
    const page = await this.read(from, 0, 0);
    return page === 'page-size-changed' ? this.readFirst(from) : page;
  }

  /** The second that the filter is asked for to see the rows from another second on. */
  least(from: number): number {
    const { lag } = this.known;
    // A filter that leaves out its own second shows the rows of `beginAt` when it is asked for the second before.
    return Math.max(0, (this.feed.beginAt ?? 0) - Math.min(lag, 1), from - lag);
  }

  /** The last second that an answer from a second on shows; Infinity if the API sets no range. */
  windowEnd(from: number): number {
    return this.least(from) + (this.feed.windowSeconds ?? Number.POSITIVE_INFINITY);
  }

  /** Where the next range is read from. A filter that is asked for earlier than a range is long would show the same range again. */
  nextWindow(from: number): number {
    const end = this.windowEnd(from);
    return end > from ? end : end + this.known.lag;
  }

  private range(from: number): Pick<PageRequest, 'updatedSince' | 'updatedUntil'> {
    const end = this.windowEnd(from);
    return { updatedSince: this.least(from), ...(Number.isFinite(end) && { updatedUntil: end }) };
  }

  /** How pages can be asked for that begin at other rows. */
  get bordersMove(): 'by-position' | 'by-size' | 'never' {
    if (this.kind === 'numbered' && this.known.unit === 'record') return 'by-position';
    return this.feed.parameters.pageSize === null ? 'never' : 'by-size';
  }

  /** Learns from the first pages of the whole feed the unit of the paging parameter, and whether there is an order. */
  async learnPaging(): Promise<void> {
    if (!this.isLearned && (this.kind === 'single' || !this.known.ordered)) return;
    // A cap that was met at one short second holds too few rows to tell anything by.
    const { pageSize, longestPage } = this.known;
    this.setPaging(withPageSize(this.known, this.feed.pageSize));
    await this.learn();
    // If even fewer records than before fit, that size stays.
    if (this.known.pageSize >= pageSize) this.known = { ...this.known, pageSize, longestPage };
  }

  private async learn(): Promise<void> {
    let isDoubted = false;
    for (let attempt = 0; attempt < LEARNING_TRIES; ) {
      const pages = await this.probe();
      if (pages === null) continue;
      attempt++;
      const [zero, one, two] = pages as [PageFacts, PageFacts, PageFacts];
      if (zero.length === 0) return;
      if (this.isLearned) this.setPaging(withUnit(this.known, zero, one, two));
      // One answer in another order is not believed.
      const isInOrder = showOrder(pages);
      if (!isInOrder && isDoubted) this.setPaging({ ...this.known, ordered: false });
      else if (!isInOrder) {
        isDoubted = true;
        continue;
      }
      if (!this.isLearned || this.known.unit !== null) return;
    }
  }

  /** The first pages of the whole feed. To learn the paging, values are sent literally; one that is refused has no rows. */
  private async probe(): Promise<readonly PageFacts[] | null> {
    const pages: PageFacts[] = [];
    let before = 0;
    for (const n of [0, 1, 2]) {
      if (!this.isLearned && before >= this.reach) break;
      const isLiteral = this.isLearned && n > 0;
      const ask = () =>
        isLiteral
          ? this.fetchNumbered(0, this.known.begin + n).catch((error) => orRefusal(error, REFUSALS))
          : this.pageAt(0, n, before);
      let page = await ask();
      // All rows are missing from an empty page, so it has to come twice.
      if (isLiteral && page !== null && !hasRows(page)) page = await ask();
      if (page === null) return null;
      const facts = page instanceof HighwaterError ? pageFacts([], this.keys) : page.facts;
      pages.push(facts);
      before += facts.length;
    }
    return pages;
  }

  private async pageAt(from: number, n: number, before: number): Promise<FetchedPage | null> {
    if (this.kind !== 'numbered') {
      const page = await this.continued.read(from, n);
      if (page !== null) await this.testNext(from, n, page);
      return page;
    }
    if (this.end?.from === from && this.end.pageSize === this.known.pageSize && this.end.n < n)
      return pageBehind(this.end.page);
    const offset = pageOffset(this.known, n, before);
    const ask = () => (n === 0 ? this.fetchFirst(from) : this.fetchBehind(from, n, offset, before));
    let page = await ask();
    if (n === 0) this.announced.noteFirst(from, page, this.isWhole(from));
    if (n === 0) this.first = page?.facts ?? null;
    if (page?.facts.length === 0 && n > 0)
      page = await this.endTest.proved(page, this.pagesBefore(from, n, before), ask);
    if (page === null) return page;
    const { total, facts } = page;
    if (facts.length === 0) return this.noteEnd(from, page, before).then(() => page);
    const read = { from, n, pageSize: this.known.pageSize, page };
    const [rows, full, isWhole] = [before + facts.length, this.fullLength(n), this.isWhole(from)];
    const isFull = facts.length >= full;
    // Numbers that count from 1 show the first page twice, and a total may count no further than that page.
    const isFirstTwice = n === 1 && this.isLearned && this.known.unit === null;
    if (!isFirstTwice && (await this.endTest.beginsAgain(read, before, this.counted, this.first))) {
      this.end = this.counted;
      const ended = { ...this.counted!, shown: before, length: full, isFull: true, isWhole };
      this.announced.noteLimit(ended, { isAgain: true });
      return pageBehind(this.counted!.page);
    }
    const isLast = page.isLast ?? this.announced.isLast(total, rows, facts.length, full);
    // Some APIs count the rows of a page, or compare them with the size that was asked for. If they cap it, each page looks like the last.
    const isShort = this.feed.parameters.pageSize === null ? !isFull : facts.length < this.feed.pageSize;
    const isDoubtful = isWhole ? this.announced.lacks(rows) : isFull && mayBeCap(facts);
    const isProved = isLast && !(isShort && (isDoubtful || this.endTest.isThorough));
    this.end = isProved ? read : null;
    if (isProved) this.announced.noteLimit({ from, n, shown: rows, length: facts.length, isFull, isWhole });
    // Some APIs count no further than so many rows. Then the pages behind them have others, and pages may have become shorter.
    this.counted = (isLast && !isProved) || (total === rows && isFull) ? read : null;
    return { ...page, isLast: isLast && !isProved ? null : isLast };
  }

  /**
   * Compares the rows of all pages with the rows that answers have announced.
   * @param behind the page that ends them: it has no rows, or shows some again @param shown rows on the pages before it
   */
  async noteEnd(from: number, behind: FetchedPage, shown: number): Promise<void> {
    const { n = 0, length = 0 } = this.last.get(from) ?? {};
    const isFull = length >= this.fullLength(n);
    const isWhole = this.isWhole(from);
    const hasFilter = this.feed.parameters.updatedSince !== null && this.known.lag < WHOLE_FEED;
    const isFiltered = hasFilter && this.least(from) > 0;
    const mayLack = shown > 0 && !isFull ? this.fullLength(n) : 0;
    if (behind.isVague && isWhole && (n === 0 || isFull))
      await testNoList(this.feed, this, { from, shown, n, length });
    this.announced.noteEnd(behind, { from, n, shown, length, isFull, isWhole, isFiltered, mayLack });
  }

  /** Whether a page that names no next one is the last. In order, the end of a full page is not believed: the scan asks behind its last row. */
  isEnd({ next, facts }: FetchedPage): boolean {
    return next === null && !(this.known.ordered && isLikeNamed(this.known, facts.length));
  }

  private fetchContinued(from: number, continuation?: string, pageSize = this.known.pageSize) {
    return this.fetchNumbered(from, 0, { pageSize, ...(continuation !== undefined && { continuation }) });
  }

  /** @param rows on the pages before page n, which has none */
  private pagesBefore(from: number, n: number, rows: number): PagesBefore {
    const { announced, first } = this;
    const isLastFull = (this.last.get(from)?.length ?? 0) >= this.fullLength(n - 1);
    return { from, n, rows, first, mayGoOn: isLastFull || (this.isWhole(from) && announced.lacks(rows)) };
  }

  /** Whether a request from a second on asks for everything. */
  isWhole(from: number): boolean {
    const { parameters, beginAt = 0, windowSeconds } = this.feed;
    if (parameters.updatedSince === null) return true;
    return windowSeconds === undefined && this.least(from) <= Math.max(0, beginAt);
  }

  /** Learns how long pages are that name a next one, and notices a page that does not name it any more. */
  private async testNext(from: number, n: number, page: FetchedPage): Promise<void> {
    this.namedNext.note(n, page);
    const walk = { isNew: this.isNew, isWhole: this.isWhole(from), fullLength: this.fullLength() };
    if (page.next === null) return this.namedNext.test({ page, paging: this.known, from, n, ...walk });
    if (n === 0) this.known = withNamed(this.known, page.facts.length, this.feed);
  }

  /** How long page n gets, as far as is known: on this walk, pages may have become shorter. */
  private fullLength(n = 0): number {
    const { pageSize, longestPage } = this.known;
    const most = Math.min(pageSize, longestPage || pageSize);
    return n === 0 ? most : Math.min(most, this.first?.length || most);
  }

  /**
   * Pages began at 1, as was learned. If there is a page 0 by now, its rows would never be read. @returns whether it is the first one
   * @param from a second of the range that is asked about, if the API sets one
   */
  async testBegin(from: number): Promise<boolean> {
    if (this.known.begin === 0 || firstNumber(this.feed) !== undefined) return false;
    const second = this.feed.windowSeconds === undefined ? 0 : from;
    const zero = await this.fetchNumbered(second, 0).catch((error) => orRefusal(error, UNANSWERED));
    this.isBeginOpen = this.feed.windowSeconds !== undefined;
    if (zero === null || !hasRows(zero)) return false;
    const one = await this.fetchNumbered(second, 1).catch((error) => orRefusal(error, REFUSALS));
    if (one === null || (hasRows(one) && haveSameKeys(zero.facts, one.facts))) return false;
    this.known = { ...this.known, begin: 0 };
    return true;
  }

  /** The first page by number. If there is no page 0, this learns that pages begin at 1. */
  private async fetchFirst(from: number): Promise<FetchedPage | null> {
    const ask = (begin: number) => this.fetchNumbered(from, begin);
    const refusals = from === 0 ? UNANSWERED : REFUSALS;
    const { begin, longestPage, unit } = this.known;
    const isUnknown = firstNumber(this.feed) === undefined && begin === 0 && unit === null && !longestPage;
    if (!this.isLearned || !this.isNew || !isUnknown) {
      const first = await ask(begin).catch((error) => orRefusal(error, refusals));
      const isRefused = first instanceof HighwaterError;
      const isDoubtful = isRefused || (this.isBeginOpen && first !== null && hasRows(first));
      if (isDoubtful && (await this.testBegin(from))) return this.noted(from, 0, await ask(this.known.begin));
      if (isRefused) throw this.isLearned && begin === 0 ? await noZero(this.feed, first, ask) : first;
      this.isBeginOpen &&= !isDoubtful;
      return this.noted(from, 0, first);
    }
    const zero = await ask(0).catch((error) => orRefusal(error, refusals));
    if (zero === null || hasRows(zero)) return this.noted(from, 0, zero);
    const one = await ask(1).catch((error) => orRefusal(error, refusals));
    const isRefused = zero instanceof HighwaterError;
    if (one === null || one instanceof HighwaterError) {
      if (isRefused) throw zero;
      return this.noted(from, 0, zero);
    }
    // If pages begin at 1, only page 1 announces rows, and totals of all ranges tell what they count.
    const announces = one.isLast === false || one.total !== null;
    if (!isRefused && one.facts.length === 0) return this.noted(from, 0, announces ? one : zero);
    // Page 0 may have failed only once, and without it, its rows would never be read.
    const again = await ask(0).catch((error) => orRefusal(error, refusals));
    const isAnswered = again === null || hasRows(again) || !(hasRows(one) || again instanceof HighwaterError);
    if (isAnswered) return this.noted(from, 0, again);
    this.known = { ...this.known, begin: 1 };
    return this.noted(from, 0, one);
  }

  /** A page behind the first one. @param rows on the pages before it */
  private async fetchBehind(from: number, n: number, offset: number, rows: number) {
    const place = `${from} ${offset} ${this.known.pageSize}`;
    const isProved = this.refused === place;
    try {
      const asked = this.fetchNumbered(from, offset, isProved ? { mayBeMissing: true } : {});
      return this.noted(from, n, await asked, offset);
    } catch (error) {
      const last = this.last.get(from);
      if (last === undefined || last.offset >= offset || !isCode(error, REFUSALS)) throw error;
      const full = last.n === 0 ? this.feed.pageSize : Math.min(this.fullLength(), last.longest);
      const isSaid = this.counted?.page.isLast === true && !this.isWhole(from);
      const refused = { n, offset, error, isProved, isBehindFull: last.length >= full, isSaid };
      const page = await refusedEnd(this.feed, this, { ...last, from, shown: rows }, refused);
      if (page?.facts.length === 0) this.refused = place;
      return page;
    }
  }

  private noted(from: number, number: number, page: FetchedPage | null, offset = this.known.begin) {
    const { last, first } = this;
    const { pageSize } = this.known;
    const length = page?.facts.length ?? 0;
    // Numbers that count from 1 show the first page twice.
    const n = number === 1 && length > 0 && first !== null && haveSameKeys(page!.facts, first) ? 0 : number;
    const known = last.get(from);
    const isLater = known === undefined || known.offset <= offset || known.pageSize !== pageSize;
    const longest = Math.max(length, known?.pageSize === pageSize ? known.longest : 0);
    if ((length > 0 || n === 0) && isLater) last.set(from, { n, offset, length, longest, pageSize });
    if (last.size > MOST_ANCHORS) last.delete(last.keys().next().value!);
    return page;
  }

  fetchNumbered(from: number, pageOffset: number, other: Partial<PageRequest> = {}) {
    return this.fetchOrShrink({ ...this.range(from), pageOffset, pageSize: this.known.pageSize, ...other });
  }

  /** Null when the body was too large: from now on fewer records are asked for. */
  private async fetchOrShrink(request: PageRequest): Promise<FetchedPage | null> {
    const { feed, source, signal } = this;
    const ask = () =>
      source.fetchPage(feed, request, signal).catch((error) => throwAnswer(error, feed, request));
    try {
      const page = fetchedPage(await ask(), this.keys, ask);
      if (page.partialBy !== null) this.announced.hidden = { by: 'partial', member: page.partialBy };
      return page;
    } catch (error) {
      const mayShrink =
        feed.parameters.pageSize !== null && this.kind !== 'single' && this.known.pageSize > 1;
      if (!mayShrink || !isCode(error, ['SOURCE_BODY_TOO_LARGE'])) throw error;
      this.mostRows = Math.floor(this.known.pageSize / 2);
      this.setPaging(this.known);
      return null;
    }
  }
}
