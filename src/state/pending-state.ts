import { partitionOf } from '../log/partitioner';
import type { Change, VendorRecord } from '../types';
import { type ChangedGroups, type Groups, PendingGroups } from './group-index';
import type { SourceOffset } from './source-offset';

/** The state of a feed: as it is committed, or as pending changes will make it. */
export interface StateView {
  readonly offset: SourceOffset;
  readonly groups: readonly Groups[];
  image(id: string): Buffer | undefined;
  record(id: string): VendorRecord | null;
  hasImage(id: string): boolean;
  /** Whether the record has this image. */
  isSame(id: string, image: Buffer): boolean;
  /** The second at which the API last showed a record that has an image; null if unknown. See `see`. */
  seenAt(id: string): number | null;
  hasDeadLetter(sha256: string): boolean;
  /** The record has an image from before the latest snapshot began, and has not been shown since. */
  isUnshown(id: string): boolean;
  /** Live images in each partition of the current topic. */
  partitionCounts(): readonly number[];
}

/**
 * Changes that are not committed yet, in a layer over the committed state or over the pending changes of earlier pages. If something
 * fails, the layer is dropped: the layers below do not know of it.
 */
export interface PendingState extends StateView {
  /**
   * The API shows a record that has an image at this second. A touch moves no image, so only this tells where to look for a record.
   * It counts at once, because it is true whether or not the changes are committed.
   */
  see(id: string, updated: number): void;
  /** The order of calls matters: later records of a page are compared with the images of earlier records. */
  apply(change: Change): void;
  addDeadLetter(sha256: string): void;
  /** From now on the same content is kept again if it comes again. */
  removeDeadLetter(sha256: string): void;
  /** Other fields stay as they are in the layer below. */
  moveOffset(fields: Partial<SourceOffset>): void;
  /** A new layer over this one. @throws HighwaterError STATE_TOO_LARGE */
  begin(): PendingState;
  /**
   * Moves all changes to the layer below: many of them to the committed state in slices, anything else at once. Until it is done, this
   * layer still has the changes, so that layers above see all of them, and it takes no others.
   */
  settle(): Promise<void> | undefined;
}

/** The changes that a layer moves down when it settles. */
export interface PendingChanges {
  /** Null: removed. Once they are taken, the map belongs to the base. */
  readonly images: Map<string, Buffer | null>;
  /** `updated` of the images that are not removed. */
  readonly seen: Map<string, number>;
  /** False: removed. */
  readonly deadLetters: ReadonlyMap<string, boolean>;
  /** One for each transition with groups. */
  readonly groups: readonly ChangedGroups[];
  readonly offset: Partial<SourceOffset>;
  /** By how many the images of each partition grow. */
  readonly growth: readonly number[];
}

/** A layer that another layer can lie over. */
export interface PendingBase extends StateView {
  /** @throws HighwaterError STATE_TOO_LARGE, long before an image would find no place */
  assertRoom(): void;
  see(id: string, updated: number): void;
  /** @param taken is called in the turn in which the last of the changes counts: they are no longer pending then */
  take(changes: PendingChanges, taken: () => void): Promise<void> | undefined;
}

/** Images as records of the feed's schema. */
export interface ImageDecoder {
  decode(image: Buffer): VendorRecord;
}

export function pendingOver(base: PendingBase, decoder: ImageDecoder): PendingState {
  let images = new Map<string, Buffer | null>();
  let seen = new Map<string, number>();
  const deadLetters = new Map<string, boolean>();
  const groups = base.groups.map((group) => new PendingGroups(group));
  let moved: Partial<SourceOffset> = {};
  const growth = base.partitionCounts().map(() => 0);
  let isSettling = false;

  const layer: PendingState & PendingBase = {
    get offset() {
      return { ...base.offset, ...moved };
    },
    groups,
    image(id) {
      const wire = images.get(id);
      return wire === undefined ? base.image(id) : (wire ?? undefined);
    },
    hasImage(id) {
      const wire = images.get(id);
      return wire === undefined ? base.hasImage(id) : wire !== null;
    },
    isSame(id, image) {
      const wire = images.get(id);
      return wire === undefined ? base.isSame(id, image) : wire?.equals(image) === true;
    },
    seenAt: (id) => (images.has(id) ? (seen.get(id) ?? null) : base.seenAt(id)),
    see(id, updated) {
      const isOwn = images.has(id);
      // The base may have taken over the image already.
      if (!isOwn || isSettling) base.see(id, updated);
      if (isOwn && updated >= seen.get(id)!) seen.set(id, updated);
    },
    record(id) {
      const wire = images.get(id);
      if (wire === undefined) return base.record(id);
      return wire === null ? null : decoder.decode(wire);
    },
    hasDeadLetter: (sha256) => deadLetters.get(sha256) ?? base.hasDeadLetter(sha256),
    // A record that is published is shown.
    isUnshown: (id) => !images.has(id) && base.isUnshown(id),
    partitionCounts: () => base.partitionCounts().map((count, partition) => count + growth[partition]!),
    apply(change) {
      const { id, after } = change;
      const more = (after === null ? 0 : 1) - (layer.hasImage(id) ? 1 : 0);
      if (more !== 0) growth[partitionOf(id, growth.length)]! += more;
      const { afterRecord } = change;
      // A read of a record that already has an image comes without the record before it.
      const before = change.beforeRecord ?? (groups.length === 0 ? null : layer.record(id));
      images.set(id, after);
      if (afterRecord === null) seen.delete(id);
      else seen.set(id, afterRecord.updated);
      for (const group of groups) group.move(before, afterRecord, layer.record);
    },
    addDeadLetter(sha256) {
      deadLetters.set(sha256, true);
    },
    removeDeadLetter(sha256) {
      deadLetters.set(sha256, false);
    },
    moveOffset(fields) {
      moved = { ...moved, ...fields };
    },
    take(changes, taken) {
      // Takes over the map if possible: most layers settle over an empty layer and have thousands of images.
      if (images.size === 0) images = changes.images;
      else for (const [id, wire] of changes.images) images.set(id, wire);
      if (seen.size === 0) seen = changes.seen;
      else for (const [id, updated] of changes.seen) seen.set(id, updated);
      for (const [sha256, isKept] of changes.deadLetters) deadLetters.set(sha256, isKept);
      for (const [partition, more] of changes.growth.entries()) growth[partition]! += more;
      for (const [i, group] of groups.entries()) group.take(changes.groups[i]!);
      layer.moveOffset(changes.offset);
      taken();
      return undefined;
    },
    assertRoom: () => base.assertRoom(),
    begin() {
      base.assertRoom();
      return pendingOver(layer, decoder);
    },
    settle() {
      isSettling = true;
      const changed = groups.map(({ changes }) => changes);
      return base.take({ images, seen, deadLetters, groups: changed, offset: moved, growth }, () => {
        images = new Map(); // the old map belongs to the base now
        seen = new Map();
        deadLetters.clear();
        for (const group of changed) group.clear();
        growth.fill(0);
        moved = {};
        isSettling = false;
      });
    },
  };
  return layer;
}
