import type { FetchedPage, PageFacts } from './page-facts';

/** What a scan takes for its end and for the present. Unix seconds. */
export interface Present {
  /** The end that it wants to reach; Infinity while there is none. */
  readonly pin: number;
  readonly now: number;
}

export interface Clocks {
  /** To be asked about each first page from an anchor on. @param isShort it has fewer rows than others */
  presentAt(page: FetchedPage, isShort: boolean): Present;
  /** To be told of the pages behind those: where replicas differ, rows may be seen to move there alone. */
  saw(page: FetchedPage): void;
}

/** Clocks that differ by more are not both right. */
const ODD_SECONDS = 60;

/** Pages with rows that were seen to move on, until their seconds are taken for the vendor's present. */
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
 * - where rows are seen to move on, again and again, it is by the clock by which they are dated, and no answer may tell it. That
 *   clock is taken for the present when it is ahead of both, when pages are short, which hold everything from their second on, or
 *   when pages hold nothing but rows that moved. Else a scan that follows rows dated behind both clocks would go on for as long
 *   as these are behind.
 *
 */
export function followClocks(snapshot: boolean, overlapSeconds: number): Clocks {
  let elapsedMs = 0;
  let lastAtMs: number | null = null;
  const pins: Record<'server' | 'own', { second: number; readonly atMs: number } | null> = {
    server: null,
    own: null,
  };

  /** The second at which each of the latest rows was seen last. */
  const seen = new Map<string, number>();
  let movingPages = 0;
  /** The last second of the first page on which rows had moved. */
  let edge = Number.POSITIVE_INFINITY;
  /** The last second of any such page. */
  let latest = Number.NEGATIVE_INFINITY;

  /** @returns whether the page lies where rows may be taken for ones that move */
  function watchMoves({ facts, serverSecond, ownSecond }: FetchedPage, isShort: boolean): boolean {
    const [last, present] = [facts.last ?? 0, Math.max(serverSecond, ownSecond)];
    const { moved, nothingElse } = movesOn(facts, isShort ? -1 : present, seen);
    if (moved || nothingElse) {
      movingPages++;
      edge = Math.min(edge, last);
      latest = Math.max(latest, last);
    }
    // A page without any time stamp lies wherever the scan has come to.
    return isShort || nothingElse || last > present || facts.last === null;
  }

  function presentAt(page: FetchedPage, isShort: boolean): Present {
    const { facts, observedAtMs, serverSecond, ownSecond } = page;
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
    if (watchMoves(page, isShort) && movingPages >= MOVING_PAGES)
      return { pin: Math.min(present, edge), now: Math.max(last, latest) };
    const isOdd = Math.abs(serverSecond - ownSecond) > ODD_SECONDS;
    if (isOdd && own !== null && last > own.second && last <= ownSecond)
      return { pin: own.second, now: ownSecond };
    return { pin: server?.second ?? Number.POSITIVE_INFINITY, now: serverSecond };
  }

  return { presentAt, saw: (page) => void watchMoves(page, false) };
}

/** Rows that are remembered at once. */
const MOST_SEEN = 10_000;

/**
 * @param seen is brought up to date
 * @returns `moved`: one of the page's rows after a second was seen earlier with an earlier one. `nothingElse`: all with a time
 * stamp were. The scan asks again from the last second that it saw, so a single row that rests there says that it does not only
 * follow rows that move. Rows without an id count as one row that moves: they cannot be told apart, and as dead letters they can wait
 */
function movesOn(
  { ids, updated }: PageFacts,
  after: number,
  seen: Map<string, number>,
): { readonly moved: boolean; readonly nothingElse: boolean } {
  if (seen.size > MOST_SEEN) seen.clear();
  let moved = false;
  let dated = 0;
  let moves = 0;
  ids.forEach((id, i) => {
    const second = updated[i] ?? null;
    if (second === null) return;
    dated++;
    const row = id ?? '';
    const before = seen.get(row);
    seen.set(row, second);
    if (before === undefined || before >= second) return;
    moves++;
    moved ||= second > after;
  });
  return { moved, nothingElse: moves > 0 && moves === dated };
}
