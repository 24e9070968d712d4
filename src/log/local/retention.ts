import type { Logger } from '../../logging/logger';
import type { ProducerRecord } from '../commit-log';
import { isCompacted } from '../topics';
import type { OwnedTopic } from './append';
import { gapsQuery } from './file/gaps';
import { type Connection, cell, prepare, transact } from './file/sqlite';
import type { LogClock } from './log-clock';

/** Limits of the embedded log for each topic of changes and transitions. Null: all. */
export interface RetentionLimits {
  readonly ageMs: number | null;
  /** Size of a topic's values. */
  readonly bytes: number | null;
}

export type TopicPartitions = Pick<OwnedTopic, 'name' | 'partitions'>;

/** A commit waits for a step that is under way, and for no second one. */
const STEP_MS = 1;
const PAUSE_MS = 20;
/** Commits remove their share in parts of this length, because nothing else of the process runs meanwhile. */
const SLICE_MS = 10;
/** Records looked at, and removed, in one go. */
const OLDEST = 20;
/** Records of a partition whose sizes stand for all: to read every size would take seconds for each GB. */
const SAMPLES = 32;

type Oldest = [offset: number, timestamp: number, bytes: number, arrival: number];

/** The place of the first row in the order of arrival. */
const arrival = (rows: readonly Oldest[]): number => rows[0]?.[3] ?? Number.POSITIVE_INFINITY;

interface Removed {
  /** Records. */
  readonly count: number;
  /** Size of their values. */
  readonly bytes: number;
}

const NOTHING: Removed = { count: 0, bytes: 0 };

interface Stock {
  readonly topic: TopicPartitions;
  /** Size of all its values, estimated once and then counted. */
  bytes: number;
  /** Whether it may have records that are too old. */
  isAged: boolean;
  /** Bytes that commits are still to remove. */
  owed: number;
}

/**
 * Removes the oldest records of plain topics, always from the first one on, so that a gap tells a reader that records were removed
 * before it came to them. The last record of a partition stays: the next offset is taken from it.
 * @param clock measures the age of records
 */
export function retention(
  db: Connection,
  clock: LogClock,
  limits: RetentionLimits = { ageMs: null, bytes: null },
) {
  const { ageMs } = limits;
  const most = limits.bytes ?? Number.POSITIVE_INFINITY;
  /** Bytes too few for a transaction. The size is not known as exactly. */
  const little = (limits.bytes ?? 0) / 1_000;
  const range = prepare(db, 'SELECT min(offset), max(offset) FROM records WHERE topic = ? AND partition = ?');
  const bytesAt = prepare(
    db,
    'SELECT ifnull(length(value), 0) FROM records WHERE topic = ? AND partition = ? AND offset = ?',
  );
  const oldest = prepare(
    db,
    `SELECT offset, CAST(timestamp AS INTEGER), ifnull(length(value), 0), rowid FROM records
     WHERE topic = ? AND partition = ? AND offset < ? ORDER BY offset LIMIT ${OLDEST}`,
  );
  const stocks = new Map<string, Stock>();
  const gaps = gapsQuery(db);
  const remove = prepare(db, 'DELETE FROM records WHERE topic = ? AND partition = ? AND offset < ?');

  function rangeOf(topic: string, partition: number): { readonly first: number; readonly last: number } {
    const [[first, last]] = range.all(topic, partition) as [[number | null, number | null]];
    return { first: first ?? 0, last: last ?? -1 };
  }

  /** All but the partition's last one. */
  function oldestOf(topic: string, partition: number): Oldest[] {
    return oldest.all(topic, partition, rangeOf(topic, partition).last) as Oldest[];
  }

  function removeOldest(topic: string, partition: number, rows: readonly Oldest[], count: number): Removed {
    if (count === 0) return NOTHING;
    remove.run([topic, partition, rows[count - 1]![0] + 1]);
    return { count, bytes: rows.slice(0, count).reduce((sum, [, , bytes]) => sum + bytes, 0) };
  }

  function removeAged(topic: string, partition: number, before: number): Removed {
    const rows = oldestOf(topic, partition);
    const kept = rows.findIndex(([, timestamp]) => timestamp >= before);
    return removeOldest(topic, partition, rows, kept === -1 ? rows.length : kept);
  }

  /** Removes one go at a time, from the partition with the oldest first record. */
  function* removeFirst(stock: Stock): Generator<Removed> {
    const { name, partitions } = stock.topic;
    const all = Array.from({ length: partitions }, (_, partition) => oldestOf(name, partition));
    while (stock.bytes > most) {
      const [partition, rows] = [...all.entries()].reduce((a, b) => (arrival(b[1]) < arrival(a[1]) ? b : a));
      let count = 0;
      for (let excess = stock.bytes - most; count < rows.length && excess > 0; ) excess -= rows[count++]![2];
      // The last records of the partitions are larger than the limit.
      if (count === 0) stock.bytes = most;
      else yield removeOldest(name, partition, rows, count);
      all[partition] = oldestOf(name, partition);
    }
  }

  /** Size of all values, estimated. */
  function bytesOf(topic: string, partition: number): number {
    const { first, last } = rangeOf(topic, partition);
    const between = gaps(topic, partition).filter(({ after, next }) => first < after && next <= last);
    const count = between.reduce((sum, { after, next }) => sum - (next - after), last - first + 1);
    const samples = Math.min(count, SAMPLES);
    let bytes = 0;
    for (let i = 0; i < samples; i++) {
      let offset = first + Math.floor((i * count) / samples);
      for (const { after, next } of between) if (offset >= after) offset += next - after;
      bytes += cell<number>(bytesAt, topic, partition, offset) ?? 0;
    }
    return samples === 0 ? 0 : (bytes / samples) * count;
  }

  function stockOf(topic: TopicPartitions): Stock {
    const known = stocks.get(topic.name);
    if (known !== undefined) return known;
    let bytes = 0;
    if (most !== Number.POSITIVE_INFINITY) {
      for (let partition = 0; partition < topic.partitions; partition++)
        bytes += bytesOf(topic.name, partition);
    }
    const stock = { topic, bytes, isAged: ageMs !== null, owed: 0 };
    stocks.set(topic.name, stock);
    return stock;
  }

  const isBeyond = ({ bytes, isAged }: Stock): boolean => isAged || bytes > most;

  /** Removes one go at a time: too old ones, partition by partition, then those beyond the size. */
  function* goes(stock: Stock): Generator<Removed> {
    const { topic } = stock;
    const before = ageMs === null ? null : clock() - ageMs;
    for (let partition = 0; before !== null && stock.isAged && partition < topic.partitions; partition++) {
      for (let count = OLDEST; count === OLDEST; ) {
        const removed = removeAged(topic.name, partition, before);
        yield removed;
        count = removed.count;
      }
    }
    stock.isAged = false;
    yield* removeFirst(stock);
  }

  /**
   * Asks only after it has removed something: each step gets on, however busy the machine is.
   * @returns how many records were removed, and whether there are more to remove
   */
  function trim(stock: Stock, isEnough: () => boolean) {
    let removed = 0;
    for (const { count, bytes } of goes(stock)) {
      stock.bytes -= bytes;
      stock.owed -= bytes;
      removed += count;
      if (count > 0 && isBeyond(stock) && isEnough()) return { removed, isMore: true };
    }
    stock.owed = 0;
    return { removed, isMore: false };
  }

  /** Without an fsync: after a power failure the records are removed again, and the next commit syncs the WAL anyway. */
  function unsynced<T>(work: () => T): T {
    db.exec('PRAGMA synchronous = NORMAL');
    try {
      return transact(db, 'IMMEDIATE', work);
    } finally {
      db.exec('PRAGMA synchronous = FULL');
    }
  }

  return {
    /** Within the caller's transaction: records that are older than a moment (ms), some at a time. */
    removeOlder({ name, partitions }: TopicPartitions, before: number): void {
      for (let partition = 0; partition < partitions; partition++) removeAged(name, partition, before);
    },
    /** Removes records beyond the limits, for `STEP_MS`, in its own transaction. */
    step: (topics: readonly TopicPartitions[]) =>
      unsynced(() => {
        const until = performance.now() + STEP_MS;
        const begun = [...stocks.values()].filter(isBeyond);
        // Estimated anew: a count that began with an estimate is never exact.
        if (begun.length === 0) stocks.clear();
        const found = begun.length > 0 ? begun : topics.map(stockOf);
        const steps = found.map((stock) => trim(stock, () => performance.now() > until));
        return {
          removed: steps.reduce((sum, { removed }) => sum + removed, 0),
          isMore: steps.some(({ isMore }) => isMore),
        };
      }),
    /** Counts what was committed. Within the limits nothing is asked of the file. */
    committed(topics: ReadonlyMap<string, OwnedTopic>, records: Iterable<ProducerRecord>): void {
      if (ageMs === null && limits.bytes === null) return;
      const added = new Map<OwnedTopic, number>();
      for (const { topic: name, value } of records) {
        const topic = topics.get(name);
        if (topic === undefined || isCompacted(topic)) continue;
        added.set(topic, (added.get(topic) ?? 0) + (value?.length ?? 0));
      }
      for (const [topic, bytes] of added) {
        const isKnown = stocks.has(topic.name);
        const stock = stockOf(topic);
        if (isKnown) stock.bytes += bytes;
        if (isBeyond(stock)) stock.owed += 2 * bytes;
      }
    },
    /**
     * Removes what commits have added beyond the limits, for `SLICE_MS`, in its own transaction: twice their size while more is kept
     * than may be. So it gains on a writer of any speed.
     * @returns how many records were removed; null if no more is owed
     */
    keepUp(): number | null {
      const owing = [...stocks.values()].filter(({ owed }) => owed > little);
      if (owing.length === 0) return null;
      return unsynced(() => {
        const until = performance.now() + SLICE_MS;
        const isLate = () => performance.now() > until;
        return owing.reduce((sum, stock) => sum + trim(stock, () => stock.owed <= 0 || isLate()).removed, 0);
      });
    },
  };
}

/** Calls `step` every so often, and soon again while there is more to remove, until it is stopped. It keeps no process alive. */
export function repeatedly(
  step: () => Promise<boolean>,
  everyMs: number,
  logger: Logger | undefined,
): () => void {
  let isOver = false;
  let timer = setTimeout(look, 0).unref();
  async function look(): Promise<void> {
    let isMore = false;
    try {
      isMore = await step();
    } catch (error) {
      // Nothing is lost by it; a commit that meets the same fault says so.
      logger?.debug('old records could not be removed', { error });
    }
    if (!isOver) timer = setTimeout(look, isMore ? PAUSE_MS : everyMs).unref();
  }
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
