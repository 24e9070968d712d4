import type { PageRequest } from '../../../source/source';
import type { Paging } from '../../../types';
import type { Announced } from './announced';
import { beginsAgain, type FetchedPage, haveSameKeys, type PageFacts, type ReadPage } from './page-facts';
import { pageOffset } from './paging';
import { noPage } from './refusals';

/** How many pages behind an empty one are asked for. Between them, a few pages with rows are not seen. */
const JUMPS = [1, 2, 3, 4, 5, 6, 8, 12, 18, 27, 40, 60, 90];

/** No API that begins again behind its last page does so only for fewer pages. */
const FAR_PAGES = 90;

/** So often an empty page is asked for again. */
const MORE_ANSWERS = 2;

/** APIs cap pages at such lengths. Those of most small feeds are others, whose polls have to stay one request. */
export function mayBeCap({ length }: PageFacts): boolean {
  return length >= 10 && length % 5 === 0;
}

interface Reader {
  readonly reach: number;
  readonly announced: Announced;
  windowEnd(from: number): number;
  paging(): Paging;
  learned(): Paging;
  fetchNumbered(
    from: number,
    pageOffset: number,
    other?: Pick<PageRequest, 'pageSize'>,
  ): Promise<FetchedPage | null>;
}

/** The pages of a walk before one that has no rows. */
export interface PagesBefore {
  readonly from: number;
  /** How many they are, and how many rows they have. */
  readonly n: number;
  readonly rows: number;
  readonly first: PageFacts | null;
  /** The last of them is full, or more rows are known. */
  readonly mayGoOn: boolean;
}

/** As in `ScanStart`. */
interface ScanKind {
  readonly snapshot: boolean;
  readonly wide: boolean;
  readonly whole?: boolean;
}

/** Tests whether a page by number that has no rows is the end. */
export class EndTest {
  /** The end of each walk has to be proved. */
  isThorough = false;
  /** It is still to be tested whether rows are far behind the end. */
  private looksBehind = false;

  constructor(private readonly reader: Reader) {}

  begin({ snapshot, wide, whole = false }: ScanKind): void {
    this.looksBehind = whole || snapshot;
    this.isThorough = this.looksBehind || wide;
  }

  /**
   * One of several servers may have no rows. Walks of as many requests as there are servers would all meet it at the same page, so other
   * answers have to come at once.
   * @param page has no rows @param ask for it @returns page n; null: a body was too large, and pages are shorter now
   */
  async proved(
    page: FetchedPage,
    before: PagesBefore,
    ask: () => Promise<FetchedPage | null>,
  ): Promise<FetchedPage | null> {
    const { pageSize } = this.reader.paging();
    for (let i = 0; i < MORE_ANSWERS && this.isThorough && before.mayGoOn; i++) {
      const again = await ask();
      if (again?.facts.length !== 0) return again;
    }
    const found = await this.rowsBehind(before);
    return this.reader.paging().pageSize === pageSize ? (found ?? page) : null;
  }

  /**
   * Whether a page behind one that may be the last shows the first page again, or that one, apart from changes. Most rows of the page may
   * also be ties that have changed places, and other rows be on neither page: then pages end behind it.
   * @param rows on the pages before it
   */
  async beginsAgain(
    read: ReadPage,
    rows: number,
    last: ReadPage | null,
    first: PageFacts | null,
  ): Promise<boolean> {
    if (!beginsAgain(read, last, first)) return false;
    if ([first, last?.page.facts].some((one) => one && haveSameKeys(one, read.page.facts))) return true;
    const { reader } = this;
    const paging = reader.paging();
    const offset = pageOffset(paging, read.n + FAR_PAGES, rows + FAR_PAGES * paging.pageSize);
    const far = await reader.fetchNumbered(read.from, offset).catch(noPage);
    return far !== null && far.facts.length > 0 && beginsAgain({ ...read, page: far }, last, first);
  }

  /**
   * Notices rows behind page n, which has none. Some APIs cut pages first, and then leave out the rows that the token may not see: if many
   * such rows come side by side, a page is empty that is not the last.
   * @returns page n, if it has rows by now
   */
  private async rowsBehind({ from, n, rows, first }: PagesBefore): Promise<FetchedPage | null> {
    const { reader } = this;
    const isTested = this.looksBehind && rows > 0 && reader.windowEnd(from) === Number.POSITIVE_INFINITY;
    if (!isTested || first === null) return null;
    this.looksBehind = false; // once for each scan
    // This walk may have made its pages as short as its last rows.
    const paging = reader.learned();
    const { pageSize } = paging;
    const isUsual = pageSize === reader.paging().pageSize;
    const end = isUsual ? n : Math.ceil(rows / pageSize);
    const ask = (pages: number) => {
      const offset = pageOffset(paging, end + pages, rows + pages * pageSize);
      return reader.fetchNumbered(from, offset, { pageSize });
    };
    for (const pages of JUMPS) {
      if (rows + pages * pageSize >= reader.reach) return null;
      const page = await ask(pages).catch(noPage);
      // An API that does not answer for such a page, or begins again, has shown its end.
      if (page === null || haveSameKeys(page.facts, first)) return null;
      if (page.facts.length === 0) continue;
      // Rows may have come meanwhile, and one answer may have been wrong. Then the end is still to be proved.
      const again = await ask(0);
      if (again?.facts.length === 0) reader.announced.hidden ??= { by: 'gap', page: n };
      else this.looksBehind = true;
      return isUsual && again?.facts.length !== 0 ? again : null;
    }
    return null;
  }
}
