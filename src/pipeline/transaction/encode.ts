import type { FeedCodec } from '../../avro/codec/feed-codec';
import type { Feed } from '../../feeds/feed';
import type { FeedTopics, ProducerRecord } from '../../log/commit-log';
import { recordBytes } from '../../log/record-bytes';
import type { ChangeEvents, DeadLetter, TransitionEvent } from '../../types';
import { eventHeaders, transitionHeaders } from './headers';

export interface EncodeContext {
  readonly feed: Feed;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
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
