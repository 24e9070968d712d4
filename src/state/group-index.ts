import { valueAt } from '../avro/path';
import type { LatestInGroupTransition } from '../feeds/definition';
import type { VendorRecord } from '../types';

/**
 * The members of each group of a latest-in-group transition, by record id, the newest first. It is derived from the images only,
 * so it is the same after a restart. It holds ids, and looks the images up when it has to rank them.
 */
export class GroupIndex {
  private readonly groups = new Map<string, readonly string[]>();

  /** @param base the index below, if this one holds the changes to it that are not committed yet */
  constructor(
    readonly transition: LatestInGroupTransition,
    private readonly base: GroupIndex | null = null,
  ) {}

  /** Ids of a group, the newest first, the rest in no order; empty for an unknown group. */
  members(group: string): readonly string[] {
    return this.groups.get(group) ?? this.base?.members(group) ?? [];
  }

  set(group: string, members: readonly string[]): void {
    if (members.length === 0 && this.base === null) this.groups.delete(group);
    else this.groups.set(group, members);
  }

  /** Moves the changes to the index below. */
  settle(): void {
    for (const [group, members] of this.groups) this.base!.set(group, members);
    this.groups.clear();
  }
}

/** `AAPL|57f8…`; null if a part is missing, since the record then belongs to no group. */
export function groupOf(transition: LatestInGroupTransition, record: VendorRecord | null): string | null {
  const parts = transition.group.map((path) => valueAt(record?.values ?? null, path));
  return parts.every((part) => part !== null && part !== '') ? parts.join('|') : null;
}

/**
 * Moves a record out of the group of `before` and into the group of `after`.
 * @param lookup gives the images as they are after the move
 */
export function moveRecord(
  index: GroupIndex,
  before: VendorRecord | null,
  after: VendorRecord | null,
  lookup: (id: string) => VendorRecord | null,
): void {
  const { transition } = index;
  const from = groupOf(transition, before);
  const to = groupOf(transition, after);
  const keepsRank =
    before !== null && after !== null && from === to && compareRank(transition, after, before) >= 0;
  // A newest record that only became newer stays the newest. The other places have no order.
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
  lookup: (id: string) => VendorRecord | null,
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
