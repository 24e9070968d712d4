import { inSlices } from '../../async/slices';
import type { Feed } from '../../feeds/feed';
import type { PollDeps } from '../poll';
import { learnedPaging } from '../position';
import { lookAt, type Sight } from './look';

export interface AbsenceProbe {
  /** Which of the records, some of those that the probe was made for, are proved to be gone. */
  gone(ids: readonly string[]): Promise<string[]>;
}

/**
 * Asks once more for records that whole scans did not show, each at the second at which the API last showed it (I7). A record is
 * gone when the answers from the known record before it on hold another known record, and a row at or behind its second, and not
 * this record: without a row behind it, a server that lags would look the same.
 *
 * Where rows come in no order, no request shows the surroundings of one record. And a record that this owner has never been shown
 * may be anywhere behind its image's second, for a touch moves no image. For both, everything is read once more.
 *
 * @param ids all records in doubt
 */
export async function absenceProbe(
  feed: Feed,
  deps: PollDeps,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<AbsenceProbe> {
  const { state, images } = deps;
  const doubtful = new Set(ids);
  const knownBefore = await secondsOfKnown(deps, doubtful);
  let isInOrder = learnedPaging(state.offset, feed).ordered;
  let everything: Sight | null = null;

  async function look(place: number | null): Promise<Sight> {
    if (place === null || !isInOrder) {
      everything ??= await lookAt(feed, deps, { from: 0, through: Number.POSITIVE_INFINITY }, signal);
      return everything;
    }
    // From the known record before it, so that a record without any behind it in its second is surrounded as well.
    const sight = await lookAt(feed, deps, { from: knownBefore(place), through: place }, signal);
    isInOrder = sight.isInOrder;
    return sight;
  }

  function holdsKnown({ rows }: Sight): boolean {
    for (const id of rows.keys()) if (!doubtful.has(id) && state.image(id) !== undefined) return true;
    return false;
  }

  return {
    async gone(some) {
      const asked = some
        .filter((id) => state.image(id) !== undefined)
        .map((id) => ({ id, place: state.seenAt(id) }))
        .sort((a, b) => (a.place ?? 0) - (b.place ?? 0));
      const gone: string[] = [];
      let sight: Sight | null = null;
      for (const { id, place } of asked) {
        if (sight === null || place === null || Math.floor(place) > sight.through) sight = await look(place);
        const least = place ?? images.decode(state.image(id)!).updated;
        if (sight.through >= Math.floor(least) && !sight.rows.has(id) && holdsKnown(sight)) gone.push(id);
      }
      return gone;
    },
  };
}

/**
 * For the second at which a doubtful record was last shown: the greatest not above it at which a known one was, or itself where there
 * is none. One pass over all records.
 */
async function secondsOfKnown(
  { state }: PollDeps,
  doubtful: ReadonlySet<string>,
): Promise<(place: number) => number> {
  const places = Float64Array.from(doubtful, (id) => state.seenAt(id) ?? Number.NaN).sort();
  /** By the first place that is not below them. */
  const known = new Float64Array(places.length).fill(Number.NaN);
  await inSlices(state.ids(), (id) => {
    const second = doubtful.has(id) ? null : state.seenAt(id);
    if (second === null) return;
    const at = firstNotBelow(places, second);
    if (at < places.length && !(known[at]! >= second)) known[at] = second;
  });
  for (let i = 1; i < known.length; i++) if (Number.isNaN(known[i])) known[i] = known[i - 1]!;
  return (place) => {
    const at = firstNotBelow(places, place);
    const before = (places[at] === place ? known[at] : known[at - 1]) ?? Number.NaN;
    return Number.isNaN(before) ? place : before;
  };
}

/** Index of the first number that is not below `least`; NaN comes last. */
function firstNotBelow(sorted: Float64Array, least: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
