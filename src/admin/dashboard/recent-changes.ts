import type { ChangesView, ChangeView } from './view';

/** So many are kept, and so many are shown to who looks for the first time. */
const KEPT = 300;
const FIRST = 100;
/** In one event. */
const MOST_AT_ONCE = 200;

export interface RecentChanges {
  /** Takes a change in. Its number counts those that were left out before it, too. */
  add(change: Omit<ChangeView, 'n'>): void;
  /** So many were committed that are not shown. */
  leaveOut(count: number): void;
  /** For who connects: what came after the last change that was shown there, or the last ones there are where none was. */
  first(n: number | null): ChangesView;
  /** For who is connected; those that came too fast for it are left out. */
  after(n: number): ChangesView;
  /** Number of the last one. */
  readonly last: number;
  /** Nobody looks: who does again begins anew. */
  forget(): void;
}

/** The last changes of all feeds, in the order in which they were read. Holds a bounded number of texts, and no records. */
export function recentChanges(): RecentChanges {
  let kept: ChangeView[] = [];
  let seen = 0;
  /** Number of the last one that is not kept any more. */
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
