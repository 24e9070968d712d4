import { HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { AssignedPartition } from '../../log/consumer-log';
import type { Logger } from '../../logging/logger';

/** Handles the records of a partition. */
export interface PartitionJob {
  /**
   * Works through records in order.
   * @param advance tells that everything before an offset is done with
   * @returns early when the partition is revoked
   * @throws HighwaterError CONSUMER_HANDLER_FAILED
   */
  work(
    records: readonly LogRecord[],
    place: AssignedPartition,
    advance: (next: number) => Promise<void>,
  ): Promise<void>;
}

export interface PartitionWorkDeps {
  readonly logger: Logger;
  /** Where to begin: offset of the record to come. */
  startOffset(place: AssignedPartition): Promise<number>;
  /** `placeName` → offset before which this consumer has done everything, committed or not. */
  readonly done: Map<string, number>;
}

/** A partition of a topic that was recreated is another one. */
export function placeName({ topic, topicId, partition }: AssignedPartition): string {
  return `${topic} ${topicId} ${partition}`;
}

/** A crash repeats as much at most. */
const COMMIT_INTERVAL_MS = 1_000;

/**
 * How often a position is committed again, until it was committed twice. When a topic is deleted, brokers remove its offsets a little
 * later. By then a new topic of that name may have been read and committed for.
 */
const AGAIN_MS = 10_000;

/** Works on one partition until it is revoked, and tells the group how far it is. */
export async function workOn(
  place: AssignedPartition,
  job: PartitionJob,
  { logger, startOffset, done }: PartitionWorkDeps,
): Promise<void> {
  const { topic, partition } = place;
  const name = placeName(place);
  let next = await startOffset(place);
  let committed = place.committed;
  let committedTwice = place.committed;
  let isTelling = false;
  let committedAt = performance.now();
  // The position at which a group begins is committed before any later event comes, and so is a position that was not committed
  // yet.
  await commit();
  // Errors are only logged here. One that does not pass is thrown by the commit after the next event.
  const again = setInterval(() => {
    if (next !== committedTwice && !isTelling && !place.revoked.aborted) tell().catch(notTold);
  }, AGAIN_MS).unref();
  try {
    for await (const records of place.records(next)) {
      await job.work(records, place, async (reached) => {
        next = reached;
        done.set(name, next);
        if (performance.now() - committedAt >= COMMIT_INTERVAL_MS) await commit();
      });
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
    isTelling = true;
    try {
      await place.commit(reached);
    } finally {
      isTelling = false;
    }
    committed = reached;
    if (isAgain) committedTwice = reached;
  }

  function notTold(error: unknown): void {
    logger.debug('the group could not be told', { topic, partition, next, error });
  }
}
