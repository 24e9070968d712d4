import type { PageRequest } from '../../../source/source';
import type { Paging } from '../../../types';
import type { Announced } from './announced';
import { type FetchedPage, haveSameKeys, type PageFacts } from './page-facts';
import { pageOffset } from './paging';
import { UNANSWERED, unlessRefused } from './refusals';

/** How many pages behind an empty one are asked for. Between them, a few pages with rows are not seen. */
const JUMPS = [1, 2, 3, 4, 5, 6, 8, 12, 18, 27, 40, 60, 90];

/** How an API may answer for a page far behind its end. */
const NO_PAGE = [...UNANSWERED, 'SOURCE_TIMEOUT'] as const;

interface Reader {
  readonly reach: number;
  readonly announced: Announced;
  looksBehind: boolean;
  windowEnd(from: number): number;
  paging(): Paging;
  learned(): Paging;
  fetchNumbered(
    from: number,
    pageOffset: number,
    other?: Pick<PageRequest, 'pageSize'>,
  ): Promise<FetchedPage | null>;
}

/**
 * Notices rows behind page n, which has none. Some APIs cut pages first, and then leave out the rows that the token may not see: if many
 * such rows come side by side, a page is empty that is not the last. Or one of several servers has no rows.
 * @param before rows on the pages before it @param first begins the walk
 * @returns page n, if it has rows by now
 */
export async function testGap(
  reader: Reader,
  from: number,
  n: number,
  before: number,
  first: PageFacts | null,
): Promise<FetchedPage | null> {
  const isTested = reader.looksBehind && before > 0 && reader.windowEnd(from) === Number.POSITIVE_INFINITY;
  if (!isTested || first === null) return null;
  reader.looksBehind = false; // once for each scan
  // This walk may have made its pages as short as its last rows.
  const paging = reader.learned();
  const { pageSize } = paging;
  const isUsual = pageSize === reader.paging().pageSize;
  const end = isUsual ? n : Math.ceil(before / pageSize);
  const ask = (pages: number) => {
    const offset = pageOffset(paging, end + pages, before + pages * pageSize);
    return reader.fetchNumbered(from, offset, { pageSize });
  };
  for (const pages of JUMPS) {
    if (before + pages * pageSize >= reader.reach) return null;
    const page = await unlessRefused(ask(pages), NO_PAGE);
    // An API that does not answer for such a page, or begins again, has shown its end.
    if (page === null || haveSameKeys(page.facts, first)) return null;
    if (page.facts.length === 0) continue;
    // Rows may have come meanwhile, and one answer may have been wrong. Then the end is still to be proved.
    const again = await ask(0);
    if (again?.facts.length === 0) reader.announced.hidden ??= { by: 'gap', page: n };
    else reader.looksBehind = true;
    return isUsual && again?.facts.length !== 0 ? again : null;
  }
  return null;
}
