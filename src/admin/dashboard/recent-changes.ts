import type { ChangesView, ChangeView } from './view';

/** How many changes are kept, and how many a page is shown when it connects for the first time. */
const KEPT = 300;
const FIRST = 100;
/** In one event. */
const MOST_AT_ONCE = 200;

export interface RecentChanges {
  /** Adds a change. Its number also counts the changes that were left out before it. */
  add(change: Omit<ChangeView, 'n'>): void;
  /** This many changes were committed and are not shown. */
  leaveOut(count: number): void;
  /** Changes for a page that connects: those after the last change that it showed, or the latest changes if it showed none. */
  first(n: number | null): ChangesView;
  /** Changes for a connected page, without changes that came too fast for it. */
  after(n: number): ChangesView;
  /** Number of the last one. */
  readonly last: number;
  /** No page is connected any more. The next page starts afresh. */
  forget(): void;
}

/** The last changes of all feeds, in the order in which they were read. Holds a bounded number of texts, and no records. */
export function recentChanges(): RecentChanges {
  let kept: ChangeView[] = [];
  let seen = 0;
  /** Number of the last change that is no longer kept. */
  let gone = 0;
  return {
    add(change) {
      kept.push({ ...change, n: ++seen });
      if (kept.length > 2 * KEPT) drop(kept.length - KEPT);
    },
    leaveOut(count) {
      seen += count;
    },
    first(n) {
      const isKnown = n !== null && n >= gone && n <= seen;
      return isKnown ? after(n) : { fresh: true, changes: kept.slice(-FIRST), left: 0 };
    },
    after,
    get last() {
      return seen;
    },
    forget() {
      kept = [];
      gone = ++seen;
    },
  };

  function after(n: number): ChangesView {
    const changes = kept.filter((change) => change.n > n).slice(-MOST_AT_ONCE);
    const last = changes.at(-1);
    return { fresh: false, changes, left: last === undefined ? 0 : last.n - n - changes.length };
  }

  function drop(count: number): void {
    gone = kept[count - 1]!.n;
    kept = kept.slice(count);
  }
}
