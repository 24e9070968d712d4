import { valueAt } from '../avro/path';
import type {
  FeedDefinition,
  FieldTransition,
  LatestInGroupTransition,
  TransitionDefinition,
} from '../feeds/definition';
import { type GroupIndex, groupOf } from '../state/group-index';
import type { Change, EventTail, TransitionEvent, VendorRecord } from '../types';
import { equalDecimalText } from './compare';

/** The group indexes as they are, and the record that each id has now: what a transition is computed from. */
export interface TransitionView {
  readonly groups: readonly GroupIndex[];
  record(id: string): VendorRecord | null;
}

/** For each declared transition what it moves from, looked up before the change is applied; null when it cannot move. */
export type Origins = readonly (VendorRecord | null | undefined)[];

const NONE: readonly never[] = [];

/**
 * First half, before the change is applied to the pending state: the newest record of the group as it was.
 * Only creates and updates move a transition: what a snapshot reads for the first time is no news.
 */
export function transitionOrigins(feed: FeedDefinition, change: Change, view: TransitionView): Origins {
  if (change.op !== 'c' && change.op !== 'u') return NONE;
  return feed.transitions.map((transition) => {
    if (transition.kind === 'field') return change.beforeRecord;
    const group = groupOf(transition, change.afterRecord);
    return group === null ? undefined : newestOf(transition, group, view);
  });
}

/** Second half, after the change is applied: the events for what moved. */
export function transitionEvents(
  feed: FeedDefinition,
  change: Change,
  origins: Origins,
  view: TransitionView,
  tail: EventTail,
): readonly TransitionEvent[] {
  const after = change.afterRecord;
  if (after === null || origins.length === 0) return NONE;
  return origins.flatMap((before, index) => {
    const transition = feed.transitions[index]!;
    if (before === undefined || !moves(transition, before, after, view)) return [];
    const key = transition.kind === 'field' ? change.id : groupOf(transition, after)!;
    return [{ index, key, value: eventValue(transition, before, after, tail) }];
  });
}

function moves(
  transition: TransitionDefinition,
  before: VendorRecord | null,
  after: VendorRecord,
  view: TransitionView,
): boolean {
  if (transition.kind === 'field') return fieldMoves(transition, before, after);
  if (newestOf(transition, groupOf(transition, after)!, view)?.id !== after.id) return false;
  return (
    before === null ||
    transition.differs.some((path) => !equalDecimalText(valueAt(before, path), valueAt(after, path)))
  );
}

function fieldMoves(transition: FieldTransition, before: VendorRecord | null, after: VendorRecord): boolean {
  return !equalDecimalText(valueAt(before, transition.field), valueAt(after, transition.field));
}

function newestOf(
  transition: LatestInGroupTransition,
  group: string,
  view: TransitionView,
): VendorRecord | null {
  const index = view.groups.find((candidate) => candidate.transition === transition)!;
  const newest = index.members(group)[0];
  return newest === undefined ? null : view.record(newest);
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
  for (const [field, from] of Object.entries(transition.fields)) {
    const [side, ...path] = from.split('.');
    value[field] = valueAt(side === 'before' ? before : after, path.join('.'));
  }
  if (transition.kind === 'latest-in-group') {
    for (const [field, path] of Object.entries(transition.same)) {
      const now = valueAt(after, path);
      value[field] = now !== null && now === valueAt(before, path);
    }
  }
  return value;
}
