import { inSlices } from '../async/slices';
import type { FeedDefinition, LatestInGroupTransition } from '../feeds/definition';
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
  /** The second at which the API last showed the record to this owner; null when that is not known. */
  seenAt(id: string): number | null;
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
  readonly deadLetters: Set<string>;
  /** Live images in each partition of the current topic. */
  readonly partitionCounts: readonly number[];
}

export async function feedState(
  feed: FeedDefinition,
  decoder: ImageDecoder,
  restored: RestoredState,
): Promise<FeedState> {
  const { images, deadLetters } = restored;
  let { offset } = restored;
  let storedOffset = offset;
  const counts = [...restored.partitionCounts];

  const lookup = (id: string): VendorRecord | null => {
    const wire = images.get(id);
    return wire === undefined ? null : decoder.decode(wire);
  };
  const groups = feed.transitions
    .filter((transition): transition is LatestInGroupTransition => transition.kind === 'latest-in-group')
    .map(groupIndex);
  if (groups.length > 0) {
    await inSlices(images.ids(), (id) => {
      const record = lookup(id);
      for (const group of groups) moveRecord(group, null, record, lookup);
    });
  }

  const base: PendingBase = {
    get offset() {
      return offset;
    },
    groups,
    image: images.get,
    hasImage: images.has,
    seenAt: images.seenAt,
    see: images.see,
    hasDeadLetter: (sha256) => deadLetters.has(sha256),
    isUnshown: (id) => images.seqOf(id) <= offset.snapshot_seq,
    counts: () => ({ recordCount: images.size, partitionCounts: counts }),
    take(changes) {
      const seq = changes.offset.seq ?? offset.seq;
      for (const [id, wire] of changes.images) {
        if (wire === null) images.delete(id);
        else images.set(id, wire, seq);
      }
      for (const [id, updated] of changes.seen) images.see(id, updated);
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
    seenAt: images.seenAt,
    ids: images.ids,
    hasDeadLetter: base.hasDeadLetter,
    get deadLetterCount() {
      return deadLetters.size;
    },
    isOutOfScope: (id) => images.seqOf(id) <= offset.scope_seq,
    begin: () => pendingOver(base, decoder),
  };
}
