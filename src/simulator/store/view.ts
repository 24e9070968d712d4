import type { RecordBytes } from './record-bytes';

/** One written version of a record. Immutable. */
export interface Version {
  /** The id, also where the record is shown without one; `#n` for a record that never had one. */
  readonly key: string;
  /** Unix seconds by which the server orders and filters, independent of the record's own fields. */
  readonly updated: number;
  /** Number of the write within the feed: breaks ties of `updated`. */
  readonly order: number;
  /** Number of the write that first brought the record. */
  readonly inserted: number;
  /** When it was written, ms of the simulator's clock. */
  readonly atMs: number;
  readonly visibleFromMs: number;
  /** Null: the record was removed. */
  readonly bytes: RecordBytes | null;
  readonly date: string;
  readonly symbol: string;
}

/** First position whose `updated` is at or above the given second. */
export function lowerBound(rows: readonly Version[], updated: number, order = -1): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle]!;
    if (row.updated < updated || (row.updated === updated && row.order < order)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function compareByUpdated(a: Version, b: Version): number {
  return a.updated - b.updated || a.order - b.order;
}

function compareByDate(a: Version, b: Version): number {
  if (a.date !== b.date) return a.date < b.date ? 1 : -1;
  return compareByUpdated(b, a);
}

export type View = ReturnType<typeof createView>;

/** The server's records at one moment, sorted by `updated`, then by order of writing. Sorts on demand, once. */
export function createView(byUpdated: readonly Version[]) {
  let byInsertion: readonly Version[] | null = null;
  let byDate: readonly Version[] | null = null;
  let range: { earliest: string; latest: string } | null = null;
  const dates = (): { earliest: string; latest: string } => {
    if (range === null) {
      range = { earliest: byUpdated[0]?.date ?? '', latest: '' };
      for (const { date } of byUpdated) {
        if (date < range.earliest) range.earliest = date;
        if (date > range.latest) range.latest = date;
      }
    }
    return range;
  };
  return {
    byUpdated,
    byInsertion: () => {
      byInsertion ??= [...byUpdated].sort((a, b) => a.inserted - b.inserted);
      return byInsertion;
    },
    /** Newest date first, within a date the latest updated first. */
    byDate: () => {
      byDate ??= [...byUpdated].sort(compareByDate);
      return byDate;
    },
    earliestDate: () => dates().earliest,
    latestDate: () => dates().latest,
  };
}
