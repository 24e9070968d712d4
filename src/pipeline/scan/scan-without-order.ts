import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { Logger } from '../../logging/logger';
import type { ScanPage } from '../../types';
import type { PageFacts } from './page-facts';
import { isSettled, readWindow } from './page-walk';
import { pagingReach } from './paging';
import { giveUpOn, lastPage, rewound, type ScanPosition, scanPage } from './scan-pages';

/**
 * The filter is ignored or the order is not given: everything has to be read before the mark may move. When all of it turns out
 * to come oldest first, the order is trusted again.
 *
 * @returns null at the end. SCAN_BEYOND_REACH when paging does not reach the end, but as far as it reaches all came oldest first: a
 *   scan in order may read it
 * @throws HighwaterError SCAN_BEYOND_REACH, SCAN_PAGING_IGNORED
 */
export async function* scanWithoutOrder(
  feed: Feed,
  { from, highWaterMark }: { readonly from: number; readonly highWaterMark: number },
  position: ScanPosition,
  logger: Logger,
  mayRewind: boolean,
): AsyncGenerator<ScanPage, HighwaterError | null> {
  const { reader } = position;
  const window = { from, second: null, reach: pagingReach(feed) };
  // Without the filter no request begins at a second: an order is of no use.
  const mayTrust = feed.parameters.updatedSince !== null;
  const order = orderEvidence(from);
  let greatest = highWaterMark;
  const pages = readWindow(feed, reader, window);
  for (;;) {
    const read = await pages.next().catch((error: unknown) => {
      if (mayTrust && isBeyondReach(error) && order.isShownByClimb()) return error;
      throw error;
    });
    if (read instanceof HighwaterError) return read;
    if (!read.done) {
      const { facts, knownSecond } = read.value;
      if (mayRewind && knownSecond < from) {
        const restart = { from: rewound(feed, read.value), highWaterMark };
        return yield* scanWithoutOrder(feed, restart, position, logger, false);
      }
      greatest = Math.max(greatest, facts.greatest ?? 0);
      order.look(facts);
      yield scanPage(position, read.value, false);
      continue;
    }
    const { end, page } = read.value;
    if (!isSettled(read.value)) await giveUpOn(feed, from, end, position, logger);
    // A row that moved while the pages were read may have been missed: it is no older than the first answer.
    position.highWaterMark = Math.min(greatest, page.knownSecond);
    position.shownBelow = greatest + 1;
    reader.setPaging({ ...reader.paging(), ordered: order.isShown() });
    yield lastPage(position, page);
    return null;
  }
}

/** What the pages of a window tell about their order. */
interface OrderEvidence {
  look(page: PageFacts): void;
  /** All pages came oldest first, and the first of them has enough rows that it is no chance. */
  isShown(): boolean;
  /** The same of pages that were read from the first one upward: none begins before the page below it. */
  isShownByClimb(): boolean;
}

function orderEvidence(from: number): OrderEvidence {
  let first: PageFacts | null = null;
  let allAscend = true;
  let climbAscends = true;
  let leastOfLast = from;
  const isShown = (): boolean => allAscend && first !== null && isInOrder(first, from);
  return {
    look(page) {
      first ??= page;
      allAscend &&= page.ascending;
      climbAscends &&= (page.least ?? leastOfLast) >= leastOfLast;
      leastOfLast = page.least ?? leastOfLast;
    },
    isShown,
    isShownByClimb: () => isShown() && climbAscends,
  };
}

function isInOrder({ least, greatest, length }: PageFacts, from: number): boolean {
  if (least === null || greatest === null) return false;
  return least >= from && least < greatest && length >= LEAST_ROWS_IN_ORDER;
}

const LEAST_ROWS_IN_ORDER = 20;

function isBeyondReach(error: unknown): error is HighwaterError {
  return error instanceof HighwaterError && error.code === 'SCAN_BEYOND_REACH';
}
