import type { DecodedRecord } from '../../avro/codec/record-decoder';
import type { Feed } from '../../feeds/feed';
import { changedValue, inTellingOrder, shownRecord, shownTransition } from '../../format/display';
import { vendorText, vendorTexts } from '../../format/vendor-text';
import type { Op, Origin } from '../../types';
import type { ChangeView, FieldView, TransitionView } from './view';

type Fields = Readonly<Record<string, unknown>>;

/** The parts of an envelope that are shown, under their names in `schemas/envelope.avsc`. */
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

/** A change event in the form in which people see it. */
export function readChange(feed: Feed, record: DecodedRecord): ReadChange {
  const { before, after, op, changed_fields, source, ts_ms, event_id } = record.value as Envelope;
  const shown = after ?? before ?? {};
  const { title, symbol, facts } = shownRecord(feed, shown, record.key);
  const fields = op === 'u' ? inTellingOrder(feed, changed_fields, before ?? {}, after ?? {}) : facts;
  return {
    eventId: event_id,
    view: {
      feed: feed.name,
      key: vendorText(record.key)!,
      op,
      origin: source.origin,
      symbol: vendorText(symbol || record.headers.symbol || null),
      title: vendorText(title)!,
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

/** An event of one of the feed's declared transitions as the page shows it; null for any other record. */
export function readTransition(feed: Feed, record: DecodedRecord): ReadTransition | null {
  const shown = shownTransition(feed, record);
  const { caused_by } = record.value as Fields;
  if (shown === null || typeof caused_by !== 'string') return null;
  const { transition, badge, moves } = shown;
  /** `Buy, 110.00`; null if none of the values was there. */
  const joined = (side: 'before' | 'after') => {
    const texts = moves.map((move) => vendorText(move[side])).filter((text) => text !== null);
    return texts.length === 0 ? null : texts.join(', ');
  };
  return {
    causedBy: caused_by,
    view: {
      type: transition.type,
      mark: badge.mark,
      tone: badge.tone,
      before: joined('before'),
      after: joined('after'),
    },
  };
}

function fieldView(field: string, before: Fields | null, after: Fields | null): FieldView {
  const [from, to] = vendorTexts(changedValue(before, field), changedValue(after, field));
  return { field: vendorText(field)!, before: from, after: to };
}
