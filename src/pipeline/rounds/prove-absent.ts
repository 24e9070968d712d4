import { inSlices } from '../../async/slices';
import { lookAt, type Sight } from '../look';
import type { PollDeps } from '../poll';
import { learnedPaging } from '../position';

export interface AbsenceProbe {
  /** @param ids of records in doubt @returns the ids that are proved to be gone */
  gone(ids: readonly string[]): Promise<string[]>;
  /** Records were not proved to be gone because a limit of paging may hide them. */
  readonly mayBeHidden: boolean;
}

/**
 * Asks once more for records that whole scans did not show, each at the second at which the API last showed it (I7). The answers begin
 * at the known record before it. The record is gone if they hold that record and a row at or behind its second, but not the record
 * itself. Without a row behind it, a server that lags would look the same. Without the record before it, the filter may leave out the
 * second that it is asked for; then everything is read.
 *
 * If rows come in no order, no request shows the surroundings of one record. A record that this owner has never been shown may be
 * anywhere behind its image's second, because a touch moves no image. In both cases everything is read once more.
 *
 * Rows without a time do not tell that a server is up to date, nor do rows behind a time that was old when the record was first seen. Such a
 * record, if that was lately, may be missing on a server that lags, and is not gone.
 *
 * @param isDoubtful tells whether the record with a number is in doubt
 */
export async function absenceProbe(
  deps: PollDeps,
  isDoubtful: (number: number) => boolean,
  signal: AbortSignal,
): Promise<AbsenceProbe> {
  const { feed, state, images, firstSights } = deps;
  const { records } = state;
  const isWanted = (id: string): boolean => {
    const number = records.find(id);
    return number !== -1 && isDoubtful(number);
  };
  const knownBefore = await secondsOfKnown(deps, isDoubtful);
  let isInOrder = learnedPaging(state.offset, feed).ordered;
  let everything: Sight | null = null;

  async function look(place: number | null): Promise<Sight> {
    const before = place === null || !isInOrder ? null : knownBefore(place);
    if (place !== null && before !== null) {
      // It begins at the known record before it: so the last record of a second is surrounded, too.
      const sight = await lookAt(deps, { from: before, through: place }, isWanted, signal);
      isInOrder = sight.isInOrder;
      if (isInOrder && sight.leastKnown <= Math.floor(before)) return sight;
    }
    everything ??= await lookAt(deps, { from: 0, through: Number.POSITIVE_INFINITY }, isWanted, signal);
    return everything;
  }

  const probe = {
    mayBeHidden: false,
    async gone(some: readonly string[]) {
      const isProvable = (id: string): boolean =>
        records.find(id) !== -1 && !firstSights.isRecent(id, Date.now());
      const asked = some
        .filter(isProvable)
        .map((id) => ({ id, place: state.seenAt(id) }))
        .sort((a, b) => (a.place ?? 0) - (b.place ?? 0));
      const gone: string[] = [];
      let sight: Sight | null = null;
      for (const { id, place } of asked) {
        if (sight === null || place === null || Math.floor(place) > sight.through) {
          sight = await look(place);
        }
        const least = place ?? images.decode(state.image(id)!).updated;
        const holdsKnown = sight.leastKnown < Number.POSITIVE_INFINITY;
        // It may have moved there since it was last shown.
        const mayBeHidden = sight.hiddenThrough !== null && least <= sight.hiddenThrough;
        const isShown = sight.through >= Math.floor(least) && holdsKnown;
        if (!isShown || sight.rows.has(id)) continue;
        if (mayBeHidden) probe.mayBeHidden = true;
        else gone.push(id);
      }
      return gone;
    },
  };
  return probe;
}

/**
 * Maps the second at which a doubtful record was last shown to the greatest second, not above it, at which a known record was shown;
 * null if there is none.
 */
async function secondsOfKnown(
  { state: { records } }: PollDeps,
  isDoubtful: (number: number) => boolean,
): Promise<(place: number) => number | null> {
  const found: number[] = [];
  await inSlices(records.numbers(), (number) => {
    const second = isDoubtful(number) ? records.seenAt(number) : null;
    if (second !== null) found.push(second);
  });
  const places = Float64Array.from(found).sort();
  /** Seconds of known records, by the first place that is not below them. */
  const known = new Float64Array(places.length).fill(Number.NaN);
  await inSlices(records.numbers(), (number) => {
    const second = isDoubtful(number) ? null : records.seenAt(number);
    if (second === null) return;
    const at = firstNotBelow(places, second);
    if (at < places.length && !(known[at]! >= second)) known[at] = second;
  });
  for (let i = 1; i < known.length; i++) if (Number.isNaN(known[i])) known[i] = known[i - 1]!;
  return (place) => {
    const at = firstNotBelow(places, place);
    const before = (places[at] === place ? known[at] : known[at - 1]) ?? Number.NaN;
    return Number.isNaN(before) ? null : before;
  };
}

/** Index of the first number that is not below `least`. */
function firstNotBelow(sorted: Float64Array, least: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
