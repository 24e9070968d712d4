import { valueAt } from '../../avro/path';
import type { Feed } from '../../feeds/feed';
import type { PendingState } from '../../state/pending-state';
import { EncodedRecord } from '../../transcoder/encoded-record';
import type { Change, ChangeEvents, Origin, TooLarge, VendorRecord } from '../../types';
import { version } from '../../version';
import { type Origins, transitionEvents, transitionOrigins } from './transitions';

export interface EventContext {
  readonly feed: Feed;
  /** Name of the installation. */
  readonly appId: string;
  readonly origin: Origin;
  readonly duringSnapshot: boolean;
  /** Time of observation, ms. */
  readonly observedAtMs: number;
  readonly limit: RecordLimit;
  /** Changes that are beyond the limit are put here. */
  readonly tooLarge: TooLarge[];
}

/** The largest record that the log takes, and how large those of an event are going to be. */
export interface RecordLimit {
  readonly maxBytes: number;
  /** Of the largest one. Costs as much as encoding them. */
  bytesOf(event: ChangeEvents): number;
}

/**
 * Numbers each change, applies it to the pending state, and says what is to be published about it. A change that the log
 * would refuse is left out: the image stays as published, and the numbers have no gap.
 */
export function buildEvents(
  changes: Iterable<Change>,
  pending: PendingState,
  context: EventContext,
): ChangeEvents[] {
  const { feed, limit, tooLarge } = context;
  const events: ChangeEvents[] = [];
  const { incarnation, seq } = pending.offset;
  const idPrefix = `${feed.name}:${incarnation}:`;
  for (const change of changes) {
    const origins = transitionOrigins(feed, change, pending);
    const next = { change, origins, incarnation, idPrefix, seq: seq + events.length + 1 };
    if (isSurelyWithin(limit, next, pending)) {
      events.push(eventOf(next, pending, context));
      continue;
    }
    const layer = pending.begin();
    const event = eventOf(next, layer, context);
    const bytes = limit.bytesOf(event);
    if (bytes > limit.maxBytes) {
      tooLarge.push({ change, bytes });
    } else {
      layer.settle();
      events.push(event);
    }
  }
  pending.moveOffset({ seq: seq + events.length });
  return events;
}

/** A change with the number that it is going to have, and what its transitions would move from. */
interface NumberedChange {
  readonly change: Change;
  readonly origins: Origins;
  readonly incarnation: string;
  /** What stands before the number in the id of the event. */
  readonly idPrefix: string;
  readonly seq: number;
}

/**
 * Most records are some hundred bytes, and nothing needs to be encoded to know that they fit. Of what the images hold, an
 * event or a transition repeats a part a few times (in the key, the headers, `changed_fields`); what they add is a few KB.
 */
function isSurelyWithin(
  { maxBytes }: RecordLimit,
  { change, origins }: NumberedChange,
  pending: PendingState,
): boolean {
  if (maxBytes === Number.POSITIVE_INFINITY) return true;
  let imageBytes = (change.before?.length ?? 0) + (change.after?.length ?? 0);
  // A transition also tells of another record: the one that was the newest of the group.
  for (const origin of origins) if (origin) imageBytes += pending.image(origin.id)!.length;
  return imageBytes * 8 + 64 * 1024 <= maxBytes;
}

/**
 * The order of the steps must not change: a transition compares the newest of its group before the change with the newest
 * after it, and the diff behind the changes goes on from the state that `apply` leaves.
 */
function eventOf(
  { change, origins, incarnation, idPrefix, seq }: NumberedChange,
  pending: PendingState,
  context: EventContext,
): ChangeEvents {
  const { feed } = context;
  const record = (change.afterRecord ?? change.beforeRecord)!;
  const tail = {
    op: change.op,
    changed_fields: change.changedFields,
    source: {
      connector: 'highwater',
      version,
      name: context.appId,
      feed: feed.name,
      endpoint: feed.path,
      updated: Math.floor(record.updated),
      ts_ms: Math.round(record.updated * 1000),
      snapshot: context.duringSnapshot ? ('true' as const) : ('false' as const),
      origin: context.origin,
      incarnation,
      seq,
    },
    ts_ms: context.observedAtMs,
    event_id: idPrefix + seq,
  };
  pending.apply(change);
  const transitions = transitionEvents(feed, change, origins, pending, tail);
  return { change, tail, transitions, symbol: symbolOf(record, feed) };
}

function symbolOf(record: VendorRecord, { symbolField }: Feed): string | null {
  if (symbolField === null) return null;
  const known = record instanceof EncodedRecord ? EncodedRecord.symbolOf(record) : undefined;
  return known === undefined ? (valueAt(record.values, symbolField) as string | null) : known;
}
