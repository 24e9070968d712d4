import type { FeedCodec } from '../../avro/codec/feed-codec';
import { eventNamespace } from '../../avro/schemas';
import type { FeedDefinition } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import type { FeedTopics, ProducerRecord } from '../../log/commit-log';
import { recordBytes } from '../../log/record-bytes';
import { traceHeaders } from '../../logging/tracing';
import type { ChangeEvents, DeadLetter, Op, TransitionEvent } from '../../types';

/** Makes the records of a feed's events and dead letters. */
export class Encoder {
  private readonly headers: EventHeaders;

  constructor(
    private readonly feed: Feed,
    private readonly topics: FeedTopics,
    private readonly codec: FeedCodec,
  ) {
    this.headers = new EventHeaders(feed);
  }

  /**
   * The records of one page: each event with its new image and its transitions, then the dead letters. One at a time: the value of the
   * next record overwrites the last one's, so that thousands of values do not wait in memory.
   */
  *encode(
    events: readonly ChangeEvents[],
    letters: readonly DeadLetter[],
    observedAtMs: number,
  ): Generator<ProducerRecord> {
    this.headers.trace = traceHeaders();
    for (const event of events) {
      yield this.change(event);
      yield this.image(event);
      for (const transition of event.transitions) yield this.transition(transition, event);
    }
    for (const letter of letters) yield this.deadLetter(letter, observedAtMs);
  }

  /** Size of the largest record that an event becomes. */
  largestRecordBytes(event: ChangeEvents): number {
    let most = 0;
    for (const record of this.encode([event], [], event.tail.ts_ms))
      most = Math.max(most, recordBytes(record));
    return most;
  }

  private change(event: ChangeEvents): ProducerRecord {
    const { change, tail } = event;
    return {
      topic: this.topics.changes.name,
      key: change.id,
      value: this.codec.encodeEnvelope(change, tail),
      headers: this.headers.ofChange(event),
      timestamp: tail.ts_ms,
    };
  }

  private image({ change, tail }: ChangeEvents): ProducerRecord {
    const { seq, incarnation } = tail.source;
    return {
      topic: this.topics.current.name,
      key: change.id,
      value: change.after,
      headers: { event_id: tail.event_id, seq: String(seq), incarnation },
      timestamp: tail.ts_ms,
    };
  }

  private transition(transition: TransitionEvent, event: ChangeEvents): ProducerRecord {
    const { index, key, value } = transition;
    return {
      topic: this.topics.transitions[index]!.name,
      key,
      value: this.codec.transitions.get(this.feed.transitions[index]!.type)!.encodeShared(value),
      headers: this.headers.ofTransition(event, transition),
      timestamp: event.tail.ts_ms,
    };
  }

  private deadLetter(letter: DeadLetter, observedAtMs: number): ProducerRecord {
    const { reason, raw, sha256, bytes } = letter;
    const value = { feed: this.feed.name, reason, raw, sha256, bytes, ts_ms: observedAtMs };
    return {
      topic: this.topics.deadLetters.name,
      key: sha256,
      value: this.codec.deadLetter.encodeShared(value),
      headers: {},
      timestamp: observedAtMs,
    };
  }
}

type Headers = Record<string, string>;

/** Headers of a feed's events: CloudEvents in binary mode, and the facts that consumers filter by without decoding the value. */
export class EventHeaders {
  private readonly source: string;
  private readonly types: Readonly<Record<Op, string>>;
  /** The changes of a page have one time, and writing it takes as long as the other headers together. */
  private time = { ms: Number.NaN, text: '' };
  /** Names the span of the poll that makes the events; empty without an SDK. */
  trace: Headers = {};

  constructor(private readonly feed: FeedDefinition) {
    const typeOf = (what: string) => `${eventNamespace(feed)}.${what}`;
    this.types = { c: typeOf('created'), u: typeOf('updated'), d: typeOf('deleted'), r: typeOf('read') };
    this.source = `/highwater/${feed.name}`;
  }

  ofChange(event: ChangeEvents): Headers {
    const { event_id, op } = event.tail;
    return this.headers(event, event_id, this.types[op]);
  }

  ofTransition(event: ChangeEvents, transition: TransitionEvent): Headers {
    const { eventType, idSuffix } = this.feed.transitions[transition.index]!;
    return this.headers(event, event.tail.event_id + idSuffix, eventType);
  }

  private headers({ change, tail, symbol }: ChangeEvents, id: string, type: string): Headers {
    const all: Headers = {
      ce_specversion: '1.0',
      ce_id: id,
      ce_source: this.source,
      ce_type: type,
      ce_subject: change.id,
      ce_time: this.isoTime(tail.ts_ms),
      'content-type': 'application/avro',
      op: tail.op,
    };
    if (symbol !== null && symbol !== '') all.symbol = symbol;
    if (tail.changed_fields.length > 0) all['changed-fields'] = tail.changed_fields.join(',');
    for (const name in this.trace) all[name] = this.trace[name]!;
    return all;
  }

  private isoTime(ms: number): string {
    // Stryker disable next-line ConditionalExpression: what is made again is the same
    if (this.time.ms !== ms) this.time = { ms, text: new Date(ms).toISOString() };
    return this.time.text;
  }
}
