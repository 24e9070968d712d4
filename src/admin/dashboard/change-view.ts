import type { DecodedRecord } from '../../avro/codec/record-decoder';
import type { Feed } from '../../feeds/feed';
import { type ShownEnvelope, shownChange, shownTransition } from '../../format/display';
import { vendorText, vendorTexts } from '../../format/vendor-text';
import type { Origin } from '../../types';
import type { ChangeView, TransitionView } from './view';

interface Envelope extends ShownEnvelope {
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
  const { op, source, ts_ms, event_id } = record.value as Envelope;
  const { title, symbol, fields } = shownChange(feed, record);
  return {
    eventId: event_id,
    view: {
      feed: feed.name,
      key: vendorText(record.key)!,
      op,
      origin: source.origin,
      symbol: vendorText(symbol || null),
      title: vendorText(title)!,
      observedAtMs: ts_ms,
      updated: source.updated,
      seq: source.seq,
      fields: fields.slice(0, MOST_FIELDS).map((one) => {
        const [before, after] = vendorTexts(one.before, one.after);
        return { field: vendorText(one.field)!, before, after };
      }),
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
  const { caused_by } = record.value as { readonly caused_by?: unknown };
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
