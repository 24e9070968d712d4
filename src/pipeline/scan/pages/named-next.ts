import type { Feed } from '../../../feeds/feed';
import type { Paging } from '../../../types';
import type { Announced, HiddenRows } from './announced';
import { ContinuedPages } from './continued-pages';
import { mayBeCap } from './end-test';
import type { FetchedPage } from './page-facts';
import { pagingKind } from './paging';
import { unlessRefused } from './refusals';

/**
 * Whether so many rows are a full page: as many as a page that has named a next one, or as were asked for. A longer page shows that the
 * size is ignored.
 */
export function isLikeNamed({ rowsBeforeNext, pageSize }: Paging, rows: number): boolean {
  const full = rows > pageSize ? rowsBeforeNext : Math.min(rowsBeforeNext, pageSize);
  return rowsBeforeNext > 0 && rows >= full;
}

/** Learns how long a page is that has named a next one. If fewer rows than usual were asked for, it tells nothing of other pages. */
export function withNamed(paging: Paging, rows: number, usual: { readonly pageSize: number }): Paging {
  if (rows >= paging.pageSize && paging.pageSize < usual.pageSize) return paging;
  return { ...paging, rowsBeforeNext: Math.max(paging.rowsBeforeNext, rows) };
}

/** A page without a next one, and the walk that has read it. */
interface LastPage {
  readonly page: FetchedPage;
  readonly paging: Paging;
  readonly from: number;
  /** Number of the page, from 0. */
  readonly n: number;
  /** Everything was asked for, not only the rows since a second. */
  readonly isWhole: boolean;
  /** No row of the feed had come before this scan. */
  readonly isNew: boolean;
  /** How long pages get, as far as is known. */
  readonly fullLength: number;
}

/** Notices a page that names no next one, though there must be one: the API has renamed that member, or shows only so many rows. */
export class NamedNext {
  /** Keys of the rows of this walk, and how many rows each of its pages has. */
  private readonly shown = new Set<string>();
  private readonly lengths: number[] = [];
  /** A page of this scan has named a next one. */
  private isNamed = false;
  /** What was doubted of one range of time, before a page of another one has named a next one. */
  private ofRange: HiddenRows | null = null;

  /** @param fetch null: the body was too large */
  constructor(
    private readonly feed: Feed,
    private readonly announced: Announced,
    private readonly fetch: (
      from: number,
      continuation?: string,
      pageSize?: number,
    ) => Promise<FetchedPage | null>,
  ) {}

  /** To be called for each page, in the order of a walk. Some readers skip pages; then nothing is known of the whole walk. */
  note(n: number, { next, facts: { keys, length } }: FetchedPage): void {
    this.isNamed ||= next !== null;
    if (this.isNamed && this.announced.hidden === this.ofRange) this.announced.hidden = null;
    if (n === 0) this.shown.clear();
    this.lengths.splice(n, this.lengths.length, length);
    for (const key of keys) this.shown.add(key);
  }

  /** No more records are missing than are deleted unasked. */
  private get mayBeGone(): boolean {
    const { shownRecords } = this.announced;
    return shownRecords - this.shown.size <= Math.max(1, this.feed.deleteShare * shownRecords);
  }

  private get rows(): number {
    return this.lengths.reduce((sum, length) => sum + length, 0);
  }

  /** @param last has been noted, and names no next page */
  async test(last: LastPage): Promise<void> {
    const { page, paging, from, n, isWhole } = last;
    const { length } = page.facts;
    const before = this.lengths[n - 1] ?? 0;
    const isDoubtful = page.isVague && isWhole && isLikeNamed(paging, before);
    if (
      isDoubtful &&
      this.announced.lacks(this.shown.size) &&
      !(await this.otherPagesShowAsMany(from, before))
    )
      this.announced.hidden ??= { by: 'no list' };
    const isSaid = page.isLast === false;
    // Without paging, a poll in order asks for the rows behind an answer that is cut, and a next page may be that of the next range.
    const isSingle = pagingKind(this.feed) === 'single';
    const isAskedFor = this.goesOn(last) || this.feed.windowSeconds !== undefined || !mayBeCap(page.facts);
    const said = this.isNamed || (isSingle && isAskedFor) ? null : page.moreBy;
    const lost = { by: 'no next', rows: length, said } as const;
    if (!isSaid && said === null && !(await this.isLost(last))) return;
    // An answer that says so itself is not doubted: no other range tells more.
    if (!isSaid && (said !== null || this.feed.windowSeconds !== undefined)) this.ofRange ??= lost;
    this.announced.hidden ??= lost;
  }

  /** All pages of the feed were read. */
  private noteEnd(paging: Paging): void {
    const lengths = this.lengths.filter((length) => length > 0);
    const last = lengths.at(-1) ?? 0;
    if (lengths.length < 2) return;
    // Pages that overlap show rows twice.
    for (const rows of new Set([this.shown.size, this.rows]))
      this.announced.noteWholeEnd(rows, rows - last, { isFull: isLikeNamed(paging, last) });
  }

  /** A full page of the whole feed says that it is the last, and no other pages tell. It may have ended at a limit. */
  private believeEnd({ page: { facts } }: LastPage): null {
    this.announced.noteWholeEnd(this.rows, this.rows - facts.length, { isFull: true, isSaid: true });
    return null;
  }

  private async isLost(last: LastPage): Promise<boolean> {
    const { page, paging, n, isWhole } = last;
    const { length } = page.facts;
    if (pagingKind(this.feed) === 'single') return false;
    if (isWhole && this.lengths.length > n) this.noteEnd(paging);
    if (length === 0) return false;
    if (this.rows === this.announced.trueEnd) return false;
    const isLost = n === 0 ? await this.isFirstLost(last) : await this.isLaterLost(last);
    if (isLost === false) this.announced.trueEnd = this.rows;
    return isLost === true;
  }

  /** @returns null if there is no doubt */
  private async isFirstLost(first: LastPage): Promise<boolean | null> {
    if (!this.isEndDoubtful(first)) return null;
    const { page, paging, from, isWhole } = first;
    const { length } = page.facts;
    const smaller = this.canShrink(length) ? await this.firstPage(from, length - 1) : null;
    if (smaller !== null && smaller.next !== null) return false;
    // A page with fewer rows has rows behind it, and must name a next page.
    const isSmaller = smaller !== null && smaller.facts.length < length;
    if (!isSmaller && !isLikeNamed(paging, length)) return false;
    // Known records may be gone. A member that has another name by now would not be there.
    if (isWhole && !isSmaller && page.isEndSaid && this.mayBeGone) return this.believeEnd(first);
    if (isWhole || this.isNamed) return isWhole;
    // The first page of the whole feed names a next one, as pages of this API do.
    return ((await this.firstPage(0, paging.pageSize))?.next ?? null) === null;
  }

  /**
   * A full page is in doubt, unless it shows all records that are known. So is any page that shows fewer of them: the API may have shortened
   * its pages as well. A poll in order goes on behind its last row anyway, unless that is of the same second as its first one.
   */
  private isEndDoubtful(first: LastPage): boolean {
    const { page, paging, isWhole, isNew, fullLength } = first;
    const { length } = page.facts;
    const isFull = paging.rowsBeforeNext > 0 ? isLikeNamed(paging, length) : isNew || length >= fullLength;
    const lacksSome = isWhole && this.shown.size < this.announced.shownRecords;
    const isAll = isWhole && !lacksSome && !isNew;
    return (isFull && !isAll && (isWhole || !this.goesOn(first))) || (lacksSome && this.canShrink(length));
  }

  /**
   * A full page behind others is in doubt if known records are on none of them. So is one of the rows since a second, if a poll in order
   * does not go on behind its last row, and other pages can be asked for. @returns null if there is no doubt
   */
  private async isLaterLost(later: LastPage): Promise<boolean | null> {
    const { rows } = this;
    const { page, paging, from, n, isWhole } = later;
    const { length } = page.facts;
    // Before a whole snapshot, nothing tells how many rows there are.
    if (isWhole && this.announced.shownRecords === Number.POSITIVE_INFINITY) {
      if (isLikeNamed(paging, length)) this.announced.noteRows(rows, from);
      return null;
    }
    const lacksSome = !this.goesOn(later) && (!isWhole || this.shown.size < this.announced.shownRecords);
    if (!lacksSome || !isLikeNamed(paging, length) || this.lengths.length <= n) return null;
    if (isWhole && this.announced.mayBeLimit(rows)) return true;
    this.announced.noteRows(rows, from);
    const showAsMany = await this.otherPagesShowAsMany(from, length);
    if (showAsMany !== null) return !showAsMany;
    // Ties that hide records show others twice, so the sum is right.
    if (!isWhole || rows >= this.announced.shownRecords) return null;
    return page.isEndSaid ? this.believeEnd(later) : true;
  }

  /** Whether a scan in order asks for the rows behind the page. A filter with a lag may show only rows in front of the second that was asked for. */
  private goesOn({ page: { facts }, paging, from }: LastPage): boolean {
    const hasFilter = this.feed.parameters.updatedSince !== null;
    return paging.ordered && hasFilter && facts.least !== facts.last && facts.last! > from;
  }

  /** @param length of the last page that has rows @returns as `showAsMany` */
  private async otherPagesShowAsMany(from: number, length: number): Promise<boolean | null> {
    const { rows } = this;
    if (rows === this.announced.trueEnd) return true;
    for (const size of this.canShrink(length) ? sizesWithRest(rows, length) : []) {
      const showAsMany = await this.showAsMany(rows, from, size);
      if (showAsMany === true) this.announced.trueEnd = rows;
      if (showAsMany !== null) return showAsMany;
    }
    return null;
  }

  /**
   * Whether pages of another size show no more rows or records, and end with a page that is not full. Ties that change places hide records,
   * and pages that overlap show rows twice.
   * @returns null if the API refuses or ignores the size
   */
  private async showAsMany(rows: number, from: number, pageSize: number): Promise<boolean | null> {
    const pages = this.pagesOf(pageSize);
    const seen = new Set<string>();
    const lengths: number[] = [];
    for (let sum = 0; ; ) {
      const page = await unlessRefused(pages.read(from, lengths.length));
      if (page === null) return null;
      const { keys, length } = page.facts;
      // Rows may have left the end meanwhile.
      const isAll = sum <= rows || seen.size <= this.shown.size;
      if (length === 0) return isAll && lengths.at(-1)! < lengths[0]!;
      if (lengths.length === 0 && length === this.lengths[0]) return null;
      for (const key of keys) seen.add(key);
      lengths.push(length);
      sum += length;
    }
  }

  /** Pages without rows in front of it name a next one for themselves. @returns null if the API refuses the size */
  private firstPage(from: number, pageSize: number): Promise<FetchedPage | null> {
    return unlessRefused(this.pagesOf(pageSize).read(from, 0));
  }

  private pagesOf(pageSize: number): ContinuedPages {
    const fetch = (from: number, continuation?: string) => this.fetch(from, continuation, pageSize);
    return new ContinuedPages(
      this.feed.name,
      fetch,
      () => pageSize,
      () => 0,
    );
  }

  /** A page with fewer rows can be asked for. */
  private canShrink(length: number): boolean {
    return this.feed.parameters.pageSize !== null && length > 1;
  }
}

/** Sizes of pages by which the last one of so many rows is not full. Some APIs know only a few sizes. */
export function sizesWithRest(rows: number, length: number): readonly number[] {
  const sizes = [length - 1, length - 2, 10, 25, 20, 50, 100];
  return sizes.filter((size) => size > 1 && size < rows && size !== length && rows % size !== 0);
}
