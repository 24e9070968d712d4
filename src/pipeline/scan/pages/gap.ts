import { HighwaterError } from '../../../errors';
import type { PageRequest } from '../../../source/source';
import type { Paging } from '../../../types';
import type { Announced } from './announced';
import { type FetchedPage, haveSameKeys, type PageFacts } from './page-facts';
import { pageOffset } from './paging';

/** How many pages behind an empty one are asked for. Between them, a few pages with rows are not seen. */
const JUMPS = [1, 2, 3, 4, 5, 6, 8, 12, 18, 27, 40, 60, 90];

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
 * such rows come side by side, a page is empty that is not the last.
 * @param before rows on the pages before it @param first begins the walk
 */
export async function testGap(
  reader: Reader,
  from: number,
  n: number,
  before: number,
  first: PageFacts | null,
): Promise<void> {
  const isTested = reader.looksBehind && before > 0 && reader.windowEnd(from) === Number.POSITIVE_INFINITY;
  if (!isTested || first === null) return;
  reader.looksBehind = false; // once for each scan
  if (await hasRowsBehind(reader, from, n, before, first)) reader.announced.hidden ??= { by: 'gap', page: n };
}

async function hasRowsBehind(
  reader: Reader,
  from: number,
  n: number,
  before: number,
  first: PageFacts,
): Promise<boolean> {
  // This walk may have made its pages as short as its last rows.
  const paging = reader.learned();
  const { pageSize } = paging;
  const end = pageSize === reader.paging().pageSize ? n : Math.ceil(before / pageSize);
  const ask = (pages: number) => {
    const offset = pageOffset(paging, end + pages, before + pages * pageSize);
    return reader.fetchNumbered(from, offset, { pageSize });
  };
  for (const pages of JUMPS) {
    if (before + pages * pageSize >= reader.reach) return false;
    const page = await ask(pages).catch(noPage);
    // An API that does not answer for such a page, or begins again, has shown its end.
    if (page === null || haveSameKeys(page.facts, first)) return false;
    // Rows may have come meanwhile, and one answer may have been wrong.
    if (page.facts.length > 0) return (await ask(0))?.facts.length === 0;
  }
  return false;
}

/** An API may answer anything for a page far behind its end: that its plan allows no such page, an error that is no list, or nothing at all. */
function noPage(error: unknown): null {
  const isOfApi = error instanceof HighwaterError && error.code.startsWith('SOURCE_');
  if (!isOfApi || error.code === 'SOURCE_CLOSED') throw error;
  return null;
}
