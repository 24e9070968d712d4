import type { WireType } from '../avro/wire-type';
import type { FeedDefinition, LatestInGroupTransition } from '../feeds/definition';
import { partitionOf } from '../log/partitioner';
import type { Change, VendorRecord } from '../types';
import { type GroupIndex, groupIndex, moveRecord, pendingGroupIndex } from './group-index';
import type { SourceOffset } from './source-offset';

/**
 * What the owner of a feed knows: the committed image of each record, the dead letters already kept, and the source
 * offset. It moves only when a batch has been committed (`PendingState.settle`); until then changes live in the pending
 * state, and are dropped with it when the commit fails.
 */
export interface FeedState {
  readonly offset: SourceOffset;
  /** The offset as the log has it; `offset` may be ahead by polls without news. */
  readonly storedOffset: SourceOffset;
  readonly recordCount: number;
  /** Live images in each partition of the current topic. */
  readonly partitionCounts: readonly number[];
  image(id: string): Buffer | undefined;
  hasDeadLetter(sha256: string): boolean;
  begin(): PendingState;
}

/** The state as it will be when the batch that is being built is committed. */
export interface PendingState {
  readonly offset: SourceOffset;
  image(id: string): Buffer | undefined;
  record(id: string): VendorRecord | null;
  readonly groups: readonly GroupIndex[];
  /** Takes a change up; order matters: later records of the same page are compared with what earlier ones became. */
  apply(change: Change): void;
  hasDeadLetter(sha256: string): boolean;
  addDeadLetter(sha256: string): void;
  setOffset(offset: SourceOffset): void;
  /** Counts as they will be. */
  counts(): { readonly recordCount: number; readonly partitionCounts: readonly number[] };
  /**
   * The state becomes this.
   * @param stored the log has it; else nothing but the position may have moved
   */
  settle(stored: boolean): void;
}

/** What restore has read of the log. */
export interface RestoredState {
  readonly offset: SourceOffset;
  readonly images: Map<string, Buffer>;
  readonly deadLetters: Set<string>;
}

export function feedState(
  feed: FeedDefinition,
  image: WireType<VendorRecord>,
  restored: RestoredState,
  partitions: number,
): FeedState {
  const { images, deadLetters } = restored;
  let { offset } = restored;
  let storedOffset = offset;
  const counts: number[] = new Array(partitions).fill(0);
  for (const id of images.keys()) counts[partitionOf(id, partitions)]!++;

  const lookup = (id: string): VendorRecord | null => {
    const wire = images.get(id);
    return wire === undefined ? null : image.decode(wire);
  };
  const groups = feed.transitions
    .filter((transition): transition is LatestInGroupTransition => transition.kind === 'latest-in-group')
    .map(groupIndex);
  if (groups.length > 0) {
    for (const id of images.keys()) {
      const record = lookup(id);
      for (const group of groups) moveRecord(group, null, record, lookup);
    }
  }

  function begin(): PendingState {
    const changed = new Map<string, Buffer | null>();
    const letters = new Set<string>();
    const pendingGroups = groups.map(pendingGroupIndex);
    let pendingOffset = offset;
    const pendingImage = (id: string): Buffer | undefined => {
      const wire = changed.get(id);
      return wire === undefined ? images.get(id) : (wire ?? undefined);
    };
    const record = (id: string): VendorRecord | null => {
      const wire = pendingImage(id);
      return wire === undefined ? null : image.decode(wire);
    };
    const countChanges = (add: (id: string, difference: 1 | -1) => void): void => {
      for (const [id, wire] of changed) {
        const was = images.has(id);
        if (was !== (wire !== null)) add(id, was ? -1 : 1);
      }
    };
    return {
      get offset() {
        return pendingOffset;
      },
      image: pendingImage,
      record,
      groups: pendingGroups,
      apply(change) {
        changed.set(change.id, change.after);
        for (const group of pendingGroups) moveRecord(group, change.beforeRecord, change.afterRecord, record);
      },
      hasDeadLetter: (sha256) => letters.has(sha256) || deadLetters.has(sha256),
      addDeadLetter: (sha256) => letters.add(sha256),
      setOffset(next) {
        pendingOffset = next;
      },
      counts() {
        const partitionCounts = [...counts];
        let recordCount = images.size;
        countChanges((id, difference) => {
          partitionCounts[partitionOf(id, partitions)]! += difference;
          recordCount += difference;
        });
        return { recordCount, partitionCounts };
      },
      settle(stored) {
        countChanges((id, difference) => {
          counts[partitionOf(id, partitions)]! += difference;
        });
        for (const [id, wire] of changed) {
          if (wire === null) images.delete(id);
          else images.set(id, wire);
        }
        for (const sha256 of letters) deadLetters.add(sha256);
        for (const group of pendingGroups) group.apply();
        offset = pendingOffset;
        if (stored) storedOffset = pendingOffset;
      },
    };
  }

  return {
    get offset() {
      return offset;
    },
    get storedOffset() {
      return storedOffset;
    },
    get recordCount() {
      return images.size;
    },
    get partitionCounts() {
      return counts;
    },
    image: (id) => images.get(id),
    hasDeadLetter: (sha256) => deadLetters.has(sha256),
    begin,
  };
}
