import { valueAt } from '../../avro/path';
import type {
  FeedDefinition,
  FieldTransition,
  LatestInGroupTransition,
  TransitionDefinition,
} from '../../feeds/definition';
import { type GroupIndex, groupOf } from '../../state/group-index';
import type { Change, EventTail, TransitionEvent, VendorRecord } from '../../types';
import { equalDecimalText } from './compare';

/** The group indexes as they are, and the record that each id has now: what a transition is computed from. */
export interface TransitionView {
  readonly groups: readonly GroupIndex[];
  record(id: string): VendorRecord | null;
}

/** For each declared transition what it moves from, looked up before the change is applied; empty when none can move. */
export type Origins = readonly (VendorRecord | null)[];

/**
 * First half, before the change is applied to the pending state: the newest record of the group as it was.
 * Only creates and updates move a transition: what a snapshot reads for the first time is no news.
 */
export function transitionOrigins(feed: FeedDefinition, change: Change, view: TransitionView): Origins {
  if (change.op !== 'c' && change.op !== 'u') return [];
  return feed.transitions.map((transition) => {
    if (transition.kind === 'field') return change.beforeRecord;
    return newestBeside(transition, change.afterRecord!, view);
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
  return origins.flatMap((before, index) => {
    const transition = feed.transitions[index]!;
    const after = change.afterRecord!; // of a create or an update
    if (!moves(transition, before, after, view)) return [];
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
  if (newestBeside(transition, after, view)?.id !== after.id) return false;
  return (
    before === null ||
    transition.differs.some(
      (path) => !equalDecimalText(valueAt(before.values, path), valueAt(after.values, path)),
    )
  );
}

function fieldMoves(transition: FieldTransition, before: VendorRecord | null, after: VendorRecord): boolean {
  return !equalDecimalText(
    valueAt(before?.values ?? null, transition.field),
    valueAt(after.values, transition.field),
  );
}

/** The newest of a record's group; null when it belongs to none, or nothing is known of it. */
function newestBeside(
  transition: LatestInGroupTransition,
  record: VendorRecord,
  view: TransitionView,
): VendorRecord | null {
  const group = groupOf(transition, record);
  // Stryker disable next-line ConditionalExpression: no group has this name either
  if (group === null) return null;
  const index = view.groups.find((candidate) => candidate.transition === transition)!;
  const newest = index.members(group)[0];
  // Stryker disable next-line ConditionalExpression: no record has this id either
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
