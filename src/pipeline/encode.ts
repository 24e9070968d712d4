import type { FeedCodec } from '../avro/feed-codec';
import type { FeedDefinition } from '../feeds/definition';
import {
  type BatchPosition,
  type FeedSession,
  type FeedTopics,
  type Gathered,
  type ProducerRecord,
  positionHeaders,
  type TransactionBatch,
} from '../log/commit-log';
import { recordBytes } from '../log/record-bytes';
import type { PendingState } from '../state/pending-state';
import type { ChangeEvents, DeadLetter, TransitionEvent } from '../types';
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

/**
 * The records of one page: events and their transitions, the new images, dead letters. One at a time: the value of the next is
 * written over the last one's, and of thousands none waits for the others.
 */
export function* encode(
  events: readonly ChangeEvents[],
  letters: readonly DeadLetter[],
  context: EncodeContext,
): Generator<ProducerRecord> {
  for (const event of events) {
    yield ofChange(event, context);
    yield ofImage(event, context);
    for (const transition of event.transitions) yield ofTransition(transition, event, context);
  }
  for (const letter of letters) yield ofDeadLetter(letter, context);
}

/** Size of the largest record that an event becomes. */
export function largestRecordBytes(event: ChangeEvents, context: EncodeContext): number {
  let most = 0;
  for (const record of encode([event], [], context)) most = Math.max(most, recordBytes(record));
  return most;
}

/**
 * The transaction of one page or several: their records, and last the source offset that says so. Moves the pending offset
 * to what the transaction makes it.
 */
export function encodeTransaction(
  pages: readonly Iterable<ProducerRecord>[],
  pending: PendingState,
  context: EncodeContext,
  session: Pick<FeedSession, 'gather'>,
): TransactionBatch {
  const gathered = session.gather();
  for (const records of pages) gathered.add(records);
  return endTransaction(gathered, pending, context);
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

function ofChange(event: ChangeEvents, { feed, topics, codec }: EncodeContext): ProducerRecord {
  const { change, tail } = event;
  return {
    topic: topics.changes.name,
    key: change.id,
    value: codec.encodeEnvelope(change, tail),
    headers: eventHeaders(feed, event),
    timestamp: tail.ts_ms,
  };
}

function ofImage({ change, tail }: ChangeEvents, { topics }: EncodeContext): ProducerRecord {
  const { seq, incarnation } = tail.source;
  return {
    topic: topics.current.name,
    key: change.id,
    value: change.after,
    headers: { event_id: tail.event_id, seq: String(seq), incarnation },
    timestamp: tail.ts_ms,
  };
}

function ofTransition(
  transition: TransitionEvent,
  event: ChangeEvents,
  { feed, topics, codec }: EncodeContext,
): ProducerRecord {
  const { type } = feed.transitions[transition.index]!;
  return {
    topic: topics.transitions[transition.index]!.name,
    key: transition.key,
    value: codec.transitions.get(type)!.encodeShared(transition.value),
    headers: transitionHeaders(feed, event, transition),
    timestamp: event.tail.ts_ms,
  };
}

function ofDeadLetter(letter: DeadLetter, context: EncodeContext): ProducerRecord {
  const { reason, raw, sha256, bytes } = letter;
  const value = { feed: context.feed.name, reason, raw, sha256, bytes, ts_ms: context.observedAtMs };
  return {
    topic: context.topics.deadLetters.name,
    key: sha256,
    value: context.codec.deadLetter.encodeShared(value),
    headers: {},
    timestamp: context.observedAtMs,
  };
}
