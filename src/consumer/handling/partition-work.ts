import { HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { AssignedPartition } from '../../log/consumer-log';
import type { Logger } from '../../logging/logger';

/**
 * Works through the records of a partition in order.
 * @param advance tells that everything before an offset is done with
 * @param note says why it goes no further
 * @returns early when the partition is revoked
 * @throws HighwaterError CONSUMER_HANDLER_FAILED
 */
export type PartitionJob = (
  records: readonly LogRecord[],
  place: AssignedPartition,
  advance: (next: number) => Promise<void>,
  note: (why: string) => Promise<void>,
) => Promise<void>;

export interface PartitionWorkDeps {
  readonly logger: Logger;
  startOffset(place: AssignedPartition): Promise<Start>;
  readonly onLost: 'stop' | 'continue';
  /** A crash repeats as much at most. */
  readonly commitEveryMs: number;
  /** `placeName` → offset before which this consumer has done everything, committed or not. */
  readonly done: Map<string, number>;
}

/** Where to begin. */
export interface Start {
  /** Offset of the record to come. */
  readonly next: number;
  /** It stands for the beginning, wherever that is once it is read. */
  readonly isUnread?: boolean;
}

/** A partition of a topic that was recreated is another one. */
export function placeName({ topic, topicId, partition }: AssignedPartition): string {
  return `${topic} ${topicId} ${partition}`;
}

/**
 * A position is committed again after a tick, then after twice as long each time, up to an hour. When a topic is deleted, brokers
 * remove its offsets later, when a new topic of that name may have been read and committed for. Brokers also forget a position a
 * while after it was committed; old ones even while the group runs.
 */
const TICK_MS = 10_000;
/** For a topic that was created again: a crash right after the brokers removed the offsets would lose the position. */
const RECREATED_TICK_MS = 1_000;
const MOST_TICKS = 360;

/** Works on one partition until it is revoked, and tells the group how far it is. */
export async function workOn(
  place: AssignedPartition,
  job: PartitionJob,
  { logger, startOffset, onLost, commitEveryMs, done }: PartitionWorkDeps,
): Promise<void> {
  const { topic, partition } = place;
  const name = placeName(place);
  const start = await startOffset(place);
  let { next } = start;
  let isUnread = start.isUnread ?? false;
  let told = place.committed;
  let committed = place.committed;
  /** Since the last commit, and when it is committed again. */
  let [ticks, againAt] = [0, 1];
  let isTelling = false;
  const tickMs = place.isRecreated ? RECREATED_TICK_MS : TICK_MS;
  let why = '';
  let committedAt = performance.now();
  // The position at which a group begins is committed before any later event comes, and so is a position that was not committed
  // yet.
  await commit();
  // Errors are only logged here. One that does not pass is thrown by the commit after the next event.
  const again = setInterval(() => {
    // Markers that came since have moved the end.
    const isTold = next === committed && place.settled(next) === told;
    ticks += 1;
    if ((!isTold || ticks >= againAt) && !isTelling && !place.revoked.aborted) tell().catch(notTold);
  }, tickMs).unref();
  try {
    for await (const records of place.records(next, goesOn)) {
      isUnread = false;
      await job(records, place, advance, note);
      await commit();
      if (place.revoked.aborted) return;
    }
  } catch (error) {
    // The events before it are handled all the same.
    await commit().catch(() => undefined);
    throw error;
  } finally {
    clearInterval(again);
  }

  async function advance(reached: number): Promise<void> {
    next = reached;
    why = '';
    done.set(name, next);
    if (performance.now() - committedAt >= commitEveryMs) await commit();
  }

  async function note(reason: string): Promise<void> {
    why = reason;
    await tell().catch(notTold);
  }

  function goesOn(first: number): boolean {
    if (!isUnread && onLost === 'stop') return false;
    if (!isUnread) {
      const what = `Events of ${topic}, partition ${partition}, were removed before they were read: offsets ${next} to ${first - 1}. Reading goes on with the first event that is kept.`;
      logger.warn(what, { topic, partition });
    }
    next = first;
    return true;
  }

  async function commit(): Promise<void> {
    committedAt = performance.now();
    if (next === committed) return;
    try {
      await tell();
    } catch (error) {
      // Nothing is lost: at worst work is done again. A group that has gone on revokes the partition itself.
      if (!(error instanceof HighwaterError) || !error.kind.retriable) throw error;
      notTold(error);
    }
  }

  async function tell(): Promise<void> {
    const reached = next;
    const isAgain = reached === committed;
    const settled = place.settled(reached);
    isTelling = true;
    committedAt = performance.now();
    try {
      await place.commit(reached, why);
    } finally {
      isTelling = false;
    }
    committed = reached;
    told = settled;
    [ticks, againAt] = [0, isAgain ? Math.min(2 * againAt, MOST_TICKS) : 1];
  }

  function notTold(error: unknown): void {
    logger.debug('the group could not be told', { topic, partition, next, error });
  }
}
