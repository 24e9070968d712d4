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
import { type SpanOptions, traced } from '../../logging/tracing';
import type { FeedState, PendingState } from '../../state/feed-state';
import type { SourceOffset } from '../../state/source-offset';
import type { Drift } from '../records/drift';

export interface TransactionDeps {
  readonly feed: Feed;
  readonly session: FeedSession;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  readonly drift: Pick<Drift, 'first'>;
  readonly instance: string;
}

/**
 * Commits records together with the source offset that counts them, and only then moves the state. If the commit fails, the pending
 * state is dropped with the error and the feed is as it was. Nothing else in the pipeline commits.
 * @param pending the state after these records
 * @param observedAtMs goes into the source offset
 * @throws HighwaterError SCHEMA_LOST, and as `FeedSession.commit`
 */
export async function transact(
  deps: TransactionDeps,
  pending: PendingState,
  records: readonly Iterable<ProducerRecord>[],
  observedAtMs = Date.now(),
): Promise<void> {
  const gathered = deps.session.gather();
  for (const each of records) gathered.add(each);
  await transactGathered(deps, pending, gathered, observedAtMs);
}

/** Like `transact`, for records that the session has gathered. */
export async function transactGathered(
  deps: TransactionDeps,
  pending: PendingState,
  records: Gathered,
  observedAtMs: number,
): Promise<void> {
  await deps.codec.confirmIds();
  await commitWithOffset(deps, pending, records, observedAtMs);
}

async function commitWithOffset(
  deps: TransactionDeps,
  pending: PendingState,
  records: Gathered,
  observedAtMs: number,
): Promise<void> {
  const { feed, session, topics, codec } = deps;
  const position = moveOffset(deps, pending, observedAtMs);
  const { offset } = pending;
  const offsetRecord = {
    topic: topics.sourceOffset.name,
    key: feed.name,
    value: codec.sourceOffset.encode(offset),
    // The number of its last change tells whether another record belongs to this transaction or an earlier one.
    headers: { ...positionHeaders(position), seq: String(offset.seq) },
    timestamp: observedAtMs,
  };
  records.add([offsetRecord]);
  const options = (): SpanOptions => ({
    kind: 'PRODUCER',
    attributes: {
      'highwater.feed': feed.name,
      'highwater.commit': position.commit,
      'highwater.seq': offset.seq,
      'highwater.value_bytes': records.valueBytes,
    },
  });
  await traced(`commit ${feed.name}`, options, () => session.commit({ feed: feed.name, records, position }));
  await pending.settle();
}

/**
 * Commits another position and nothing else. Ids are not confirmed: the position before has the same one, and a feed that is parked for
 * lost ids must be able to say so.
 * @throws HighwaterError as `FeedSession.commit`
 */
export async function movePosition(
  deps: TransactionDeps & { readonly state: FeedState },
  fields: Partial<SourceOffset>,
): Promise<void> {
  const pending = deps.state.begin();
  pending.moveOffset(fields);
  await commitWithOffset(deps, pending, deps.session.gather(), Date.now());
}

/** Moves the pending offset to the state that the transaction commits. */
function moveOffset(
  { feed, session, instance, drift }: TransactionDeps,
  pending: PendingState,
  observedAtMs: number,
): BatchPosition {
  const { ownerEpoch } = session;
  const partitionCounts = pending.partitionCounts();
  const { incarnation, commit: before } = pending.offset;
  const commit = before + 1;
  pending.moveOffset({
    commit,
    owner: instance,
    owner_epoch: ownerEpoch,
    record_count: partitionCounts.reduce((sum, count) => sum + count, 0),
    partition_counts: partitionCounts,
    poll_interval_ms: feed.pollIntervalMs,
    drift: drift.first(),
    ts_ms: observedAtMs,
  });
  return { incarnation, ownerEpoch, commit };
}
