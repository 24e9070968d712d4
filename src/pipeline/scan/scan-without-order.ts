import { HighwaterError } from '../../errors';
import { type ScanPage, WHOLE_FEED } from '../../types';
import type { FetchedPage, PageFacts } from './pages/page-facts';
import { pagingReach } from './pages/paging';
import { WindowReader } from './pages/window-reader';
import type { ScanPosition } from './scan-position';
import { isFilterOfNoUse, isShownBetween, LONGEST_LAG, MOST_ROUNDED } from './seam';

/**
 * The filter is ignored or the order is not given: everything has to be read before the mark may move. If all of it turns out
 * to come oldest first, the order is trusted again.
 *
 * @returns null at the end. SCAN_BEYOND_REACH if paging does not reach the end, but all rows within its reach came oldest first: a
 *   scan in order may read the others
 * @throws HighwaterError SCAN_BEYOND_REACH, SCAN_PAGING_IGNORED
 */
export async function* scanWithoutOrder(
  position: ScanPosition,
  start: WindowStart,
): AsyncGenerator<ScanPage, HighwaterError | null> {
  for (let window = start; ; ) {
    const end = yield* scanWindow(position, window);
    if (end === null || end instanceof HighwaterError) return end;
    window = end;
  }
}

/** @returns the window that is read next, or as `scanWithoutOrder` */
async function* scanWindow(
  position: ScanPosition,
  { from, highWaterMark, otherBorders, isWide = false, mayRewind }: WindowStart,
): AsyncGenerator<ScanPage, WindowStart | HighwaterError | null> {
  const { feed, reader } = position;
  const everything = { from, second: null, reach: pagingReach(feed), otherBorders };
  const window = new WindowReader(feed, reader, everything);
  // Without the filter no request begins at a second, so an order is of no use.
  const mayTrust = feed.parameters.updatedSince !== null && reader.paging().lag < WHOLE_FEED;
  const order = new OrderEvidence(reader.least(from));
  let greatest = highWaterMark;
  let early: FetchedPage | null = null;
  let isEmpty = true;
  let showsMark = false;
  const shown = new Set<string>();
  const half = Number.isFinite(position.shownRecords) ? position.shownRecords / 2 : 0;
  try {
    for await (const page of window.pages()) {
      if (mayRewind && page.knownSecond < from) {
        early = page;
        break;
      }
      greatest = Math.max(greatest, page.facts.greatest ?? 0);
      isEmpty &&= page.facts.length === 0;
      position.isUnfiltered ||= mayTrust && (page.facts.least ?? from) < reader.least(from) - LONGEST_LAG;
      showsMark ||= isShownBetween(page.facts, from, highWaterMark);
      order.look(page.facts);
      for (const key of page.facts.keys) if (shown.size < half) shown.add(key);
      yield position.page(page);
    }
  } catch (error) {
    if (mayTrust && isBeyondReach(error) && order.isShownByClimb()) return error;
    throw error;
  }
  if (early !== null) return { from: position.rewound(early), highWaterMark, otherBorders, mayRewind: false };
  const windowEnd = reader.windowEnd(from);
  if (windowEnd < window.page.knownSecond) {
    if (!window.isSettled) await position.giveUpOn(from, window.end);
    const next = reader.nextWindow(from);
    // A filter that is asked for earlier may be asked for seconds ahead of the present.
    const isAhead = next > windowEnd;
    const mark = Math.max(greatest, await position.markBehind(windowEnd, window.page));
    return { from: next, highWaterMark: mark, otherBorders, mayRewind: mayRewind && !isAhead };
  }
  const isTested = reader.paging().lagTestedAt === highWaterMark;
  const mayTest = mayRewind && mayTrust && from > 0 && !showsMark;
  const showsNothing = mayTest && isEmpty && (isWide || !isTested) && (await position.showsNothing());
  if (mayTest && (isWide || isEmpty) && !isTested && !showsNothing) {
    reader.setPaging({ ...reader.paging(), lagTestedAt: highWaterMark });
    if (await isFilterOfNoUse(position, from, highWaterMark))
      return { from, highWaterMark, otherBorders, mayRewind };
  }
  await position.testUnfiltered(shown, reader.least(from));
  if (!window.isSettled) await position.giveUpOn(from, window.end);
  // A row that moved while the pages were read may have been missed. It is not older than the first answer.
  position.highWaterMark = Math.min(greatest, window.page.knownSecond);
  position.shownBelow = greatest + 1;
  reader.setPaging({ ...reader.paging(), ordered: order.isShown() && reader.paging().lag <= MOST_ROUNDED });
  yield position.lastPage(window.page);
  return null;
}

interface WindowStart {
  readonly from: number;
  readonly highWaterMark: number;
  readonly otherBorders?: boolean | undefined;
  /** It begins so far before the mark that it shows a known row. */
  readonly isWide?: boolean;
  /** The scan may begin again, before the present. */
  readonly mayRewind: boolean;
}

/** Whether the pages of a window show an order. */
class OrderEvidence {
  private first: PageFacts | null = null;
  private allAscend = true;
  private climbAscends = true;
  private leastOfLast: number;

  constructor(private readonly from: number) {
    this.leastOfLast = from;
  }

  look(page: PageFacts): void {
    this.first ??= page;
    this.allAscend &&= page.ascending;
    this.climbAscends &&= (page.least ?? this.leastOfLast) >= this.leastOfLast;
    this.leastOfLast = page.least ?? this.leastOfLast;
  }

  /** All pages came oldest first, and the first of them has enough rows to rule out chance. */
  isShown(): boolean {
    return this.allAscend && this.first !== null && isInOrder(this.first, this.from);
  }

  /** The same of pages that were read from the first one upward: none begins before the page below it. */
  isShownByClimb(): boolean {
    return this.isShown() && this.climbAscends;
  }
}

function isInOrder({ least, greatest, length }: PageFacts, from: number): boolean {
  if (least === null || greatest === null) return false;
  return least >= from && least < greatest && length >= LEAST_ROWS_IN_ORDER;
}

const LEAST_ROWS_IN_ORDER = 20;

function isBeyondReach(error: unknown): error is HighwaterError {
  return error instanceof HighwaterError && error.code === 'SCAN_BEYOND_REACH';
}
