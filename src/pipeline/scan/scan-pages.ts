import type { Feed } from '../../feeds/feed';
import type { Logger } from '../../logging/logger';
import type { ScanPage } from '../../types';
import type { FetchedPage } from './page-facts';
import type { PageReader } from './page-reader';
import { MOST_RESTARTS, MOST_WALKS, type WalkEnd } from './page-walk';

/** What a scan moves along: names as in `ScanProgress`. */
export interface ScanPosition {
  readonly reader: PageReader;
  readonly duringSnapshot: boolean;
  highWaterMark: number;
  shownBelow: number;
  /** False once a walk had to be given up: the scan ends, but does not claim to be complete. */
  settled: boolean;
}

/** Rows of a window may be missing. This warns of it, and the scan's pages say so from then on. */
export async function giveUpOn(
  { name: feed }: Feed,
  from: number,
  end: WalkEnd,
  position: ScanPosition,
  logger: Logger,
): Promise<void> {
  position.settled = false;
  const why =
    end === 'repeated'
      ? 'come again on pages that should hold other rows, in each walk, so the API ignores paging in part'
      : `kept changing while they were read, over ${MOST_WALKS} walks or ${MOST_RESTARTS} new beginnings`;
  logger.warn(
    `Feed ${feed}: the rows from ${from} on ${why}. The scan goes on; what is missing is left to a later wide poll or reconcile.`,
    { feed },
  );
  // What pages are counted in may have been learned while rows moved: one record too many on each page looks like that.
  await position.reader.learnPaging();
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
      shownBelow: position.shownBelow,
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
