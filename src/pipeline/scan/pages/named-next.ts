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
}

/**
 * Whether rows may be hidden behind a first page, because the member that names the next page is lost: an API gave it another name. Only a
 * full page is in doubt, unless it shows all records that are known. A poll in order goes on behind its last row anyway, unless that is of
 * the same second as its first one.
 */
export function isEndDoubtful({
  page: { facts },
  paging,
  isWhole,
  isNew,
  fullLength,
  shownRecords,
}: FirstPage): boolean {
  const { length } = facts;
  const isFull = paging.rowsBeforeNext > 0 ? isLikeNamed(paging, length) : isNew || length >= fullLength;
  const isAll = isWhole && length >= shownRecords && !isNew;
  const goesOn = paging.ordered && !isWhole && facts.least !== facts.last;
  return isFull && !isAll && !goesOn;
}

/**
 * Whether the doubt stays. A page with fewer rows has rows behind it, and must name a next page.
 * @param smaller that page; null: the API does not let one ask for it
 */
export function isNextLost({ page, paging }: FirstPage, smaller: FetchedPage | null): boolean {
  const hasNamed = paging.rowsBeforeNext > 0;
  if (smaller === null) return hasNamed;
  return smaller.next === null && (hasNamed || smaller.facts.length < page.facts.length);
}
