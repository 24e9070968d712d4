import type { Feed } from '../feeds/feed';
import { rowKeys } from '../feeds/row-keys';
import type { Logger } from '../logging/logger';
import { type Source, sourceFromNow } from '../source/source';
import type { FeedState } from '../state/feed-state';
import type { ScanEnd } from '../types';
import { learnedPaging, shownRecords } from './position';
import { scan } from './scan/scan';

/** The owned feed as a look needs it. */
export interface LookDeps {
  readonly feed: Feed;
  readonly source: Source;
  readonly state: Pick<FeedState, 'offset' | 'records'>;
  readonly logger: Logger;
  /** Called with the rows of every page of every round. */
  readonly witnesses: Set<(rows: readonly unknown[], end?: ScanEnd) => void>;
}

/** Unix seconds. */
export interface LookRange {
  readonly from: number;
  readonly through: number;
  /** All pages are read as well: the filter may go by another time than the feed says. */
  readonly withoutFilter?: boolean;
  /** Asked after each page: nothing else is to be found. */
  readonly isEnough?: () => boolean;
}

/** What the API shows from one second on, at this moment. */
export interface Sight {
  /** Ids that are looked for, and shown → `updated` of the row, Unix seconds; null if it cannot be read. */
  readonly rows: ReadonlyMap<string, number | null>;
  /** The earliest second at which another record is shown that has an image; Infinity if there is none. */
  readonly leastKnown: number;
  readonly hasRows: boolean;
  /**
   * Everything up to and including this second was shown, and also a row at it or behind it: a server that lags has none there.
   * -Infinity if rows kept changing while they were read, or if there were none.
   */
  readonly through: number;
  readonly isInOrder: boolean;
  /** As in `ScanProgress`. */
  readonly hiddenThrough: number | null;
  /** False if a cache has kept an answer since before the look: then it proves nothing, and `through` is -Infinity. */
  readonly isPresent: boolean;
}

/**
 * Looks for records: reads from one second through another (fractions do not count), or to the end if rows come in no order. Rounds that
 * wait for a record to show up see these rows as well.
 * @throws HighwaterError SOURCE_*, SCAN_*
 */
export async function lookAt(
  { feed, source, state, logger, witnesses }: LookDeps,
  { from, through, withoutFilter = false, isEnough }: LookRange,
  isWanted: (id: string) => boolean,
  signal: AbortSignal,
): Promise<Sight> {
  const paging = learnedPaging(state.offset, feed);
  const begin = { highWaterMark: Math.floor(from), overlapSeconds: 0 };
  const known = { paging, shownRecords: shownRecords(state.offset) };
  const start = { ...begin, ...known, snapshot: false, wide: true, otherBorders: true, withoutFilter };
  const keys = rowKeys(feed);
  const rows = new Map<string, number | null>();
  let leastKnown = Number.POSITIVE_INFINITY;
  let hasRows = false;
  let isInOrder = paging.ordered;
  let shownThrough = Number.NEGATIVE_INFINITY;
  let isPresent = true;
  let hiddenThrough: number | null = null;
  const present = sourceFromNow(source, () => {
    isPresent = false;
  });
  for await (const page of scan(feed, start, { source: present, logger }, signal)) {
    const { shownBelow, settled, paging: learned } = page.progress;
    for (const row of page.rows) {
      const id = keys.id(row);
      if (id === null) continue;
      hasRows = true;
      const updated = keys.updated(row);
      if (isWanted(id)) rows.set(id, updated);
      else if (state.records.find(id) !== -1)
        leastKnown = Math.min(leastKnown, Math.floor(updated ?? Number.MAX_VALUE));
    }
    // Behind the loop, because a round may no longer want what it has seen.
    for (const witness of witnesses) witness(page.rows);
    isInOrder &&= learned.ordered;
    hiddenThrough = page.progress.hiddenThrough ?? null;
    shownThrough = isPresent && settled && hasRows ? shownBelow - 1 : Number.NEGATIVE_INFINITY;
    if (shownThrough >= Math.floor(through) || isEnough?.()) break;
  }
  return { rows, leastKnown, hasRows, through: shownThrough, isInOrder, hiddenThrough, isPresent };
}
