import type { FeedDefinition } from '../../feeds/definition';
import type { ChangeEvents, Op, RecordValues } from '../../types';

/**
 * What is counted about changes once they are committed. Until then a page waits with this alone: its records would survive
 * many collections of garbage for the sake of a few numbers.
 */
export interface PublishedChanges {
  readonly count: number;
  readonly ops: Readonly<Record<Op, number>>;
  /** How many of each, by the index of the feed's declared transition. */
  readonly transitions: readonly number[];
  /** `updated` of those that a poll found, Unix seconds: how long it took to see them. */
  readonly polledUpdated: readonly number[];
  /** `extra` of those records, as they are now, that have something in it: what the schema does not say. */
  readonly extras: readonly RecordValues['extra'][];
}

export function publishedChanges(feed: FeedDefinition, events: readonly ChangeEvents[]): PublishedChanges {
  const ops: Record<Op, number> = { c: 0, u: 0, d: 0, r: 0 };
  const transitions = feed.transitions.map(() => 0);
  const polledUpdated: number[] = [];
  const extras: RecordValues['extra'][] = [];
  for (const { change, tail, transitions: moved } of events) {
    ops[change.op]++;
    for (const { index } of moved) transitions[index]!++;
    if (tail.source.origin === 'poll') polledUpdated.push(tail.source.updated);
    if (change.afterRecord !== null && hasMembers(change.afterRecord.values.extra))
      extras.push(change.afterRecord.values.extra);
  }
  return { count: events.length, ops, transitions, polledUpdated, extras };
}

function hasMembers(extra: RecordValues['extra']): boolean {
  for (const _ in extra) return true;
  return false;
}
