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

const smallest = 64 * 1024;
const largest = 4 * 1024 * 1024;

/** Where the JSON of one record lies. The bytes are never changed once written. */
export interface RecordBytes {
  readonly slab: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * JSON texts as bytes in a few large buffers outside the heap: a page is copied from them without rendering or encoding
 * anything, and a million records do not burden the garbage collector.
 */
export function createSlabs(): (json: string) => RecordBytes {
  let slab = Buffer.allocUnsafeSlow(smallest);
  let used = 0;
  return (json) => {
    const length = Buffer.byteLength(json);
    if (used + length > slab.length) {
      slab = Buffer.allocUnsafeSlow(Math.max(length, Math.min(slab.length * 2, largest)));
      used = 0;
    }
    const start = used;
    used += slab.write(json, start, 'utf8');
    return { slab, start, end: used };
  };
}

/** `prefix` + the records with commas between + `suffix`. */
export function joinRecords(prefix: string, records: readonly RecordBytes[], suffix: string): Buffer {
  let length = prefix.length + suffix.length + Math.max(0, records.length - 1);
  for (const record of records) length += record.end - record.start;
  const body = Buffer.allocUnsafe(length);
  let at = body.write(prefix, 0, 'latin1');
  for (let i = 0; i < records.length; i++) {
    if (i > 0) body[at++] = 0x2c;
    const record = records[i]!;
    at += record.slab.copy(body, at, record.start, record.end);
  }
  body.write(suffix, at, 'latin1');
  return body;
}
