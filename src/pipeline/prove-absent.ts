import type { Feed } from '../feeds/feed';
import { type PageReader, pageReader } from './page-reader';
import type { PollDeps } from './poll';
import { learnedPaging } from './position';
import { rowId } from './row';
import { scan } from './scan';

/**
 * Which of some records the server really does not have any more, asked once more and at their own place (I7): the answer for the
 * seconds around a record's `updated` must hold another known record, and not this one.
 *
 * Where the rows turn out not to come in order, no request shows the surroundings of one record, and everything is read once
 * more.
 *
 * @param ids of known records that whole scans did not show
 * @returns those that are proved to be gone
 */
export async function proveAbsent(
  feed: Feed,
  deps: PollDeps,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const { state, codec } = deps;
  const doubtful = new Set(ids);
  const updatedOf = (id: string): number => codec.image.decode(state.image(id)!).updated;
  const isKnown = (id: string): boolean => !doubtful.has(id) && state.image(id) !== undefined;
  const paging = learnedPaging(state.offset, feed.pageSize);
  const inAll = async (): Promise<string[]> => {
    const seen = new Set<string>();
    const start = { highWaterMark: 0, snapshot: false, wide: true, paging };
    let isWhole = false;
    for await (const { rows, progress } of scan(feed, start, deps, signal)) {
      addIds(rows, seen, deps);
      isWhole = progress.complete && progress.settled;
    }
    return isWhole && [...seen].some(isKnown) ? ids.filter((id) => !seen.has(id)) : [];
  };
  if (!paging.ordered) return inAll();

  const reader = pageReader(feed, deps.source, paging, signal);
  const known = Float64Array.from([...state.ids()].filter(isKnown), updatedOf).sort();
  const asked = ids.map((id) => ({ id, updated: updatedOf(id) })).sort((a, b) => a.updated - b.updated);
  const gone: string[] = [];
  for (let i = 0; i < asked.length; ) {
    // From the known record before it, so that a record without any behind it is surrounded as well.
    const from = neighbour(known, asked[i]!.updated);
    const shown = await shownAround(reader, from, asked[i]!.updated, deps);
    if (shown === null) return inAll();
    const isAnswered = [...shown.ids].some(isKnown);
    // One answer proves for all whose second it shows whole.
    const to = isAnswered ? shown.through : asked[i]!.updated;
    do {
      const { id } = asked[i]!;
      if (isAnswered && !shown.ids.has(id)) gone.push(id);
      i++;
    } while (i < asked.length && asked[i]!.updated <= to);
  }
  return gone;
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
  /** Up to and with this second everything was shown. */
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
  for (let n = 0; ; n++) {
    const page = await reader.read(from, n);
    if (page === 'page-size-changed') {
      n = -1;
      continue;
    }
    addIds(page.rows, ids, deps);
    const { facts } = page;
    if (facts.length === 0) return { ids, through: Number.POSITIVE_INFINITY };
    if (!facts.ascending || facts.least === null || facts.least < from) return null;
    if (facts.last !== null && facts.last > through) return { ids, through: facts.last - 1 };
  }
}

/** Other rounds that wait for a record to show up hear of it, too. */
function addIds(rows: readonly unknown[], ids: Set<string>, { witnesses }: PollDeps): void {
  for (const witness of witnesses) witness(rows);
  for (const row of rows) {
    const id = rowId(row);
    if (id !== null) ids.add(id);
  }
}
