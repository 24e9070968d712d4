import type { FetchedPage, PageFacts } from './pages/page-facts';

/** The seconds that a scan takes for its end and for the present. Unix seconds. */
export interface Present {
  /** The end that it wants to reach; Infinity while there is none. */
  readonly pin: number;
  readonly now: number;
}

/** Clocks that differ by more are not both right. */
const ODD_SECONDS = 60;

/** After so many pages with moving rows, their seconds are taken for the vendor's present. */
const MOVING_PAGES = 5;

/**
 * Follows the clocks of a scan's answers. A poll is pinned at its first answer, a snapshot at the first answer whose rows come close to
 * the present. The server's clock is believed, with three exceptions:
 *
 * - Servers behind one address may differ. If a later answer shows that an earlier clock was behind, the pin moves up by as much.
 *   Otherwise rows that were there before would be taken for moving rows.
 * - If the server's clock is far from the own clock, a row between the own clock's pin and the own present is taken for a moving row
 *   too. With a wrong `Date`, the scan would follow such rows without end. If the own clock is wrong, the next poll reads those few
 *   seconds again, because the mark is no later than either clock.
 * - If rows are seen to move again and again, the clock that dates them may be in no answer. It is taken for the present if it is ahead
 *   of both clocks, if pages are short (a short page holds everything from its second on), or if pages hold only rows that moved.
 *   Otherwise a scan would follow rows dated behind both clocks for as long as they are behind.
 */
export class Clocks {
  /** The latest time of the server in an answer. */
  now = 0;
  private elapsedMs = 0;
  private lastAtMs: number | null = null;
  private readonly pins: Record<'server' | 'own', { second: number; readonly atMs: number } | null> = {
    server: null,
    own: null,
  };
  /** Latest rows → the second at which each was last seen. */
  private readonly seen = new Map<string, number>();
  private movingPages = 0;
  /** The last second of the first page with moved rows. */
  private edge = Number.POSITIVE_INFINITY;
  /** The greatest last second of pages with moved rows. */
  private latest = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly snapshot: boolean,
    private readonly overlapSeconds: number,
  ) {}

  /** Call it for each first page from an anchor. @param isShort it has fewer rows than others */
  presentAt(page: FetchedPage, isShort: boolean): Present {
    const { facts, observedAtMs, serverSecond, ownSecond } = page;
    const { pins } = this;
    // The own clock may step in between.
    if (this.lastAtMs !== null) this.elapsedMs += Math.max(0, observedAtMs - this.lastAtMs);
    this.lastAtMs = observedAtMs;
    const last = facts.last ?? 0;
    this.pinTo(page);
    const { server, own } = pins;
    if (server !== null) {
      const then = Math.min(serverSecond, ownSecond) - Math.ceil((this.elapsedMs - server.atMs) / 1000);
      server.second = Math.max(server.second, then);
    }
    const present = Math.max(serverSecond, ownSecond);
    if (this.saw(page, isShort) && this.movingPages >= MOVING_PAGES)
      return { pin: Math.min(present, this.edge), now: Math.max(last, this.latest) };
    const isOdd = Math.abs(serverSecond - ownSecond) > ODD_SECONDS;
    if (isOdd && own !== null && last > own.second && last <= ownSecond)
      return { pin: own.second, now: ownSecond };
    return { pin: server?.second ?? Number.POSITIVE_INFINITY, now: serverSecond };
  }

  /**
   * Whether a row lies between the scan's end and the present, so it was written since the scan began. With a lag of the filter, such rows
   * come only on the pages behind the first one.
   */
  isBeyond(second: number): boolean {
    const { server } = this.pins;
    return server !== null && second > server.second && second <= this.now;
  }

  private pinTo({ facts, serverSecond, ownSecond }: FetchedPage): void {
    this.now = Math.max(this.now, serverSecond);
    for (const [clock, second] of [
      ['server', serverSecond],
      ['own', ownSecond],
    ] as const)
      if (!this.snapshot || (facts.last ?? 0) >= second - this.overlapSeconds)
        this.pins[clock] ??= { second, atMs: this.elapsedMs };
  }

  /**
   * Call it for all other pages: if replicas differ, rows may be seen to move only there.
   * @returns whether rows of the page may be taken for moving rows
   */
  saw(page: FetchedPage, isShort = false): boolean {
    const { facts, serverSecond, ownSecond } = page;
    this.pinTo(page);
    const [last, present] = [facts.last ?? 0, Math.max(serverSecond, ownSecond)];
    const { moved, nothingElse } = movesOn(facts, isShort ? -1 : present, this.seen);
    if (moved || nothingElse) {
      this.movingPages++;
      this.edge = Math.min(this.edge, last);
      this.latest = Math.max(this.latest, last);
    }
    // The position of a page without time stamps is unknown.
    return isShort || nothingElse || last > present || facts.last === null;
  }
}

/** Rows that are remembered at once. */
const MOST_SEEN = 10_000;

/**
 * Rows without an id count as one moving row: they cannot be told apart, and as dead letters they can wait.
 * @param seen is updated
 * @returns `moved`: a row that is now later than `after` was seen before at an earlier second. `nothingElse`: that holds for all rows with
 * a time stamp. The scan asks again from the last second that it saw, so a single row that rests there shows that the scan does not only
 * follow moving rows
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
