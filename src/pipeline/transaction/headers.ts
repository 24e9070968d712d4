import type { FeedDefinition } from '../../feeds/definition';
import type { ChangeEvents, Op, TransitionEvent } from '../../types';

/** CloudEvents binary mode, and what a consumer filters by without decoding. Names and values: DESIGN section 3. */
type Headers = Record<string, string>;

export function eventHeaders(feed: FeedDefinition, event: ChangeEvents): Headers {
  const { event_id, op } = event.tail;
  return headers(feed, event, event_id, namesOf(feed).types[op]);
}

export function transitionHeaders(
  feed: FeedDefinition,
  event: ChangeEvents,
  transition: TransitionEvent,
): Headers {
  const { eventType, idSuffix } = feed.transitions[transition.index]!;
  return headers(feed, event, event.tail.event_id + idSuffix, eventType);
}

function headers(
  feed: FeedDefinition,
  { change, tail, symbol }: ChangeEvents,
  id: string,
  type: string,
): Headers {
  const all: Headers = {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: namesOf(feed).source,
    ce_type: type,
    ce_subject: change.id,
    ce_time: isoTime(tail.ts_ms),
    'content-type': 'application/avro',
    op: tail.op,
  };
  if (symbol !== null && symbol !== '') all.symbol = symbol;
  if (tail.changed_fields.length > 0) all['changed-fields'] = tail.changed_fields.join(',');
  return all;
}

/** What all events of a feed are called alike. */
interface EventNames {
  readonly source: string;
  readonly types: Readonly<Record<Op, string>>;
}

function namesOf(feed: FeedDefinition): EventNames {
  const known = names.get(feed);
  // Stryker disable next-line ConditionalExpression: what is made again is the same
  if (known !== undefined) return known;
  const typeOf = (what: string) => `marketdata.${feed.name}.${what}`;
  const types = { c: typeOf('created'), u: typeOf('updated'), d: typeOf('deleted'), r: typeOf('read') };
  const made = { source: `/highwater/${feed.name}`, types };
  names.set(feed, made);
  return made;
}

const names = new WeakMap<FeedDefinition, EventNames>();

/** The changes of a page have one time, and writing it takes as long as the other headers together. */
// Stryker disable next-line ObjectLiteral: of no time at all, it is made at the first event
let latest = { ms: 0, text: new Date(0).toISOString() };

function isoTime(ms: number): string {
  // Stryker disable next-line ConditionalExpression: what is made again is the same
  if (latest.ms !== ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}
