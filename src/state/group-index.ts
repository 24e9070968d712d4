import { valueAt } from '../avro/path';
import type { LatestInGroupTransition } from '../feeds/definition';
import type { VendorRecord } from '../types';

/**
 * The members of each group of a latest-in-group transition, by record id, the newest first. Derived from the images
 * alone, so that it is the same after a restart; it holds ids only, and looks the images up when it has to rank them.
 */
export interface GroupIndex {
  readonly transition: LatestInGroupTransition;
  /** Ids of a group, the newest first, the rest in no order; empty for an unknown group. */
  members(group: string): readonly string[];
  set(group: string, members: readonly string[]): void;
}

export function groupIndex(transition: LatestInGroupTransition): GroupIndex {
  const groups = new Map<string, readonly string[]>();
  return {
    transition,
    members: (group) => groups.get(group) ?? [],
    set(group, members) {
      if (members.length === 0) groups.delete(group);
      else groups.set(group, members);
    },
  };
}

/** Changes that are not committed yet, over an index that is. */
export function pendingGroupIndex(base: GroupIndex): GroupIndex & { apply(): void } {
  const changed = new Map<string, readonly string[]>();
  return {
    transition: base.transition,
    members: (group) => changed.get(group) ?? base.members(group),
    set: (group, members) => changed.set(group, members),
    apply() {
      for (const [group, members] of changed) base.set(group, members);
      changed.clear();
    },
  };
}

/** `AAPL|57f8…`; null when a part is missing, for then the record belongs to no group. */
export function groupOf(transition: LatestInGroupTransition, record: VendorRecord | null): string | null {
  const parts = transition.group.map((path) => valueAt(record?.values ?? null, path));
  return parts.every((part) => part !== null && part !== '') ? parts.join('|') : null;
}

type ImageLookup = (id: string) => VendorRecord | null;

/** Moves one record within the index: `before` out of its group, `after` into its own. Images are those after the move. */
export function moveRecord(
  index: GroupIndex,
  before: VendorRecord | null,
  after: VendorRecord | null,
  lookup: ImageLookup,
): void {
  const { transition } = index;
  const from = groupOf(transition, before);
  const to = groupOf(transition, after);
  const keepsRank =
    before !== null && after !== null && from === to && compareRank(transition, after, before) >= 0;
  // The newest that only became newer stays the newest; any other place has no order.
  if (keepsRank && from !== null && index.members(from)[0] === after.id) return;

  if (from !== null && before !== null) {
    const members = index.members(from);
    const rest = members.filter((id) => id !== before.id);
    index.set(from, members[0] === before.id ? newestFirst(transition, rest, lookup) : rest);
  }
  if (to !== null && after !== null) {
    const members = index.members(to);
    const newest = members[0] === undefined ? null : lookup(members[0]);
    const isNewest = newest === null || compareRank(transition, after, newest) > 0;
    index.set(to, isNewest ? [after.id, ...members] : [...members, after.id]);
  }
}

function newestFirst(
  transition: LatestInGroupTransition,
  ids: readonly string[],
  lookup: ImageLookup,
): readonly string[] {
  let newest: VendorRecord | null = null;
  for (const id of ids) {
    const record = lookup(id);
    if (record !== null && (newest === null || compareRank(transition, record, newest) > 0)) newest = record;
  }
  return newest === null ? ids : [newest.id, ...ids.filter((id) => id !== newest.id)];
}

/** Positive when a is newer than b. A missing value is older than any other; ids break ties. */
function compareRank(transition: LatestInGroupTransition, a: VendorRecord, b: VendorRecord): number {
  for (const path of transition.newestBy) {
    const order = compareValues(valueAt(a.values, path), valueAt(b.values, path));
    if (order !== 0) return order;
  }
  return compareValues(a.id, b.id);
}

function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return (a as string | number) < (b as string | number) ? -1 : 1;
}
