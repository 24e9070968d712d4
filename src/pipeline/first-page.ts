import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { Paging } from '../types';
import { type PageFacts, repeats } from './page-facts';
import type { FetchedPage, PageReader } from './page-reader';
import { withPageSize } from './paging';

/**
 * Finds out whether the rows from an anchor go on behind the first page, which was not enough to tell.
 * Returns the empty page that proves the end, or `more`: then walk the pages.
 *
 * A first page that is shorter than what was asked for may be all there is, or the server's cap. Then the next page is
 * asked for in the length that came: a server that counts positions in the size asked for would otherwise answer from
 * behind the end.
 *
 * @throws HighwaterError SCAN_PAGING_IGNORED when all pages are the same and may not hold everything
 */
export async function behindFirstPage(
  feed: Feed,
  reader: PageReader,
  anchor: number,
  page: PageFacts,
  odd = false,
): Promise<FetchedPage | 'more' | 'page-size-changed'> {
  if (odd || (reader.paging().unit === null && page.length > 1)) await reader.learnPaging();
  const asked = reader.paging();
  const isShort = page.length > 0 && page.length < asked.pageSize;
  if (isShort) reader.setPaging(withPageSize(asked, page.length));

  let successor = await reader.read(anchor, 1);
  // The end hangs on this answer: an empty one has to come twice.
  if (successor !== 'page-size-changed' && successor.facts.length === 0)
    successor = await reader.read(anchor, 1);
  if (successor === 'page-size-changed') return successor;
  const repeated = repeats(successor.facts, page);
  if (successor.facts.length > 0 && !repeated)
    return isShort ? capOrNews(reader, anchor, page, asked) : 'more';
  if (!repeated) {
    reader.setPaging(asked);
    // Nothing behind a full page: by chance, or the server pages in another way by now.
    if (!isShort && !odd) return behindFirstPage(feed, reader, anchor, page, true);
    return successor;
  }
  if (asked.unit !== null && !odd) {
    // It was learned otherwise once: look again.
    reader.setPaging({ ...asked, unit: null, firstPage: 0 });
    return behindFirstPage(feed, reader, anchor, page, true);
  }

  // The server counts from 1, or it ignores paging.
  const third = await reader.read(anchor, 2);
  if (third === 'page-size-changed') return third;
  const ignored = repeats(third.facts, page);
  if (!ignored && third.facts.length > 0) return isShort ? capOrNews(reader, anchor, page, asked) : 'more';
  if (ignored && (!isShort || asked.pageSize < feed.pageSize)) {
    throw new HighwaterError(
      'SCAN_PAGING_IGNORED',
      `Feed ${feed.name}: pages 0, 1 and 2 from ${anchor} on show the same ${page.length} records, so the server ignores ` +
        `the parameter ${feed.parameters.page}; what does not fit into one page cannot be read.`,
    );
  }
  reader.setPaging(asked);
  return third;
}

/**
 * There are rows behind a short page: the server cuts pages at the length that came, or the rows came between the two
 * requests. A page of the size first asked for tells: rows never leave a window, so without a cap it is longer now. Taken
 * for a cap by mistake, a quiet moment's length would be asked for ever after.
 */
async function capOrNews(
  reader: PageReader,
  anchor: number,
  page: PageFacts,
  asked: Paging,
): Promise<'more' | 'page-size-changed'> {
  const cut = reader.paging();
  reader.setPaging(asked);
  const again = await reader.read(anchor, 0);
  if (again === 'page-size-changed' || again.facts.length > page.length) return 'page-size-changed';
  reader.setPaging(cut);
  return 'more';
}
