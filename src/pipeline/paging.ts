import type { Paging } from '../types';
import type { PageFacts } from './page-facts';

export function unknownPaging(pageSize: number): Paging {
  return { unit: null, firstPage: 0, pageSize, longestPage: null, ordered: true };
}

/** Value of the paging parameter for page n (from 0) of a walk. */
export function pageOffset(paging: Paging, n: number): number {
  return paging.firstPage + (paging.unit === 'record' ? n * paging.pageSize : n);
}

export function withPageSize(paging: Paging, pageSize: number): Paging {
  return { ...paging, pageSize, longestPage: null };
}

/** Fewer rows tell nothing: one missing row must not look like all of them. */
const LEAST_EVIDENCE = 3;
/** Rows that may change places between two requests need to be many before chance is ruled out. */
const LEAST_EVIDENCE_AMONG_TIES = 20;

/**
 * Infers the paging from what the server gives for the paging values 0, 1 and 2 of one window.
 *
 * It looks at the rows of page 0 whose second does not reach the page's end, since rows of equal `updated` may change
 * places between two requests. Counting by index from 0, none of them is on page 1; from 1, all are. Counting records,
 * each step loses one. Null when the pages do not tell (too few rows, ties in random order, rows moving meanwhile).
 */
export function inferPaging(
  zero: PageFacts,
  one: PageFacts,
  two: PageFacts,
): Pick<Paging, 'unit' | 'firstPage'> | null {
  const settled = zero.ids.filter((id, i) => id !== null && zero.updated[i] !== zero.last);
  const evidence = settled.length >= LEAST_EVIDENCE ? settled : zero.ids.filter((id) => id !== null);
  const inOrder = zero.ascending || zero.descending;
  const least = evidence === settled && inOrder ? LEAST_EVIDENCE : LEAST_EVIDENCE_AMONG_TIES;
  if (evidence.length < least) return null;

  const missingFrom = (page: PageFacts): number => {
    const ids = new Set(page.ids);
    return evidence.filter((id) => !ids.has(id)).length;
  };
  const onOne = missingFrom(one);
  const onTwo = missingFrom(two);
  const all = evidence.length;
  if (onOne === all && onTwo === all) return { unit: 'page', firstPage: 0 };
  if (onOne === 0 && onTwo === all) return { unit: 'page', firstPage: 1 };
  if (onOne === 1 && onTwo === 2) return { unit: 'record', firstPage: 0 };
  if (onOne === 0 && onTwo === 1) return { unit: 'record', firstPage: 1 };
  return null;
}

/**
 * Whether three pages of the whole feed, asked for one after the other, come oldest first. A page alone may look so by
 * chance; a row on a later one that is older than what came before says otherwise.
 */
export function showOrder(pages: readonly PageFacts[]): boolean {
  const seen = new Set<string | null>();
  let greatest = 0;
  for (const page of pages) {
    if (!page.ascending) return false;
    if (page.ids.some((id, i) => !seen.has(id) && (page.updated[i] ?? greatest) < greatest)) return false;
    for (const id of page.ids) seen.add(id);
    greatest = Math.max(greatest, page.greatest ?? 0);
  }
  return true;
}
