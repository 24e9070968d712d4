import type { PageReport } from '../pipeline/poll';

const tellEveryMs = 5_000;

interface FeedProgress {
  readonly beganMs: number;
  toldMs: number;
  rows: number;
}

/** What a first snapshot has to tell; null for the most part, so that a log stays readable. */
export type SnapshotNews =
  | { readonly done: false; readonly rows: number; readonly perSecond: number }
  | { readonly done: true; readonly records: number; readonly perSecond: number; readonly seconds: number };

/** Counts the rows of each feed's snapshot and says now and then how it goes. @param now ms */
export function snapshotProgress(now: () => number): (report: PageReport) => SnapshotNews | null {
  const began = now();
  const feeds = new Map<string, FeedProgress>();
  return ({ feed, rows: pageRows, progress: { duringSnapshot, complete }, state }) => {
    if (!duringSnapshot) return null;
    const at = now();
    const progress = feeds.get(feed.name) ?? { beganMs: began, toldMs: began, rows: 0 };
    progress.rows += pageRows;
    feeds.set(feed.name, progress);
    const ms = Math.max(1, at - progress.beganMs);
    const { rows } = progress;
    const perSecond = Math.round((rows * 1000) / ms);
    if (complete) {
      feeds.delete(feed.name);
      const { record_count: records } = state.offset;
      return { done: true, records, perSecond, seconds: Math.round(ms / 100) / 10 };
    }
    if (at - progress.toldMs < tellEveryMs) return null;
    progress.toldMs = at;
    return { done: false, rows, perSecond };
  };
}
