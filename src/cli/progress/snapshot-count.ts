import type { PageReport } from '../../pipeline/poll';

/** How far the snapshot of a feed is. */
export interface SnapshotCount {
  readonly sinceMs: number;
  /** When the last page was committed. */
  readonly atMs: number;
  /** Read by this process. */
  readonly rows: number;
  /** Records of the feed so far. */
  readonly records: number;
  /** No snapshot of the feed has been complete before: how many records there are is not known. */
  readonly isFirst: boolean;
  /** Unix seconds. */
  readonly mark: number;
  /** Else the page is of a regular poll. */
  readonly isSnapshot: boolean;
  /** Everything is read. */
  readonly isDone: boolean;
}

export interface SnapshotCounter {
  /** The feed's pages are read from now on. Not called: since the counter was made. */
  begin(feed: string): void;
  page(report: PageReport): SnapshotCount;
}

/** Counts the rows of each feed's snapshot, for whoever shows it. */
export function snapshotCounter(): SnapshotCounter {
  const madeMs = Date.now();
  const running = new Map<string, { readonly sinceMs: number; readonly rows: number }>();
  const begin = (feed: string): void => void running.set(feed, { sinceMs: Date.now(), rows: 0 });
  return {
    begin,
    page({ feed: { name }, rows: pageRows, progress, state }) {
      const { duringSnapshot: isSnapshot, complete: isDone, highWaterMark: mark } = progress;
      const { sinceMs, rows: before } = running.get(name) ?? { sinceMs: madeMs, rows: 0 };
      const rows = before + pageRows;
      if (isSnapshot && !isDone) running.set(name, { sinceMs, rows });
      else begin(name);
      const { record_count: records, snapshot_seq } = state.offset;
      const isFirst = snapshot_seq === 0;
      return { sinceMs, atMs: Date.now(), rows, records, isFirst, mark, isSnapshot, isDone };
    },
  };
}

export function perSecond({ rows, sinceMs }: SnapshotCount, nowMs: number): number {
  return Math.round((rows * 1_000) / Math.max(1, nowMs - sinceMs));
}
