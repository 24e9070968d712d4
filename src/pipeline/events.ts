import { valueAt } from '../avro/path';
import type { Feed } from '../feeds/feed';
import type { PendingState } from '../state/pending-state';
import type { Change, ChangeEvents, Origin } from '../types';
import { version } from '../version';
import { transitionEvents, transitionOrigins } from './transitions';

export interface EventContext {
  readonly feed: Feed;
  /** Name of the installation. */
  readonly appId: string;
  readonly origin: Origin;
  readonly duringSnapshot: boolean;
  /** Time of observation, ms. */
  readonly observedAtMs: number;
}

/**
 * Numbers each change, applies it to the pending state, and says what is to be published about it.
 *
 * The order within the loop must not change: a transition compares the newest of its group before the change with the
 * newest after it, and the diff behind `changes` goes on from the state that `apply` leaves.
 */
export function buildEvents(
  changes: Iterable<Change>,
  pending: PendingState,
  context: EventContext,
): ChangeEvents[] {
  const { feed } = context;
  const events: ChangeEvents[] = [];
  const { incarnation } = pending.offset;
  let { seq } = pending.offset;
  for (const change of changes) {
    seq++;
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
        updated: record.updated,
        ts_ms: record.updated * 1000,
        snapshot: context.duringSnapshot ? ('true' as const) : ('false' as const),
        origin: context.origin,
        incarnation,
        seq,
      },
      ts_ms: context.observedAtMs,
      event_id: `${feed.name}:${incarnation}:${seq}`,
    };
    const origins = transitionOrigins(feed, change, pending);
    pending.apply(change);
    const transitions = transitionEvents(feed, change, origins, pending, tail);
    const symbol = feed.symbolField === null ? null : (valueAt(record, feed.symbolField) as string | null);
    events.push({ change, tail, transitions, symbol });
  }
  pending.moveOffset({ seq });
  return events;
}
