import type { FeedDefinition, LatestInGroupTransition } from '../feeds/definition';
import { partitionOf } from '../log/partitioner';
import type { VendorRecord } from '../types';
import { groupIndex, moveRecord } from './group-index';
import type { ImageStore } from './image-store';
import { type ImageDecoder, type PendingBase, type PendingState, pendingOver } from './pending-state';
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
  /** Of all images, as the log holds them. */
  readonly imageBytes: number;
  /** Live images in each partition of the current topic. */
  readonly partitionCounts: readonly number[];
  image(id: string): Buffer | undefined;
  ids(): IterableIterator<string>;
  hasDeadLetter(sha256: string): boolean;
  /** Rows that are kept because they could not be published. */
  readonly deadLetterCount: number;
  /** The record has not been shown since what is asked of the API last changed: nothing says that it still would be. */
  isOutOfScope(id: string): boolean;
  begin(): PendingState;
}

/** What restore has read of the log. */
export interface RestoredState {
  readonly offset: SourceOffset;
  readonly images: ImageStore;
  /** seq of the change that wrote an image, of those not younger than the latest snapshot. */
  readonly unshown: Map<string, number>;
  readonly deadLetters: Set<string>;
  /** Of the current topic. */
  readonly partitions: number;
}

export function feedState(feed: FeedDefinition, decoder: ImageDecoder, restored: RestoredState): FeedState {
  const { images, unshown, deadLetters, partitions } = restored;
  let { offset } = restored;
  let storedOffset = offset;
  const counts: number[] = new Array(partitions).fill(0);
  for (const id of images.ids()) counts[partitionOf(id, partitions)]!++;

  const lookup = (id: string): VendorRecord | null => {
    const wire = images.get(id);
    return wire === undefined ? null : decoder.decode(wire);
  };
  const groups = feed.transitions
    .filter((transition): transition is LatestInGroupTransition => transition.kind === 'latest-in-group')
    .map(groupIndex);
  if (groups.length > 0) {
    for (const id of images.ids()) {
      const record = lookup(id);
      for (const group of groups) moveRecord(group, null, record, lookup);
    }
  }

  const base: PendingBase = {
    get offset() {
      return offset;
    },
    groups,
    image: images.get,
    hasImage: images.has,
    hasDeadLetter: (sha256) => deadLetters.has(sha256),
    isUnshown: (id) => unshown.has(id),
    counts: () => ({ recordCount: images.size, partitionCounts: counts }),
    take(changes) {
      // All that is there now was there before the snapshot that begins.
      if ((changes.offset.snapshot_seq ?? 0) > offset.snapshot_seq)
        for (const id of images.ids()) unshown.set(id, unshown.get(id) ?? offset.seq);
      for (const [id, wire] of changes.images) {
        unshown.delete(id);
        if (wire === null) images.delete(id);
        else images.set(id, wire);
      }
      for (const [partition, more] of changes.growth.entries()) counts[partition]! += more;
      for (const [sha256, isKept] of changes.deadLetters) {
        if (isKept) deadLetters.add(sha256);
        else deadLetters.delete(sha256);
      }
      offset = { ...offset, ...changes.offset };
      // Its number moves with each transaction, and only then.
      const { commit, incarnation } = storedOffset;
      if (offset.commit !== commit || offset.incarnation !== incarnation) storedOffset = offset;
    },
  };

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
    get imageBytes() {
      return images.bytes;
    },
    get partitionCounts() {
      return counts;
    },
    image: base.image,
    ids: images.ids,
    hasDeadLetter: base.hasDeadLetter,
    get deadLetterCount() {
      return deadLetters.size;
    },
    isOutOfScope: (id) => (unshown.get(id) ?? Number.POSITIVE_INFINITY) <= offset.scope_seq,
    begin: () => pendingOver(base, decoder),
  };
}
