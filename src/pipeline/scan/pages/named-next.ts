import type { Paging } from '../../../types';
import type { FetchedPage } from './page-facts';

/** Whether so many rows are a full page: as many as a page that has named a next one. */
export function isLikeNamed({ rowsBeforeNext, pageSize }: Paging, rows: number): boolean {
  return rowsBeforeNext > 0 && rows >= Math.min(rowsBeforeNext, pageSize);
}

/** A first page without a next one, and the scan that has read it. */
export interface FirstPage {
  readonly page: FetchedPage;
  readonly paging: Paging;
  /** Everything was asked for, not only the rows since a second. */
  readonly isWhole: boolean;
  /** No row of the feed had come before this scan. */
  readonly isNew: boolean;
  /** How long pages get, as far as is known. */
  readonly fullLength: number;
  /** As in `ScanStart`. */
  readonly shownRecords: number;
  /** A page with fewer rows can be asked for. */
  readonly canShrink: boolean;
}

/**
 * Whether rows may be hidden behind a first page, because the member that names the next page is lost: an API gave it another name. A full
 * page is in doubt, unless it shows all records that are known. So is any page that shows fewer of them: the API may have shortened its
 * pages as well. A poll in order goes on behind its last row anyway, unless that is of the same second as its first one.
 */
export function isEndDoubtful({
  page: { facts },
  paging,
  isWhole,
  isNew,
  fullLength,
  shownRecords,
  canShrink,
}: FirstPage): boolean {
  const { length } = facts;
  const isFull = paging.rowsBeforeNext > 0 ? isLikeNamed(paging, length) : isNew || length >= fullLength;
  const shown = new Set(facts.keys).size;
  const isAll = isWhole && shown >= shownRecords && !isNew;
  const lacksSome = isWhole && shown < shownRecords;
  const goesOn = paging.ordered && !isWhole && facts.least !== facts.last;
  return (isFull && !isAll && !goesOn) || (lacksSome && canShrink);
}

/**
 * Whether the doubt stays. A page with fewer rows has rows behind it, and must name a next page.
 * @param smaller that page; null: the API does not let one ask for it
 */
export function isNextLost({ page, paging }: FirstPage, smaller: FetchedPage | null): boolean {
  if (smaller !== null && smaller.next !== null) return false;
  const { length } = page.facts;
  const isSmaller = smaller !== null && smaller.facts.length < length;
  return isSmaller || isLikeNamed(paging, length);
}
