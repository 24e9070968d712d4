import type { DecodedRecord } from '../../avro/codec/record-decoder';
import { valueAt } from '../../avro/path';
import type { TransitionDefinition } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import { subjectOf } from '../../format/subjects';
import { inTellingOrder } from '../../format/telling-order';
import { vendorText, vendorTexts } from '../../format/vendor-text';
import type { Op, Origin } from '../../types';
import type { ChangeView, FieldView, TransitionView } from './view';

type Fields = Readonly<Record<string, unknown>>;

/** The parts of an envelope that are shown; names are those of `schemas/envelope.avsc`. */
interface Envelope {
  readonly before: Fields | null;
  readonly after: Fields | null;
  readonly op: Op;
  readonly changed_fields: readonly string[];
  readonly source: { readonly origin: Origin; readonly updated: number; readonly seq: number };
  readonly ts_ms: number;
  readonly event_id: string;
}

/** A change as it lies in the log, without the number that it is shown by. */
export interface ReadChange {
  readonly eventId: string;
  readonly view: Omit<ChangeView, 'n' | 'transitions'>;
}

const MOST_FIELDS = 20;
/** Of a feed that nobody has said anything about. */
const FIRST_FACTS = 8;

/** What a change event says to people. */
export function readChange(feed: Feed, record: DecodedRecord): ReadChange {
  const { before, after, op, changed_fields, source, ts_ms, event_id } = record.value as Envelope;
  const shown = after ?? before ?? {};
  const subject = subjectOf(record.type!, shown, { key: record.key, symbol: record.headers.symbol });
  const facts = subject.facts.map(([path]) => path);
  const fields =
    op === 'u'
      ? inTellingOrder(changed_fields, subject.telling, before ?? {}, after ?? {})
      : facts.length > 0
        ? facts
        : firstFacts(shown);
  return {
    eventId: event_id,
    view: {
      feed: feed.name,
      key: vendorText(record.key)!,
      op,
      origin: source.origin,
      symbol: vendorText(subject.symbol || null),
      title: vendorText(subject.name)!,
      observedAtMs: ts_ms,
      updated: source.updated,
      seq: source.seq,
      fields: fields.slice(0, MOST_FIELDS).map((field) => fieldView(field, before, after)),
      moreFields: Math.max(0, fields.length - MOST_FIELDS),
    },
  };
}

/** A transition, and the event that caused it. */
export interface ReadTransition {
  readonly causedBy: string;
  readonly view: TransitionView;
}

/** What an event of its own says: that of the feed's declaration whose type the record has; null for any other record. */
export function readTransition(feed: Feed, record: DecodedRecord): ReadTransition | null {
  const type = record.type?.split('.').at(-1);
  const transition = feed.transitions.find((one) => one.type === type);
  if (transition === undefined) return null;
  const value = record.value as Fields;
  if (typeof value.caused_by !== 'string') return null;
  const [before, after] = (['before', 'after'] as const).map((side) => movedText(transition, side, value));
  return { causedBy: value.caused_by, view: { type: transition.type, before: before!, after: after! } };
}

/** `Buy, 110.00`: what the transition watches, from the event's own fields; null where it had none of it. */
function movedText(transition: TransitionDefinition, side: 'before' | 'after', value: Fields): string | null {
  const watched = transition.kind === 'field' ? [transition.field] : transition.differs;
  const texts = watched.map((path) => {
    const [field] = Object.entries(transition.fields).find(([, from]) => from === `${side}.${path}`) ?? [];
    return field === undefined ? null : vendorText(value[field]);
  });
  const there = texts.filter((text) => text !== null);
  return there.length === 0 ? null : there.join(', ');
}

function fieldView(field: string, before: Fields | null, after: Fields | null): FieldView {
  const [from, to] = vendorTexts(fieldOf(before, field), fieldOf(after, field));
  return { field: vendorText(field)!, before: from, after: to };
}

/** The keys of `extra` are dotted paths themselves. */
function fieldOf(record: Fields | null, field: string): unknown {
  if (!field.startsWith('extra.')) return valueAt(record, field);
  const extra = (record?.extra ?? {}) as Fields;
  return extra[field.slice('extra.'.length)] ?? null;
}

function firstFacts(record: Fields): string[] {
  return Object.entries(record)
    .filter(
      ([name, value]) => name !== 'id' && name !== 'updated' && value !== null && typeof value !== 'object',
    )
    .slice(0, FIRST_FACTS)
    .map(([name]) => name);
}
