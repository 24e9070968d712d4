import type { PageFacts } from './page-facts';
import type { FetchedPage } from './page-reader';

/** What a scan takes for its end and for the present. Unix seconds. */
export interface Present {
  /** The end that it wants to reach; Infinity while there is none. */
  readonly pin: number;
  readonly now: number;
}

/** Clocks that differ by more are not both right. */
const ODD_SECONDS = 60;

/** Pages with rows that were seen to move on, ahead of both clocks, until that is taken for the vendor's present. */
const MOVING_PAGES = 5;

/**
 * Follows the clocks of a scan's answers. A poll is pinned at its first answer, a snapshot at the first that comes close to
 * the moment of its own. The server's clock is believed, but
 *
 * - servers behind one address may differ: when a later answer tells that an earlier one was behind, the pin moves up by as
 *   much, or rows that were there before would be taken for rows that move on;
 * - where it is far from the own one, a row between the own clock's pin and the own present is taken for one that moves on,
 *   too: by a `Date` that is wrong the scan would follow those without end. When it is the own clock that is wrong, the
 *   few seconds in which rows are taken so wrongly are read by the next poll: the mark is no later than either clock;
 * - where rows that are dated ahead of both are seen to move on, again and again, it is the clock by which they are dated that
 *   is ahead, and no answer tells it.
 */
export function followClocks(snapshot: boolean, overlapSeconds: number): (page: FetchedPage) => Present {
  let elapsedMs = 0;
  let lastAtMs: number | null = null;
  const pins: Record<'server' | 'own', { second: number; readonly atMs: number } | null> = {
    server: null,
    own: null,
  };

  /** Rows dated ahead of both clocks: the second at which each was seen last. */
  const ahead = new Map<string, number>();
  let movingPages = 0;

  return ({ facts, observedAtMs, serverSecond, ownSecond }) => {
    // The own clock may step meanwhile.
    if (lastAtMs !== null) elapsedMs += Math.max(0, observedAtMs - lastAtMs);
    lastAtMs = observedAtMs;
    const last = facts.last ?? 0;
    for (const [clock, second] of [
      ['server', serverSecond],
      ['own', ownSecond],
    ] as const) {
      if (!snapshot || last >= second - overlapSeconds) pins[clock] ??= { second, atMs: elapsedMs };
    }
    const { server, own } = pins;
    if (server !== null) {
      const then = Math.min(serverSecond, ownSecond) - Math.ceil((elapsedMs - server.atMs) / 1000);
      server.second = Math.max(server.second, then);
    }
    const present = Math.max(serverSecond, ownSecond);
    if (last > present && haveMovedOn(facts, present, ahead)) movingPages++;
    if (last > present && movingPages >= MOVING_PAGES) return { pin: present, now: last };
    const isOdd = Math.abs(serverSecond - ownSecond) > ODD_SECONDS;
    if (isOdd && own !== null && last > own.second && last <= ownSecond)
      return { pin: own.second, now: ownSecond };
    return { pin: server?.second ?? Number.POSITIVE_INFINITY, now: serverSecond };
  };
}

/** Whether one of the page's rows after a second was seen earlier with an earlier one. */
function haveMovedOn({ ids, updated }: PageFacts, after: number, seen: Map<string, number>): boolean {
  let moved = false;
  ids.forEach((id, i) => {
    const second = updated[i] ?? null;
    if (id === null || second === null || second <= after) return;
    const before = seen.get(id);
    moved ||= before !== undefined && before < second;
    seen.set(id, second);
  });
  return moved;
}
