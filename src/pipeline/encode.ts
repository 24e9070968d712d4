import type { FeedCodec } from '../avro/feed-codec';
import type { FeedDefinition } from '../feeds/definition';
import {
  type BatchPosition,
  type FeedTopics,
  type Gathered,
  type ProducerRecord,
  positionHeaders,
  type TransactionBatch,
} from '../log/commit-log';
import { recordBytes } from '../log/record-bytes';
import type { PendingState } from '../state/pending-state';
import type { ChangeEvents, DeadLetter } from '../types';
import { eventHeaders, transitionHeaders } from './headers';

export interface EncodeContext {
  readonly feed: FeedDefinition;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  /** Name of this instance, for people, and the id of its ownership. */
  readonly owner: string;
  readonly ownerEpoch: string;
  /** Time of observation, ms. */
  readonly observedAtMs: number;
}

/** The records of one page: events and their transitions, the new images, dead letters. */
export function encode(
  events: readonly ChangeEvents[],
  letters: readonly DeadLetter[],
  context: EncodeContext,
): ProducerRecord[] {
  const records: ProducerRecord[] = [];
  for (const event of events) pushEvent(records, event, context);
  for (const letter of letters) pushDeadLetter(records, letter, context);
  return records;
}

/** Size of the largest record that an event becomes. */
export function largestRecordBytes(event: ChangeEvents, context: EncodeContext): number {
  return Math.max(...encode([event], [], context).map(recordBytes));
}

/**
 * The transaction of one page or several: their records, and last the source offset that says so. Moves the pending offset
 * to what the transaction makes it.
 */
export function encodeTransaction(
  pages: readonly (readonly ProducerRecord[])[],
  pending: PendingState,
  context: EncodeContext,
): TransactionBatch {
  const { offset, position } = encodeOffset(pending, context);
  return { feed: context.feed.name, records: [...pages.flat(), offset], position };
}

/** As `encodeTransaction`, of records that were gathered. */
export function endTransaction(
  gathered: Gathered,
  pending: PendingState,
  context: EncodeContext,
): TransactionBatch {
  const { offset, position } = encodeOffset(pending, context);
  gathered.add([offset]);
  return { feed: context.feed.name, records: gathered, position };
}

function encodeOffset(
  pending: PendingState,
  context: EncodeContext,
): { readonly offset: ProducerRecord; readonly position: BatchPosition } {
  const { feed, topics, codec, owner, ownerEpoch, observedAtMs } = context;
  const { recordCount, partitionCounts } = pending.counts();
  pending.moveOffset({
    commit: pending.offset.commit + 1,
    owner,
    owner_epoch: ownerEpoch,
    record_count: recordCount,
    partition_counts: partitionCounts,
    ts_ms: observedAtMs,
  });
  const { offset } = pending;
  const { incarnation, commit } = offset;
  const position = { incarnation, ownerEpoch, commit };
  return {
    position,
    offset: {
      topic: topics.sourceOffset.name,
      key: feed.name,
      value: codec.sourceOffset.encode(offset),
      // The number of its last change tells of any record whether it is of this transaction or an earlier one.
      headers: { ...positionHeaders(position), seq: String(offset.seq) },
      timestamp: observedAtMs,
    },
  };
}

function pushEvent(records: ProducerRecord[], event: ChangeEvents, context: EncodeContext): void {
  const { feed, topics, codec } = context;
  const { change, tail } = event;
  const timestamp = tail.ts_ms;
  records.push({
    topic: topics.changes.name,
    key: change.id,
    value: codec.encodeEnvelope(change, tail),
    headers: eventHeaders(feed, event),
    timestamp,
  });
  records.push({
    topic: topics.current.name,
    key: change.id,
    value: change.after,
    headers: { event_id: tail.event_id, seq: String(tail.source.seq), incarnation: tail.source.incarnation },
    timestamp,
  });
  for (const transition of event.transitions) {
    const { type } = feed.transitions[transition.index]!;
    records.push({
      topic: topics.transitions[transition.index]!.name,
      key: transition.key,
      value: codec.transitions.get(type)!.encode(transition.value),
      headers: transitionHeaders(feed, event, transition),
      timestamp,
    });
  }
}

function pushDeadLetter(records: ProducerRecord[], letter: DeadLetter, context: EncodeContext): void {
  const { reason, raw, sha256, bytes } = letter;
  const value = { feed: context.feed.name, reason, raw, sha256, bytes, ts_ms: context.observedAtMs };
  records.push({
    topic: context.topics.deadLetters.name,
    key: sha256,
    value: context.codec.deadLetter.encode(value),
    headers: {},
    timestamp: context.observedAtMs,
  });
}
