import type { Feed } from '../feeds/feed';
import type { Logger } from '../logger';
import type { ScanPage } from '../types';
import type { FetchedPage, PageReader } from './page-reader';
import { MOST_WALKS, type Walked, type Window, walkPages } from './page-walk';

/** What a scan moves along: the mark that its pages carry. */
export interface ScanPosition {
  readonly reader: PageReader;
  readonly duringSnapshot: boolean;
  highWaterMark: number;
  /** False once a walk had to be given up: the scan ends, but does not claim to be complete. */
  settled: boolean;
}

/** The first page from this second on. */
export async function firstPage(reader: PageReader, from: number): Promise<FetchedPage> {
  for (;;) {
    const page = await reader.read(from, 0);
    if (page !== 'page-size-changed') return page;
  }
}

/** All rows of a window, page by page. What does not settle is warned of, and said by the pages from then on. */
export async function* walk(
  window: Window,
  position: ScanPosition,
  logger: Logger,
  look: (page: FetchedPage) => void = () => {},
): AsyncGenerator<ScanPage, Walked> {
  const pages = walkPages(position.reader, window);
  for (;;) {
    const { done, value } = await pages.next();
    if (!done) {
      look(value);
      yield scanPage(position, value, false);
      continue;
    }
    if (value.end === 'not-settled') {
      position.settled = false;
      logger.warn(
        `Feed ${window.feed}: ${MOST_WALKS} walks over the rows from ${window.from} still brought new ones. ` +
          'The scan goes on; what is missing is left to a later wide poll or reconcile.',
        { feed: window.feed },
      );
      // What pages are counted in may have been learned while rows moved: one record too many on each page looks like that.
      await position.reader.learnPaging();
    }
    return value;
  }
}

/**
 * Where to read from when the mark lies ahead of the present: it was set while no clock was right, nobody knows since when, and
 * what was written meanwhile lies behind it. As far back as a wide poll.
 */
export function rewound(feed: Feed, page: FetchedPage): number {
  return Math.max(0, page.knownSecond - feed.wideOverlapSeconds);
}

export function scanPage(position: ScanPosition, page: FetchedPage, complete: boolean): ScanPage {
  return {
    rows: page.rows,
    observedAtMs: page.observedAtMs,
    progress: {
      highWaterMark: position.highWaterMark,
      duringSnapshot: position.duringSnapshot,
      complete,
      settled: position.settled,
      paging: position.reader.learned(),
    },
    reread: page.reread,
  };
}

/** The end was found by a page without rows of its own. */
export function lastPage(position: ScanPosition, page: FetchedPage): ScanPage {
  const known = Math.min(position.highWaterMark, page.knownSecond);
  return { ...scanPage({ ...position, highWaterMark: known }, page, true), rows: [], reread: async () => [] };
}
