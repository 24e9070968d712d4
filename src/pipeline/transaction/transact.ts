import type { FeedCodec } from '../../avro/codec/feed-codec';
import type { Feed } from '../../feeds/feed';
import {
  type BatchPosition,
  type FeedSession,
  type FeedTopics,
  type Gathered,
  type ProducerRecord,
  positionHeaders,
} from '../../log/commit-log';
import type { FeedState } from '../../state/feed-state';
import type { PendingState } from '../../state/pending-state';
import type { SourceOffset } from '../../state/source-offset';

export interface TransactionDeps {
  readonly session: FeedSession;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  /** Name of this instance, for people. */
  readonly instance: string;
}

/**
 * Commits records together with the source offset that counts them, and only then moves the state. If the commit fails, the pending
 * state is dropped with the error and the feed is as it was. Nothing else in the pipeline commits.
 * @param pending the state after these records
 * @param observedAtMs goes into the source offset
 * @throws HighwaterError as `FeedSession.commit`
 */
export async function transact(
  feed: Feed,
  deps: TransactionDeps,
  pending: PendingState,
  records: readonly Iterable<ProducerRecord>[],
  observedAtMs = Date.now(),
): Promise<void> {
  const gathered = deps.session.gather();
  for (const each of records) gathered.add(each);
  await transactGathered(feed, deps, pending, gathered, observedAtMs);
}

/** Like `transact`, for records that the session has gathered. */
export async function transactGathered(
  feed: Feed,
  deps: TransactionDeps,
  pending: PendingState,
  records: Gathered,
  observedAtMs: number,
): Promise<void> {
  const { record, position } = sourceOffset(feed, deps, pending, observedAtMs);
  records.add([record]);
  await deps.session.commit({ feed: feed.name, records, position });
  pending.settle();
}

/** Commits another position and nothing else. @throws HighwaterError as `transact` */
export async function movePosition(
  feed: Feed,
  deps: TransactionDeps & { readonly state: FeedState },
  fields: Partial<SourceOffset>,
): Promise<void> {
  const pending = deps.state.begin();
  pending.moveOffset(fields);
  await transact(feed, deps, pending, []);
}

/** Moves the pending offset to what the transaction makes it, and encodes it. */
function sourceOffset(
  feed: Feed,
  { session, topics, codec, instance }: TransactionDeps,
  pending: PendingState,
  observedAtMs: number,
): { readonly record: ProducerRecord; readonly position: BatchPosition } {
  const { ownerEpoch } = session;
  const { recordCount, partitionCounts } = pending.counts();
  pending.moveOffset({
    commit: pending.offset.commit + 1,
    owner: instance,
    owner_epoch: ownerEpoch,
    record_count: recordCount,
    partition_counts: partitionCounts,
    poll_interval_ms: feed.pollIntervalMs,
    ts_ms: observedAtMs,
  });
  const { offset } = pending;
  const { incarnation, commit, seq } = offset;
  const position = { incarnation, ownerEpoch, commit };
  return {
    position,
    record: {
      topic: topics.sourceOffset.name,
      key: feed.name,
      value: codec.sourceOffset.encode(offset),
      // The number of its last change tells whether another record is of this transaction or an earlier one.
      headers: { ...positionHeaders(position), seq: String(seq) },
      timestamp: observedAtMs,
    },
  };
}
