import type { Logger } from '../../logging/logger';
import type { OwnedTopic } from './append';
import { gapsQuery } from './file/gaps';
import { type Connection, prepare, transact } from './file/sqlite';
import type { LogClock } from './log-clock';

/** Limits of the embedded log for each topic of changes and transitions. Null: all. */
export interface RetentionLimits {
  readonly ageMs: number | null;
  /** Size of a topic's values. */
  readonly bytes: number | null;
}

export type TopicPartitions = Pick<OwnedTopic, 'name' | 'partitions'>;

/**
 * Removes the oldest records of plain topics, always from the first one on, so that a gap tells a reader that records were removed
 * before it came to them. The last record of a partition stays: the next offset is taken from it.
 */
export interface Retention {
  /** Within the caller's transaction: records that are older than a moment (ms), some at a time. */
  removeOlder(topic: TopicPartitions, before: number): void;
  /** Removes records beyond the limits, for `STEP_MS`, in its own transaction. */
  step(topics: readonly TopicPartitions[], limits: RetentionLimits): RetentionStep;
}

export interface RetentionStep {
  /** Records. */
  readonly removed: number;
  /** Whether there is more to remove. */
  readonly isMore: boolean;
}

/** A commit waits for a step that is under way, and for no second one. */
const STEP_MS = 1;
const PAUSE_MS = 20;
/** Records looked at, and removed, in one go. */
const OLDEST = 20;
/** Records of a partition whose sizes stand for all: to read every size would take seconds for each GB. */
const SAMPLES = 32;

type Oldest = [offset: number, timestamp: number, bytes: number, arrival: number];

/** @param clock measures the age of records */
export function retention(db: Connection, clock: LogClock): Retention {
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
  /** Topic → bytes that are still to be removed. An estimate takes longer than a step. */
  const excesses = new Map<string, number>();
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

  /** @returns how many were removed */
  function removeAged(topic: string, partition: number, before: number): number {
    const rows = oldestOf(topic, partition);
    const kept = rows.findIndex(([, timestamp]) => timestamp >= before);
    const count = kept === -1 ? rows.length : kept;
    if (count > 0) remove.run([topic, partition, rows[count - 1]![0] + 1]);
    return count;
  }

  /** Removes from the partition with the oldest first record. */
  function removeFirst({ name, partitions }: TopicPartitions, excess: number) {
    const all = Array.from({ length: partitions }, (_, partition) => ({
      partition,
      rows: oldestOf(name, partition),
    })).filter(({ rows }) => rows.length > 0);
    if (all.length === 0) return { count: 0, bytes: 0 };
    const { partition, rows } = all.reduce((a, b) => (b.rows[0]![3] < a.rows[0]![3] ? b : a));
    let bytes = 0;
    let count = 0;
    while (count < rows.length && bytes < excess) bytes += rows[count++]![2];
    remove.run([name, partition, rows[count - 1]![0] + 1]);
    return { count, bytes };
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
      const [row] = bytesAt.all(topic, partition, offset) as [number][];
      bytes += row?.[0] ?? 0;
    }
    return samples === 0 ? 0 : (bytes / samples) * count;
  }

  function excessOf({ name, partitions }: TopicPartitions, bytes: number | null): number {
    if (bytes === null) return 0;
    const known = excesses.get(name);
    if (known !== undefined) return known;
    let kept = 0;
    for (let partition = 0; partition < partitions; partition++) kept += bytesOf(name, partition);
    return kept - bytes;
  }

  /** Looks at the time only after it has removed something: each step gets on, however busy the machine is. @param until by `performance.now()` */
  function trim(
    topic: TopicPartitions,
    { before, bytes }: { readonly before: number | null; readonly bytes: number | null },
    until: number,
  ): RetentionStep {
    const { name, partitions } = topic;
    let removed = 0;
    const isLate = (): boolean => performance.now() > until;
    for (let partition = 0; partition < partitions; partition++) {
      for (let count = OLDEST; before !== null && count === OLDEST; ) {
        count = removeAged(name, partition, before);
        removed += count;
        if (count === OLDEST && isLate()) return { removed, isMore: true };
      }
    }
    for (let excess = excessOf(topic, bytes); excess > 0; ) {
      const found = removeFirst(topic, excess);
      if (found.count === 0) break;
      removed += found.count;
      excess -= found.bytes;
      excesses.set(name, excess);
      if (excess > 0 && isLate()) return { removed, isMore: true };
    }
    excesses.delete(name);
    return { removed, isMore: false };
  }

  return {
    removeOlder({ name, partitions }, before) {
      for (let partition = 0; partition < partitions; partition++) removeAged(name, partition, before);
    },
    step(topics, { ageMs, bytes }) {
      // Without an fsync: after a power failure the records are removed again, and the next commit syncs the WAL anyway.
      db.exec('PRAGMA synchronous = NORMAL');
      try {
        return transact(db, 'IMMEDIATE', () => {
          const limits = { before: ageMs === null ? null : clock.now() - ageMs, bytes };
          const until = performance.now() + STEP_MS;
          const begun = topics.filter(({ name }) => excesses.has(name));
          const steps = (begun.length > 0 ? begun : topics).map((topic) => trim(topic, limits, until));
          return {
            removed: steps.reduce((sum, { removed }) => sum + removed, 0),
            isMore: steps.some(({ isMore }) => isMore),
          };
        });
      } finally {
        db.exec('PRAGMA synchronous = FULL');
      }
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
