import type { FeedDefinition } from '../../feeds/definition';
import type { ChangeEvents, Op, TransitionEvent } from '../../types';

type Headers = Record<string, string>;

/** Headers of a feed's events: CloudEvents in binary mode, and the facts that consumers filter by without decoding the value. */
export class EventHeaders {
  private readonly source: string;
  private readonly types: Readonly<Record<Op, string>>;
  /** The changes of a page have one time, and writing it takes as long as the other headers together. */
  private time = { ms: Number.NaN, text: '' };

  constructor(private readonly feed: FeedDefinition) {
    const typeOf = (what: string) => `marketdata.${feed.name}.${what}`;
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
    return all;
  }

  private isoTime(ms: number): string {
    // Stryker disable next-line ConditionalExpression: what is made again is the same
    if (this.time.ms !== ms) this.time = { ms, text: new Date(ms).toISOString() };
    return this.time.text;
  }
}
