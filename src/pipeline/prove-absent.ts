import type { Feed } from '../feeds/feed';
import { type FetchedPage, type PageReader, pageReader } from './page-reader';
import type { PollDeps } from './poll';
import { learnedPaging } from './position';
import { rowId } from './row';
import { scan } from './scan';

export interface AbsenceProbe {
  /** Which of the records, some of those that the probe was made for, are proved to be gone. */
  gone(ids: readonly string[]): Promise<string[]>;
}

/**
 * Asks once more for records that whole scans did not show, at their own place (I7). A record is gone when the answers from the
 * known record before it on hold another known record, and a row at or behind its own second, and not this record: without a
 * row behind it, a server that lags would look the same.
 *
 * Where the rows turn out not to come in order, no request shows the surroundings of one record, and everything is read once
 * more.
 *
 * @param ids all records in doubt
 */
export function absenceProbe(
  feed: Feed,
  deps: PollDeps,
  ids: readonly string[],
  signal: AbortSignal,
): AbsenceProbe {
  const { state, images } = deps;
  const doubtful = new Set(ids);
  const updatedOf = (id: string): number => images.decode(state.image(id)!).updated;
  const isKnown = (id: string): boolean => !doubtful.has(id) && state.image(id) !== undefined;
  const holdsKnown = (answer: Shown): boolean => {
    for (const id of answer.ids) if (isKnown(id)) return true;
    return false;
  };
  const paging = learnedPaging(state.offset, feed.pageSize);
  const known = Float64Array.from([...state.ids()].filter(isKnown), updatedOf).sort();
  let all: Promise<Shown | null> | null = paging.ordered ? null : everything(feed, deps, signal);

  return {
    async gone(some) {
      const asked = some
        .filter((id) => state.image(id) !== undefined)
        .map((id) => ({ id, updated: updatedOf(id) }))
        .sort((a, b) => a.updated - b.updated);
      const gone: string[] = [];
      let shown: Shown | null = null;
      for (const { id, updated } of asked) {
        if (all === null && (shown === null || updated > shown.through)) {
          // From the known record before it, so that a record without any behind it in its second is surrounded as well.
          const reader = pageReader(feed, deps.source, paging, signal);
          shown = await shownAround(reader, neighbour(known, updated), updated, deps);
          if (shown === null) all = everything(feed, deps, signal);
        }
        const answer: Shown | null = all === null ? shown : await all;
        if (answer === null || answer.through < updated || answer.ids.has(id)) continue;
        if (holdsKnown(answer)) gone.push(id);
      }
      return gone;
    },
  };
}

/** The largest that is not above `updated`; where there is none, itself. */
function neighbour(known: Float64Array, updated: number): number {
  let [low, high] = [0, known.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (known[middle]! <= updated) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? updated : known[low - 1]!;
}

interface Shown {
  readonly ids: ReadonlySet<string>;
  /** Up to and with this second everything was shown, and something at it or behind it. */
  readonly through: number;
}

/** Reads from one second through another. Null where the answers are not what an ordered feed gives. */
async function shownAround(
  reader: PageReader,
  from: number,
  through: number,
  deps: PollDeps,
): Promise<Shown | null> {
  const ids = new Set<string>();
  let greatest = Number.NEGATIVE_INFINITY;
  const read = async (n: number): Promise<FetchedPage | 'page-size-changed'> => {
    const page = await reader.read(from, n);
    // One empty answer says nothing.
    return page !== 'page-size-changed' && page.facts.length === 0 ? reader.read(from, n) : page;
  };
  for (let n = 0; ; n++) {
    const page = await read(n);
    if (page === 'page-size-changed') {
      n = -1;
      continue;
    }
    addIds(page.rows, ids, deps);
    const { facts } = page;
    if (facts.length === 0) return { ids, through: greatest };
    if (!facts.ascending || facts.least === null || facts.least < from) return null;
    greatest = Math.max(greatest, facts.last ?? greatest);
    if (greatest > through) return { ids, through: greatest - 1 };
  }
}

/** A scan over the whole feed; null when it does not reach its end. */
async function everything(feed: Feed, deps: PollDeps, signal: AbortSignal): Promise<Shown | null> {
  const ids = new Set<string>();
  const paging = { ...learnedPaging(deps.state.offset, feed.pageSize), ordered: false };
  const start = { highWaterMark: 0, snapshot: false, wide: true, paging };
  let isWhole = false;
  let through = Number.NEGATIVE_INFINITY;
  for await (const { rows, progress } of scan(feed, start, deps, signal)) {
    addIds(rows, ids, deps);
    isWhole = progress.complete && progress.settled;
    through = Math.max(through, progress.highWaterMark);
  }
  return isWhole ? { ids, through } : null;
}

/** Other rounds that wait for a record to show up hear of it, too. */
function addIds(rows: readonly unknown[], ids: Set<string>, { witnesses }: PollDeps): void {
  for (const witness of witnesses) witness(rows);
  for (const row of rows) {
    const id = rowId(row);
    if (id !== null) ids.add(id);
  }
}
