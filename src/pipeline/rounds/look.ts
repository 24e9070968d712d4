import { rowKeys } from '../../feeds/row-keys';
import { sourceFromNow } from '../../source/source';
import type { PollDeps } from '../poll';
import { learnedPaging } from '../position';
import { scan } from '../scan/scan';

/** The rows that the API shows from one second on, at this moment. */
export interface Sight {
  /** `updated` of each row that has an id, Unix seconds; null if it cannot be read. */
  readonly rows: ReadonlyMap<string, number | null>;
  /**
   * Everything up to and including this second was shown, and also a row at it or behind it: a server that lags has none there.
   * -Infinity if rows kept changing while they were read, or if there were none.
   */
  readonly through: number;
  readonly isInOrder: boolean;
  /** False if a cache has kept an answer since before the look: then it proves nothing, and `through` is -Infinity. */
  readonly isPresent: boolean;
}

/**
 * Reads from one second through another (fractions do not count), or to the end if rows come in no order. Rounds that wait for a
 * record to show up see these rows as well.
 * @throws HighwaterError SOURCE_*, SCAN_*
 */
export async function lookAt(
  { feed, source, state, logger, witnesses }: PollDeps,
  { from, through }: { readonly from: number; readonly through: number },
  signal: AbortSignal,
): Promise<Sight> {
  const paging = learnedPaging(state.offset, feed);
  const begin = { highWaterMark: Math.floor(from), overlapSeconds: 0 };
  const start = { ...begin, snapshot: false, wide: true, paging, otherBorders: true };
  const keys = rowKeys(feed);
  const rows = new Map<string, number | null>();
  let isInOrder = paging.ordered;
  let shownThrough = Number.NEGATIVE_INFINITY;
  let isPresent = true;
  const present = sourceFromNow(source, () => {
    isPresent = false;
  });
  for await (const page of scan(feed, start, { source: present, logger }, signal)) {
    const { shownBelow, settled, paging: learned } = page.progress;
    for (const witness of witnesses) witness(page.rows);
    for (const row of page.rows) {
      const id = keys.id(row);
      if (id !== null) rows.set(id, keys.updated(row));
    }
    isInOrder &&= learned.ordered;
    shownThrough = isPresent && settled && rows.size > 0 ? shownBelow - 1 : Number.NEGATIVE_INFINITY;
    if (shownThrough >= Math.floor(through)) break;
  }
  return { rows, through: shownThrough, isInOrder, isPresent };
}
