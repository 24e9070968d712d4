import type { FeedDefinition } from '../../../feeds/definition';
import type { SourceOffset } from '../../../state/source-offset';
import { type Paging, WHOLE_FEED } from '../../../types';
import { haveSameKeys, keepsOrder, type PageFacts } from './page-facts';

export function unknownPaging(pageSize: number): Paging {
  return {
    unit: null,
    firstPage: 0,
    pageSize,
    longestPage: null,
    ordered: true,
    begin: 0,
    rowsBeforeNext: 0,
    lag: 0,
    lagTestedAt: 0,
  };
}

/**
 * How a feed's pages are told apart while rows move:
 * - `numbered`: by a number. Rows that leave the front move those behind them one place forward.
 * - `linked`: by an address that the page before gives, which may hold such a number.
 * - `continued`: by a place in the vendor's own order, which stays where it is.
 * - `single`: one answer holds everything.
 */
export type PagingKind = 'numbered' | 'linked' | 'continued' | 'single';

export function pagingKind({ paging, parameters }: FeedDefinition): PagingKind {
  switch (paging.style) {
    case 'page':
    case 'offset':
      return 'numbered';
    case 'cursor':
      return 'continued';
    case 'link':
      // Without the filter each poll reads everything: what one of them leapt over, the next one finds.
      return parameters.updatedSince === null ? 'continued' : 'linked';
    case 'none':
      return 'single';
  }
}

/** The greatest record position that paging reaches. */
export function pagingReach(feed: FeedDefinition): number {
  return pagingKind(feed) === 'numbered' ? (feed.pagingLimit ?? 100_000) : Number.POSITIVE_INFINITY;
}

/** The least number of requests of a poll that reads everything, because there is no filter by `updated`; else null. */
export function requestsForAll(
  feed: FeedDefinition,
  {
    record_count,
    longest_page,
    page_size,
  }: Pick<SourceOffset, 'record_count' | 'longest_page' | 'page_size'>,
): number | null {
  if (feed.parameters.updatedSince !== null) return null;
  const kind = pagingKind(feed);
  if (kind === 'single') return 1;
  const pages = Math.max(1, Math.ceil(record_count / (longest_page ?? page_size ?? feed.pageSize)));
  // Numbered pages are read back and forth, since rows move while they are read.
  return kind === 'numbered' ? 2 * pages : pages;
}

/** The number of the first page, if the feed declares it. */
export function firstNumber({ paging }: FeedDefinition): number | undefined {
  return paging.style === 'page' || paging.style === 'offset' ? paging.first : undefined;
}

/** The learned paging, corrected by the feed's declaration. */
export function declaredPaging(feed: FeedDefinition, paging: Paging): Paging {
  const { parameters } = feed;
  const { style } = feed.paging;
  const begin = firstNumber(feed) ?? paging.begin;
  const known =
    style === 'page'
      ? { ...paging, begin }
      : { ...paging, begin, unit: style === 'offset' ? ('record' as const) : null, firstPage: 0 };
  // Without the filter no request begins at a second, so an order is of no use.
  const hasFilter = parameters.updatedSince !== null && known.lag < WHOLE_FEED;
  return !hasFilter && known.ordered ? { ...known, ordered: false } : known;
}

/**
 * Value of the paging parameter for page n (from 0) of a walk.
 * @param before rows on the earlier pages, which may be shorter than the page size
 */
export function pageOffset(paging: Paging, n: number, before: number): number {
  // Counting from 1, page 0 was answered like page 1: asking for 0 stays right when the server comes to count from 0.
  if (n === 0) return paging.begin;
  return paging.begin + paging.firstPage + (paging.unit === 'record' ? before : n);
}

/** The same for pages behind page n: for the next one, and for one where no page can be. */
export function pagesBehind(paging: Paging, n: number, before: number): readonly [number, number] {
  const behind = (more: number) => pageOffset(paging, n + more, before + more * paging.pageSize);
  return [behind(1), behind(11)];
}

/** A smaller cap may be a row that came between two requests: it holds for one scan only. */
const LEAST_LASTING_CAP = 20;

/** The paging to keep for later scans. */
export function lastingPaging(feed: FeedDefinition, known: Paging): Paging {
  const isLasting = known.unit !== null && known.pageSize >= LEAST_LASTING_CAP;
  return isLasting || known.pageSize >= feed.pageSize ? known : withPageSize(known, feed.pageSize);
}

export function withPageSize(paging: Paging, pageSize: number): Paging {
  return { ...paging, pageSize, longestPage: null };
}

/** What the paging parameter counts, and from where. */
export type Unit = Pick<Paging, 'unit' | 'firstPage'>;

/**
 * What the paging parameter counts, by the answers to its values 0, 1 and 2 of the whole feed. Rows that move can look like another unit, and
 * with a wrong one, each scan passes over the same rows. So pages that contradict the known unit end it, and the next ones have to show
 * another.
 */
export function withUnit(known: Paging, zero: PageFacts, one: PageFacts, two: PageFacts): Paging {
  const inferred = inferPaging(zero, one, two);
  const { unit, firstPage } = known;
  const isOther = inferred !== null && (inferred.unit !== unit || inferred.firstPage !== firstPage);
  if (unit !== null && (isOther || contradicts(known, zero, one)))
    return { ...known, unit: null, firstPage: 0 };
  return { ...known, ...inferred };
}

/** Fewer rows prove nothing: a few rows that move between two requests must not look like a page. */
export const LEAST_EVIDENCE = 20;

/**
 * Infers the paging from the server's answers to the paging values 0, 1 and 2 of one window.
 *
 * It looks at the rows of page 0 whose second does not reach the page's end, since rows of equal `updated` may change places
 * between two requests. Counting by index from 0, none of them is on page 1; from 1, all are. Counting records, each step loses
 * one in front. Null if the pages do not show it (too few rows, ties in random order, rows that move), because a wrong answer would skip
 * records.
 */
export function inferPaging(zero: PageFacts, one: PageFacts, two: PageFacts): Unit | null {
  // Counting records, it is the first row that goes missing: without an id, nobody would notice.
  if (zero.ids[0] === null) return null;
  const settled = zero.ids.filter((id, i) => id !== null && zero.updated[i] !== zero.last);
  const evidence = settled.length >= LEAST_EVIDENCE ? settled : zero.ids.filter((id) => id !== null);
  if (evidence.length < LEAST_EVIDENCE) return null;
  // Shuffled ties at the page's end would look like rows that are missing.
  if (evidence !== settled && ![one, two].every((page) => keepsOrder(page.keys, zero.keys))) return null;

  const onOne = missingFrom(one, zero, evidence);
  const onTwo = missingFrom(two, zero, evidence);
  const all = evidence.length;
  if (onOne === all && onTwo === all) return { unit: 'page', firstPage: 0 };
  if (onOne === 0 && onTwo === all) return { unit: 'page', firstPage: 1 };
  if (onOne === 1 && onTwo === 2) return { unit: 'record', firstPage: 0 };
  if (onOne === 0 && onTwo === 1) return { unit: 'record', firstPage: 1 };
  return null;
}

/**
 * Whether two pages rule out a unit. If the parameter counts records, the next value loses the first row; if it counts pages, all rows.
 * If it counts from 1, both are the same page.
 * @param one the page of the value behind that of page `zero`
 */
function contradicts({ unit, firstPage }: Unit, zero: PageFacts, one: PageFacts): boolean {
  if (zero.length < 2 || one.length === 0) return false;
  const again = new Set(one.keys);
  const shared = zero.keys.filter((key) => again.has(key)).length;
  const isSame = haveSameKeys(zero, one);
  const isStep = !isSame && zero.keys[1] === one.keys[0];
  // Ties may change places where two pages meet, so some rows may be on both.
  const isOther = 2 * shared < zero.length;
  if (unit === 'record') return isOther || (firstPage === 0 ? isSame : isStep);
  if (firstPage === 1 && isOther) return true;
  return isStep && zero.length > 2 && shared >= zero.length - 1;
}

/**
 * Number of the rows that are not on the page. Null if it proves nothing: a row has moved by an update, or only some rows are missing and they
 * are not the first ones, so the vendor has removed them meanwhile.
 */
function missingFrom(page: PageFacts, zero: PageFacts, rows: readonly (string | null)[]): number | null {
  const seconds = new Map(page.ids.map((id, i) => [id, page.updated[i]]));
  const before = new Map(zero.ids.map((id, i) => [id, zero.updated[i]]));
  const missing = rows.filter((id) => !seconds.has(id));
  if (rows.some((id) => seconds.has(id) && seconds.get(id) !== before.get(id))) return null;
  const front = zero.updated.slice(0, missing.length);
  const areInFront = missing.every((id) => {
    const second = before.get(id) ?? null;
    // Rows of one second may change places.
    return second === null ? zero.ids.indexOf(id) < missing.length : front.includes(second);
  });
  return missing.length === rows.length || areInFront ? missing.length : null;
}

/**
 * Whether three pages of the whole feed, asked for one after the other, come oldest first. A single page may look ordered by
 * chance, until a later page has an older row.
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

/** Many APIs show no more than 1,000 or 10,000 rows, whatever the size of pages. */
export function isRoundLimit(rows: number): boolean {
  return rows > 0 && rows % 1_000 === 0;
}
