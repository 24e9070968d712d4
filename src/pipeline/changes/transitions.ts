import { valueAt } from '../../avro/path';
import type { FeedDefinition, LatestInGroupTransition, TransitionDefinition } from '../../feeds/definition';
import { type Groups, groupOf } from '../../state/group-index';
import type { Change, EventTail, TransitionEvent, VendorRecord } from '../../types';
import { equalDecimalText } from './compare';

/** The group indexes as they are now, and the record that each id has now. Transitions are computed only from these. */
export interface TransitionView {
  readonly groups: readonly Groups[];
  record(id: string): VendorRecord | null;
}

/** The record that a declared transition moves from, looked up before the change is applied. */
export interface TransitionOrigin {
  readonly before: VendorRecord | null;
  /** The record's id, or its group; null if it belongs to no group. */
  readonly key: string | null;
}

/**
 * First half, before the change is applied to the pending state: one origin for each declared transition of the feed. Only creates
 * and updates move a transition. A record that a snapshot reads for the first time is not news.
 */
export function transitionOrigins(
  feed: FeedDefinition,
  change: Change,
  view: TransitionView,
): readonly TransitionOrigin[] {
  const { id, op, beforeRecord, afterRecord } = change;
  if (op !== 'c' && op !== 'u') return [];
  return feed.transitions.map((transition) => {
    if (transition.kind === 'field') return { key: id, before: beforeRecord };
    const key = groupOf(transition, afterRecord);
    return { key, before: newestOf(transition, key, view) };
  });
}

/** Second half, after the change is applied: the events of the transitions that moved. */
export function transitionEvents(
  feed: FeedDefinition,
  change: Change,
  origins: readonly TransitionOrigin[],
  view: TransitionView,
  tail: EventTail,
): readonly TransitionEvent[] {
  return origins.flatMap((origin, index) => {
    const transition = feed.transitions[index]!;
    const after = change.afterRecord!; // of a create or an update
    if (!moves(transition, origin, after, view)) return [];
    return [{ index, key: origin.key!, value: eventValue(transition, origin.before, after, tail) }];
  });
}

function moves(
  transition: TransitionDefinition,
  { before, key }: TransitionOrigin,
  after: VendorRecord,
  view: TransitionView,
): boolean {
  if (transition.kind === 'field') return differ([transition.field], before, after);
  if (newestOf(transition, key, view)?.id !== after.id) return false;
  return before === null || differ(transition.differs, before, after);
}

function differ(paths: readonly string[], before: VendorRecord | null, after: VendorRecord): boolean {
  const old = before?.values ?? null;
  return paths.some((path) => !equalDecimalText(valueAt(old, path), valueAt(after.values, path)));
}

/** The newest record of a group; null if there is no group, or it has no record. */
function newestOf(
  transition: LatestInGroupTransition,
  group: string | null,
  view: TransitionView,
): VendorRecord | null {
  // Stryker disable next-line ConditionalExpression: no group has this name either
  if (group === null) return null;
  const index = view.groups.find((candidate) => candidate.transition === transition)!;
  const newest = index.newest(group);
  // Stryker disable next-line ConditionalExpression: no record has this id either
  return newest === null ? null : view.record(newest);
}

function eventValue(
  transition: TransitionDefinition,
  before: VendorRecord | null,
  after: VendorRecord,
  tail: EventTail,
): Record<string, unknown> {
  const value: Record<string, unknown> = {
    event_id: tail.event_id + transition.idSuffix,
    caused_by: tail.event_id,
    origin: tail.source.origin,
    ts_ms: tail.ts_ms,
  };
  const old = before?.values ?? null;
  for (const [field, from] of Object.entries(transition.fields)) {
    const [side, ...path] = from.split('.');
    value[field] = valueAt(side === 'before' ? old : after.values, path.join('.'));
  }
  if (transition.kind === 'latest-in-group') {
    for (const [field, path] of Object.entries(transition.same)) {
      const now = valueAt(after.values, path);
      value[field] = now !== null && now === valueAt(old, path);
    }
  }
  return value;
}
