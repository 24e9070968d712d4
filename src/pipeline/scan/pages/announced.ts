import type { Feed } from '../../../feeds/feed';
import { type FetchedPage, noRows } from './page-facts';
import { isRoundLimit } from './paging';

/** Why rows may be missing: an answer says that it leaves out some, or announces rows that do not come. */
export type HiddenRows =
  | { readonly by: 'partial'; readonly member: string }
  | { readonly by: 'more' }
  | { readonly by: 'no list' }
  | { readonly by: 'refusal'; readonly rows: number }
  | { readonly by: 'gap'; readonly page: number }
  | { readonly by: 'no next'; readonly rows: number; readonly said: string | null }
  | { readonly by: 'itself'; readonly rows: number }
  | { readonly by: 'total'; readonly total: number; readonly shown: number };

/** Feed → most rows that its pages have had, and most rows in front of such a page, since the start of this process. */
const mostShown = new WeakMap<Feed, { readonly rows: number; readonly begin: number }>();

/** Feeds whose totals count the rows that were asked for. */
const filteredTotals = new WeakSet<Feed>();

/** Feed → by how many rows its total was too high at least when no known record was missing, since the start of this process. */
const leastExcess = new WeakMap<Feed, number>();

/** Watches whether the rows that the answers of a scan announce also come. */
export class Announced {
  hidden: HiddenRows | null = null;
  /** The rows end behind so many, where a limit of paging may be that nothing announces. */
  cutAt: number | null = null;
  /** The last second that was asked for there. */
  hiddenThrough: number | null = null;
  /** Rows of a walk that has been shown to be whole. */
  trueEnd: number | null = null;
  /** Rows that an answer counts and does not show, if its total counts the rows that were asked for. */
  private unshown: HiddenRows | null = null;
  /** The total of the latest first page. */
  private latestTotal: { readonly from: number; readonly total: number } | null = null;
  private isTotalFiltered = false;

  /** @param shownRecords as in `ScanStart` */
  constructor(
    private readonly feed: Feed,
    readonly shownRecords: number,
  ) {}

  /**
   * Learns from first pages what a total counts: some APIs count the whole feed, whatever the filter. A total that gets smaller from one
   * second to a later one counts the rows that were asked for. One that is just the few rows of a poll tells it for all scans.
   */
  noteFirst(from: number, page: FetchedPage | null, isWhole: boolean): void {
    const { latestTotal: before, shownRecords: known } = this;
    const { total = null, facts } = page ?? {};
    if (total === null || before?.from === from) return;
    const isExact = total > 0 && total === facts!.length && !isWhole;
    if (isExact && Number.isFinite(known) && 2 * total <= known) filteredTotals.add(this.feed);
    const isLess = before !== null && from > before.from && total < before.total;
    const isOther = before !== null && this.feed.windowSeconds !== undefined && total !== before.total;
    this.isTotalFiltered ||= isLess || isOther || filteredTotals.has(this.feed);
    if (this.isTotalFiltered) this.hidden ??= this.unshown;
    this.latestTotal = { from, total };
  }

  /** Whether a total says that the page up to so many rows is the last; null: it does not tell. @param full length of a page */
  isLast(total: number | null, rows: number, length: number, full: number): boolean | null {
    if (total === rows && length < full) return true;
    return this.isTotalFiltered && total !== null && total - rows >= full ? false : null;
  }

  /** Whether the latest first page counts so many rows from a second on. */
  isCounted(rows: number, from: number): boolean {
    return this.latestTotal?.from === from && this.latestTotal.total === rows;
  }

  /** @param rows of a page that names itself as the next one, and may not be the last */
  noteDoubt(rows: number): void {
    this.hidden ??= { by: 'itself', rows };
  }

  /** @param from the rows are those from this second on */
  noteRows(rows: number, from: number): void {
    if (this.mayBeLimit(rows)) this.noteCut(rows, from);
  }

  /** Whether the rows end where many APIs have a limit, and the feed declares no greater one. */
  mayBeLimit(rows: number): boolean {
    return isRoundLimit(rows) && rows >= (this.feed.pagingLimit ?? 0);
  }

  /** A refusal has ended full pages. A limit of paging may be there, too, most often at hundreds of rows. */
  noteRefusedEnd(rows: number, from: number): void {
    if (isRoundLimit(rows) || (rows % 100 === 0 && this.latestTotal?.total !== rows))
      this.noteCut(rows, from);
  }

  private noteCut(rows: number, from: number): void {
    if (rows < (this.feed.pagingLimit ?? 0)) return;
    this.cutAt = rows;
    const through = from + (this.feed.windowSeconds ?? Number.POSITIVE_INFINITY);
    this.hiddenThrough = Math.max(through, this.hiddenThrough ?? 0);
  }

  /** Whether known records have not come. Then the API may be in trouble, if an answer without a list ends the pages. */
  lacks(shown: number): boolean {
    return Number.isFinite(this.shownRecords) && shown < this.shownRecords;
  }

  /**
   * Takes note if the end of the pages announces more rows. They may be behind a limit of paging, or the API leaves them out after it has
   * cut the pages.
   */
  noteEnd(
    { facts, isLast, total: told }: FetchedPage,
    { from, n, shown, length, isFull, isWhole, isFiltered, mayLack }: PagesRead,
  ): void {
    if (isLast === false) this.hidden ??= { by: 'more' };
    // A page that shows rows again counts none of its own.
    const isAgain = facts.length > 0;
    const first = this.latestTotal?.from === from ? this.latestTotal.total : null;
    const total = isAgain ? first : told;
    if (total === null || total <= shown)
      this.noteLimit({ from, n, shown, length, isFull, isWhole }, { isAgain, isRefused: facts === noRows });
    const excess = total === null ? 0 : total - shown;
    const least = leastExcess.get(this.feed);
    if (isWhole && total !== null && !this.lacks(shown))
      leastExcess.set(this.feed, Math.max(0, Math.min(excess, least ?? excess)));
    // It may count known records that did not come.
    const isInDoubt = isWhole && this.lacks(shown) && excess > (least ?? 0);
    const isSaid = isLast !== null && !isAgain;
    if (isSaid || total === null || excess <= 0 || (excess < mayLack && !isInDoubt)) return;
    this.unshown ??= { by: 'total', total, shown };
    if (!isFiltered || this.isTotalFiltered) this.hidden ??= this.unshown;
  }

  /** Takes note if the rows end where a limit may be. What the API says of that end may be about the rows up to the limit. */
  noteLimit({ from, n, shown, length, isFull, isWhole }: PagesEnd, how: Omit<WholeEnd, 'isFull'> = {}): void {
    if (n > 0 || length >= this.feed.pageSize) this.noteRows(shown, from);
    if (isWhole && n > 0) this.noteWholeEnd(shown, shown - length, { isFull, ...how });
  }

  /**
   * The API may show no more than some hundreds of rows of the whole feed, or pages, if it calls a full one the last, and known records may
   * have moved behind them. A read with more rows disproves that. If all pages are full, only a page that began there does: full pages of
   * another size may pass a limit by some rows.
   * @param begin rows in front of the last page
   */
  noteWholeEnd(
    rows: number,
    begin: number,
    { isFull, isSaid, isAgain = false, isRefused = false }: WholeEnd,
  ): void {
    const before = mostShown.get(this.feed) ?? { rows: 0, begin: 0 };
    const isDisproved = isFull ? before.begin >= rows : isRefused || before.rows > rows;
    const mayBeLimit = rows % 100 === 0 || (isFull && isSaid);
    if (mayBeLimit && this.lacks(rows) && !isDisproved) this.noteCut(rows, 0);
    // The first pages may have been counted twice.
    if (isAgain) return;
    mostShown.set(this.feed, { rows: Math.max(rows, before.rows), begin: Math.max(begin, before.begin) });
  }
}

/** How all pages have ended. */
interface WholeEnd {
  /** The last one is as long as pages get. */
  readonly isFull: boolean;
  /** It says itself that it is the last. */
  readonly isSaid?: boolean;
  /** Rows come again behind it. */
  readonly isAgain?: boolean;
  /** A page behind it is refused. */
  readonly isRefused?: boolean;
}

/** The pages from a second on. */
interface PagesEnd {
  readonly from: number;
  /** Number of the last page with rows, from 0. */
  readonly n: number;
  /** Rows on all of them. */
  readonly shown: number;
  /** Rows of page n, and whether it is as long as pages get. */
  readonly length: number;
  readonly isFull: boolean;
  /** Everything was asked for. */
  readonly isWhole: boolean;
}

interface PagesRead extends PagesEnd {
  readonly isFiltered: boolean;
  /** A total may be too high by less than so many rows. */
  readonly mayLack: number;
}
