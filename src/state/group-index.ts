import { valueAt } from '../avro/path';
import type { FeedDefinition, LatestInGroupTransition } from '../feeds/definition';
import { joinedId } from '../feeds/row-keys';
import type { VendorRecord } from '../types';
import { Column } from './column';
import { HashIndex, hashOf } from './hash-index';
import type { ImageStore } from './image-store';

/** The members of each group of a latest-in-group transition, and which of them is the newest. */
export type Groups = Pick<GroupIndex, 'transition' | 'newest' | 'members'>;

/** What a transaction changes in a group. */
interface GroupChanges {
  readonly joined: Set<string>;
  readonly left: Set<string>;
  newest: string | null;
}

/** Group → its changes. */
export type ChangedGroups = ReadonlyMap<string, GroupChanges>;

/** The groups of a transition as chains of record numbers, by the hash of the group. The newest record comes first. */
export class GroupChains {
  /** Number of a record → number of the next one in its group, plus one; 0: it is the last. */
  readonly next = new Column(Uint32Array);
  readonly heads = new HashIndex();
  readonly columns = [this.next, ...this.heads.columns];
}

/**
 * The groups as they are committed. They are derived from the images only, so they are the same after a restart. Each group is a chain of
 * numbers, the newest record first, outside the heap: lists of ids would be a third of the memory of the images.
 */
export class GroupIndex {
  /** Records that were walked over so far. */
  steps = 0;

  /** @param recordOf the committed record of a number */
  constructor(
    readonly transition: LatestInGroupTransition,
    private readonly images: Pick<ImageStore, 'find' | 'idOf'>,
    private readonly recordOf: (number: number) => VendorRecord,
    readonly chains = new GroupChains(),
  ) {}

  /** Its id; null if the group has no members. */
  newest(group: string): string | null {
    const head = this.head(group);
    return head === -1 ? null : this.images.idOf(head);
  }

  /** Ids, in no order. */
  *members(group: string): IterableIterator<string> {
    for (const number of this.chain(this.head(group))) yield this.images.idOf(number);
  }

  record(id: string): VendorRecord | null {
    const number = this.images.find(id);
    return number === -1 ? null : this.recordOf(number);
  }

  /** Adds a record that is in the log. */
  add(number: number): void {
    const record = this.recordOf(number);
    const group = groupOf(this.transition, record);
    if (group === null) return;
    const head = this.head(group);
    const isNewest = head === -1 || compareRank(this.transition, record, this.recordOf(head)) > 0;
    if (isNewest) this.moveHead(group, head, number);
    else this.insertBehind(head, number);
  }

  /** Takes records out of their groups. Call it before the images change: a group is known by the image of its first record. */
  detach(changes: ChangedGroups): void {
    for (const [group, { left }] of changes) {
      if (left.size === 0) continue;
      const head = this.head(group);
      const gone = new Set(Array.from(left, (id) => this.images.find(id)));
      const kept = [...this.chain(head)].filter((number) => !gone.has(number));
      kept.forEach((number, i) => {
        this.chains.next.set(number, (kept[i + 1] ?? -1) + 1);
      });
      if (kept.length === 0) this.chains.heads.remove(hashOf(group), head);
      else if (kept[0] !== head) this.chains.heads.replace(hashOf(group), head, kept[0]!);
    }
  }

  /** Puts records into their groups. Call it after the images have changed. */
  attach(changes: ChangedGroups): void {
    for (const [group, { joined, newest }] of changes) {
      if (newest === null) continue;
      const head = this.head(group);
      const first = this.images.find(newest);
      if (first !== head) {
        if (!joined.has(newest)) this.unchain(head, first);
        this.moveHead(group, head, first);
      }
      for (const id of joined) if (id !== newest) this.insertBehind(first, this.images.find(id));
    }
  }

  private head(group: string): number {
    const isOf = (number: number) => groupOf(this.transition, this.recordOf(number)) === group;
    return this.chains.heads.find(hashOf(group), isOf);
  }

  private *chain(head: number): IterableIterator<number> {
    for (let number = head; number !== -1; number = this.chains.next.get(number) - 1) {
      this.steps++;
      yield number;
    }
  }

  private moveHead(group: string, before: number, number: number): void {
    this.chains.next.set(number, before + 1);
    if (before === -1) this.chains.heads.add(hashOf(group), number);
    else this.chains.heads.replace(hashOf(group), before, number);
  }

  private insertBehind(head: number, number: number): void {
    this.chains.next.set(number, this.chains.next.get(head));
    this.chains.next.set(head, number + 1);
  }

  private unchain(head: number, number: number): void {
    for (const before of this.chain(head))
      if (this.chains.next.get(before) === number + 1) {
        this.chains.next.set(before, this.chains.next.get(number));
        return;
      }
  }
}

/**
 * Changes the image of a record, and moves the record between its groups.
 * @param change changes the image
 */
export function changeInGroups(
  groups: readonly GroupIndex[],
  id: string,
  before: VendorRecord | null,
  after: VendorRecord | null,
  change: () => void,
): void {
  const changes = groups.map((group) => {
    const pending = new PendingGroups(group);
    pending.move(before, after, (other) => (other === id ? after : group.record(other)));
    return pending.changes;
  });
  for (const [i, group] of groups.entries()) group.detach(changes[i]!);
  change();
  for (const [i, group] of groups.entries()) group.attach(changes[i]!);
}

/** Changes of groups that are not committed yet, over the groups of the layer below. */
export class PendingGroups implements Groups {
  readonly changes = new Map<string, GroupChanges>();
  readonly transition: LatestInGroupTransition;

  constructor(private readonly base: Groups) {
    this.transition = base.transition;
  }

  newest(group: string): string | null {
    const changes = this.changes.get(group);
    return changes === undefined ? this.base.newest(group) : changes.newest;
  }

  *members(group: string): IterableIterator<string> {
    const { joined, left } = this.changes.get(group) ?? NOTHING;
    for (const id of this.base.members(group)) if (!left.has(id)) yield id;
    yield* joined;
  }

  /**
   * Moves a record out of the group of `before` and into the group of `after`.
   * @param lookup gives the images as they are after the move
   */
  move(before: VendorRecord | null, after: VendorRecord | null, lookup: Lookup): void {
    const { transition } = this;
    const from = groupOf(transition, before);
    const to = groupOf(transition, after);
    const keepsRank =
      before !== null && after !== null && from === to && compareRank(transition, after, before) >= 0;
    // A newest record that only became newer stays the newest. The others have no order.
    if (keepsRank && from !== null && this.newest(from) === after.id) return;
    if (from !== null && before !== null) this.leave(from, before.id, lookup);
    if (to !== null && after !== null) this.join(to, after, lookup);
  }

  /** Takes over the changes of the layer above. */
  take(changes: ChangedGroups): void {
    for (const [group, { joined, left, newest }] of changes) {
      const own = this.changesOf(group);
      for (const id of left) if (!own.joined.delete(id)) own.left.add(id);
      for (const id of joined) if (!own.left.delete(id)) own.joined.add(id);
      own.newest = newest;
    }
  }

  private changesOf(group: string): GroupChanges {
    let changes = this.changes.get(group);
    if (changes === undefined) {
      changes = { joined: new Set(), left: new Set(), newest: this.base.newest(group) };
      this.changes.set(group, changes);
    }
    return changes;
  }

  private leave(group: string, id: string, lookup: Lookup): void {
    const changes = this.changesOf(group);
    if (!changes.joined.delete(id)) changes.left.add(id);
    if (changes.newest === id) changes.newest = this.newestOf(this.members(group), lookup);
  }

  private join(group: string, record: VendorRecord, lookup: Lookup): void {
    const changes = this.changesOf(group);
    if (!changes.left.delete(record.id)) changes.joined.add(record.id);
    const newest = changes.newest === null ? null : lookup(changes.newest);
    if (newest === null || compareRank(this.transition, record, newest) > 0) changes.newest = record.id;
  }

  private newestOf(ids: Iterable<string>, lookup: Lookup): string | null {
    let newest: VendorRecord | null = null;
    for (const id of ids) {
      const record = lookup(id);
      if (record !== null && (newest === null || compareRank(this.transition, record, newest) > 0))
        newest = record;
    }
    return newest === null ? null : newest.id;
  }
}

type Lookup = (id: string) => VendorRecord | null;

const NOTHING = { joined: new Set<string>(), left: new Set<string>() };

export function groupTransitions({ transitions }: FeedDefinition): LatestInGroupTransition[] {
  return transitions.filter(
    (transition): transition is LatestInGroupTransition => transition.kind === 'latest-in-group',
  );
}

/** By which the groups of a transition are known as long as its definition stays the same. */
export function keyOfGroups(transition: LatestInGroupTransition): string {
  return JSON.stringify(transition);
}

/** `AAPL|57f8…`, joined as an id of several parts; null if a part is missing, since the record then belongs to no group. */
export function groupOf(transition: LatestInGroupTransition, record: VendorRecord | null): string | null {
  const parts = transition.group.map((path) => {
    const part = valueAt(record?.values ?? null, path);
    return part === null || part === '' ? null : String(part);
  });
  return joinedId(parts);
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
