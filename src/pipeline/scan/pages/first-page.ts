import { HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import type { Paging } from '../../../types';
import { showsLastRows } from './no-list';
import {
  bringsNothingNew,
  type FetchedPage,
  haveSameKeys,
  type PageFacts,
  pageBehind,
  repeats,
} from './page-facts';
import type { PageReader } from './page-reader';
import { LEAST_EVIDENCE, pageOffset, withPageSize } from './paging';
import { orRefusal, REFUSALS } from './refusals';

/** The empty page that proves the end, or the caller's next step: `more` means to walk the pages. */
type Behind = FetchedPage | 'more' | 'begin-again' | 'page-size-changed';

/**
 * Finds out whether there are rows behind the first page from an anchor, if the page itself does not tell. If the answer says how the
 * next page is asked for, no request is needed.
 *
 * @throws HighwaterError SCAN_PAGING_IGNORED when all pages are the same and may not hold everything, SCAN_BEYOND_REACH when the
 *   only page may be cut
 */
export async function behindFirstPage(
  feed: Feed,
  reader: PageReader,
  anchor: number,
  page: FetchedPage,
): Promise<Behind> {
  if (reader.kind === 'numbered') {
    const behind = await behindByNumber(feed, reader, anchor, page.facts);
    // The API says or counts that more rows follow, and shows those of this page again.
    const isMore = page.isLast === false || (page.total ?? 0) > page.facts.length;
    if (isMore && typeof behind !== 'string' && behind.facts.length > 0)
      await reader.noteEnd(anchor, { ...behind, isLast: page.isLast }, page.facts.length);
    return behind;
  }
  if (reader.kind === 'single' && mayBeCut(feed, page)) throw onlyPageFull(feed, anchor, page);
  return page.next === null ? pageBehind(page) : 'more';
}

/** Without paging, there may be more rows than a page that is exactly as long as was asked for. */
export function mayBeCut({ parameters, pageSize }: Feed, { facts }: FetchedPage): boolean {
  return parameters.pageSize !== null && facts.length === pageSize;
}

/**
 * Whether a first page by number that is shorter than others were is the last one. Pages may have become shorter: then the answer says
 * that more rows follow, or the page behind it has them.
 */
export async function isShortPageLast(
  { overlapSeconds }: Feed,
  reader: PageReader,
  anchor: number,
  { facts, isLast, serverSecond }: FetchedPage,
): Promise<boolean> {
  if (typeof isLast === 'boolean') return isLast;
  // Most polls see a few changes, or the latest ones, behind which rows are being written. They stay one request.
  const isPresent = (facts.last ?? 0) >= serverSecond - overlapSeconds;
  if (facts.length < LEAST_EVIDENCE || isPresent) return true;
  const offset = pageOffset(reader.paging(), 1, facts.length);
  // A server that counts positions in the requested size has these rows on a page of that length.
  const ask = reader.fetchNumbered(anchor, offset, { pageSize: facts.length });
  const behind = await ask.catch((error) => orRefusal(error, REFUSALS));
  if (behind instanceof HighwaterError || (behind !== null && bringsNothingNew(behind.facts, facts)))
    return true;
  return (await capOrNews(reader, anchor, facts, reader.paging())) === 'begin-again';
}

function onlyPageFull({ name, parameters }: Feed, from: number, { facts }: FetchedPage): HighwaterError {
  return new HighwaterError(
    'SCAN_BEYOND_REACH',
    `Feed ${name}: the answer from ${from} on holds exactly the ${facts.length} records that ${parameters.pageSize} asked for, so it may be ` +
      'cut, and the feed is declared without paging.',
    {
      remedy:
        'Raise pageSize of the feed in highwater.yaml, or declare how its pages are asked for (paging).',
    },
  );
}

/**
 * A first page that is shorter than was asked for may hold all rows, or the server may cap its pages. Then the next page is asked for
 * with the length that came, because a server that counts positions in the requested size would otherwise answer from behind
 * the end.
 */
async function behindByNumber(
  feed: Feed,
  reader: PageReader,
  anchor: number,
  page: PageFacts,
  odd = false,
): Promise<Behind> {
  const { unit, pageSize } = reader.paging();
  // A page of few rows may be a small feed, whose paging cannot be learned. Most often nothing is behind it.
  const isSmall = page.length < Math.min(LEAST_EVIDENCE, pageSize);
  if (odd || (unit === null && page.length > 1 && !isSmall)) await reader.learnPaging();
  const asked = reader.paging();
  const isShort = page.length > 0 && page.length < asked.pageSize;
  // A server that counts records is asked for the rows behind the last one, for any page size.
  const mayBeCap = isShort && asked.unit !== 'record';
  if (mayBeCap) reader.setPaging(withPageSize(asked, page.length));

  const ask = (number: number, rows: number) =>
    reader.read(anchor, number, rows).catch((error) => {
      if (!mayBeCap) throw error;
      orRefusal(error, REFUSALS);
      // Some APIs know only a few page sizes, or refuse pages behind the last one, which the cut makes look full.
      reader.setPaging(asked);
      return reader.read(anchor, number, rows);
    });
  let successor = await ask(1, page.length);
  // The end depends on this answer, so an empty answer has to come twice.
  if (successor !== 'page-size-changed' && successor.facts.length === 0)
    successor = await ask(1, page.length);
  if (successor === 'page-size-changed') return successor;
  if (successor.facts.length > 0 && unit === null && isSmall && !odd) {
    reader.setPaging(asked);
    return behindByNumber(feed, reader, anchor, page, true);
  }
  const repeated = repeats(successor.facts, page);
  if (successor.facts.length > 0 && !repeated)
    return mayBeCap ? capOrNews(reader, anchor, page, asked) : 'more';
  if (!repeated) {
    reader.setPaging(asked);
    // Nothing is behind a full page: by chance, or because the server has changed its paging.
    if (!isShort && !odd) return behindByNumber(feed, reader, anchor, page, true);
    return successor;
  }
  if (asked.unit !== null && !odd) {
    // This contradicts the learned paging, so the scan learns it again.
    reader.setPaging({ ...asked, unit: null, firstPage: 0 });
    return behindByNumber(feed, reader, anchor, page, true);
  }

  // The server counts from 1, or it ignores paging.
  const second = successor;
  const third = await ask(2, page.length + second.facts.length).catch((error) => {
    // A refusal behind a short page is the end.
    if (!isShort) throw error;
    orRefusal(error, REFUSALS);
    return pageBehind(second);
  });
  if (third === 'page-size-changed') return third;
  const ignored = repeats(third.facts, page);
  if (!ignored && third.facts.length > 0) return mayBeCap ? capOrNews(reader, anchor, page, asked) : 'more';
  // If the last row comes alone from its own position, paging works: behind the last row it begins again.
  if (ignored && asked.unit === 'record' && page.length > 1) {
    const last = await reader.read(anchor, 1, page.length - 1);
    if (last === 'page-size-changed') return last;
    if (last.facts.length < page.length && last.facts.keys[0] === page.keys.at(-1)) return pageBehind(last);
  }
  // If the server decides how long a page is, no length shows that it holds everything.
  const isUnknown = asked.pageSize < feed.pageSize || feed.parameters.pageSize === null;
  const isFull = !isShort || (isUnknown && page.length >= (asked.longestPage ?? 0));
  reader.setPaging(asked);
  if (ignored && !(await isAllThereIs(feed, reader, anchor, page, isFull))) {
    // Rows that came meanwhile may have contradicted it.
    const again = await reader.read(anchor, 0, 0);
    if (again === 'page-size-changed') return again;
    if (!haveSameKeys(again.facts, page)) return 'begin-again';
    throw new HighwaterError(
      'SCAN_PAGING_IGNORED',
      `Feed ${feed.name}: pages 0, 1 and 2 from ${anchor} on show the same ${page.length} records, so the server ignores ` +
        `the parameter ${feed.parameters.page}; what does not fit into one page cannot be read.`,
    );
  }
  // Two full pages with the same rows in another order: they are ties, and others of them may be on neither page.
  const mayHide = !isShort && !haveSameKeys(successor.facts, page);
  return mayHide ? 'more' : third;
}

/**
 * Pages behind the last one may show it again. Shorter pages tell whether this one is the last, or the numbers are ignored. Even then it is
 * all if it is shorter than was asked for, and than pages of this API get. If the API ignores the size as well, the former is enough. Neither
 * counts if known records are missing and the page may be cut: at a multiple of 5, as APIs do.
 */
async function isAllThereIs(
  feed: Feed,
  reader: PageReader,
  from: number,
  { length, least }: PageFacts,
  isFull: boolean,
): Promise<boolean> {
  const isLast = await showsLastRows(feed, reader, { from, shown: length, length });
  const isWhole = reader.isWhole(from) || (least !== null && least < reader.least(from));
  const mayBeCut = isWhole && length % 5 === 0 && reader.announced.lacks(length);
  const isShorter = isLast === null || length < (reader.paging().longestPage ?? 0);
  return isLast === true || (!isFull && isShorter && !mayBeCut);
}

/**
 * There are rows behind a short page: the server caps pages at the length that came, or the rows came between the two requests.
 * A page of the first size tells: rows never leave a window, so without a cap it is longer now. By mistake, the length of a quiet
 * moment would be taken for a cap and asked for from then on.
 */
async function capOrNews(
  reader: PageReader,
  anchor: number,
  page: PageFacts,
  asked: Paging,
): Promise<'more' | 'begin-again' | 'page-size-changed'> {
  const cut = reader.paging();
  reader.setPaging(asked);
  const again = await reader.read(anchor, 0, 0);
  if (again === 'page-size-changed') return again;
  if (again.facts.length > page.length) return 'begin-again';
  reader.setPaging(cut);
  return 'more';
}
