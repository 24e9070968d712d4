import { inSlices } from '../async/slices';
import type { FeedDefinition } from '../feeds/definition';
import { partitionOf } from '../log/partitioner';
import type { Change, VendorRecord } from '../types';
import { GroupIndex, groupTransitions, keyOfGroups, PendingGroups } from './group-index';
import { type ImageStore, stateTooLarge } from './image-store';
import { type ImageDecoder, type KeepOptions, keepImages, type ReadImages } from './kept-images';
import type { SourceOffset } from './source-offset';

/** The state as the log has it. */
export interface RestoredState extends ReadImages {
  readonly offset: SourceOffset;
  readonly deadLetters: Set<string>;
}

export type FeedState = Awaited<ReturnType<typeof feedState>>;

/** The records that have a committed image, by number. */
export type Records = Omit<ImageStore, 'set' | 'delete' | 'setAges' | 'facts' | 'restored' | 'close'>;

/** So many images are taken over without a pause. */
const AT_ONCE = 64;

/**
 * The state of an owned feed: the committed image of each record, the hashes of the dead letters, and the source offset. It moves only
 * when a batch has been committed (`PendingState.settle`). Until then changes live in the pending state, and are dropped with it
 * if the commit fails.
 */
export async function feedState(feed: FeedDefinition, decoder: ImageDecoder, restored: RestoredState) {
  const { images, deadLetters } = restored;
  let { offset } = restored;
  let storedOffset = offset;
  const counts = [...restored.partitionCounts];

  /** Asked for several times in a row: as the newest of its group, and for its rank. */
  let last: { readonly number: number; readonly record: VendorRecord } | null = null;
  function recordOf(number: number): VendorRecord {
    if (last?.number !== number) last = { number, record: decoder.decode(images.imageOf(number)) };
    return last.record;
  }

  const groups = groupTransitions(feed).map(
    (transition) =>
      new GroupIndex(transition, images, recordOf, restored.groups.get(keyOfGroups(transition))),
  );
  const unknown = groups.filter(({ transition }) => !restored.groups.has(keyOfGroups(transition)));
  if (unknown.length > 0) {
    await inSlices(images.stored(), (number) => {
      for (const group of unknown) group.add(number);
    });
  }

  let isClosed = false;
  /** Changes have been taken over only in part: an error came between. */
  let isPartial = false;

  function assertOpen(): void {
    if (isClosed) throw new RangeError(`the state of feed ${feed.name} is closed`);
  }

  function assertRoom(): void {
    if (images.isNearlyFull) throw stateTooLarge(`Feed ${feed.name} has ${images.size} records.`);
  }

  const state = {
    decoder,
    groups,
    records: images as Records,
    get offset(): SourceOffset {
      return offset;
    },
    /** The offset as the log has it; `offset` may be ahead by polls without news. */
    get storedOffset(): SourceOffset {
      return storedOffset;
    },
    get recordCount(): number {
      return images.size;
    },
    /** Size of all images, as the log holds them. */
    get imageBytes(): number {
      return images.bytes;
    },
    /** Rows that are kept because they could not be published. */
    get deadLetterCount(): number {
      return deadLetters.size;
    },
    /** Live images in each partition of the current topic. */
    partitionCounts: (): readonly number[] => counts,
    image: images.get,
    record(id: string): VendorRecord | null {
      const number = images.find(id);
      return number === -1 ? null : recordOf(number);
    },
    /** The second at which the API last showed a record that has an image; null if unknown. */
    seenAt(id: string): number | null {
      const number = images.find(id);
      return number === -1 ? null : images.seenAt(number);
    },
    /** `updated` of about this many records, spread evenly over the feed, from the last to the first. Unix seconds. */
    *sampleSeconds(count: number): IterableIterator<number> {
      for (const number of images.sample(count)) yield recordOf(number).updated;
    },
    hasDeadLetter: (sha256: string): boolean => deadLetters.has(sha256),
    /** @throws HighwaterError STATE_TOO_LARGE, long before an image would find no place */
    assertRoom,
    begin(): PendingState {
      assertRoom();
      return new PendingState(state, null);
    },
    /** As `PendingState.take`, in slices if there are many images. */
    take(changes: PendingState, taken: () => void): Promise<void> | undefined {
      assertOpen();
      isPartial = true;
      for (const [i, group] of groups.entries()) group.detach(changes.groups[i]!.changes);
      const put = ([id, { image, seenAt }]: readonly [string, PendingImage]): void => {
        assertOpen();
        last = null;
        if (image === null) images.delete(id);
        else images.set(id, image, { seenAt });
      };
      const end = (): void => {
        assertOpen();
        for (const [i, group] of groups.entries()) group.attach(changes.groups[i]!.changes);
        for (const [partition, more] of changes.growth.entries()) counts[partition]! += more;
        for (const [sha256, isKept] of changes.deadLetters) {
          if (isKept) deadLetters.add(sha256);
          else deadLetters.delete(sha256);
        }
        const { snapshot_seq } = offset;
        offset = { ...offset, ...changes.moved };
        // A snapshot begins at the last change, or with the feed.
        if (offset.snapshot_seq !== snapshot_seq) images.setAges({ isUnshown: offset.snapshot_seq > 0 });
        // Only a transaction changes its number or the incarnation.
        const { commit, incarnation } = storedOffset;
        if (offset.commit !== commit || offset.incarnation !== incarnation) storedOffset = offset;
        isPartial = false;
        taken();
      };
      if (changes.images.size > AT_ONCE) return inSlices(changes.images, put).then(end);
      for (const image of changes.images) put(image);
      end();
      return undefined;
    },
    /**
     * Ends the state; may be called again. From then on nothing can be settled.
     * @param keep what it takes to go on with these images, if nothing came between; null: they are given up
     */
    async close(keep: KeepOptions | null): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      const { incarnation, commit, owner_epoch } = storedOffset;
      // The log has this state, and no batch that the state does not know.
      const isWhole = !isPartial && commit > 0 && (keep?.end.commit ?? commit) === commit;
      if (keep !== null && isWhole) {
        const chains = new Map(groups.map((group) => [keyOfGroups(group.transition), group.chains]));
        const read = { images, groups: chains, partitionCounts: counts };
        await keepImages(read, { ...offset, incarnation, commit, owner_epoch }, keep);
      }
      images.close();
    },
  };
  return state;
}

interface PendingImage {
  /** Null: removed. */
  readonly image: Buffer | null;
  /** Null: removed. */
  seenAt: number | null;
}

/**
 * Changes that are not committed yet, in a layer over the committed state or over the pending changes of earlier pages. If something
 * fails, the layer is dropped: the layers below do not know of it. It answers like the committed state with these changes.
 */
export class PendingState {
  /** Once they are taken, the map belongs to the layer below. */
  images = new Map<string, PendingImage>();
  /** False: removed. */
  readonly deadLetters = new Map<string, boolean>();
  /** One for each transition with groups. */
  readonly groups: readonly PendingGroups[];
  /** Fields of the source offset. */
  moved: Partial<SourceOffset> = {};
  /** By how many the images of each partition grow. */
  readonly growth: number[];
  private readonly base: FeedState | PendingState;
  private isSettling = false;

  /** @param below null: there is only the committed state */
  constructor(
    private readonly state: FeedState,
    private readonly below: PendingState | null,
  ) {
    this.base = below ?? state;
    this.groups = this.base.groups.map((group) => new PendingGroups(group));
    this.growth = this.base.partitionCounts().map(() => 0);
  }

  get offset(): SourceOffset {
    return { ...this.base.offset, ...this.moved };
  }

  image(id: string): Buffer | undefined {
    const own = this.pending(id);
    return own === undefined ? this.state.image(id) : (own.image ?? undefined);
  }

  record(id: string): VendorRecord | null {
    const own = this.pending(id);
    if (own === undefined) return this.state.record(id);
    return own.image === null ? null : this.state.decoder.decode(own.image);
  }

  isSame(id: string, image: Buffer): boolean {
    const own = this.pending(id);
    return own === undefined ? this.state.records.isSame(id, image) : own.image?.equals(image) === true;
  }

  seenAt(id: string): number | null {
    const own = this.pending(id);
    return own === undefined ? this.state.seenAt(id) : own.seenAt;
  }

  /**
   * The API shows a record that has an image at this second. A touch moves no image, so only this tells where to look for a record.
   * It counts at once, because it is true whether or not the changes are committed.
   */
  see(id: string, updated: number): void {
    const own = this.images.get(id);
    // The base may have taken over the image already.
    if (own === undefined || this.isSettling) (this.below ?? this.state.records).see(id, updated);
    if (own !== undefined && own.seenAt !== null && updated >= own.seenAt) own.seenAt = updated;
  }

  hasDeadLetter(sha256: string): boolean {
    return this.deadLetters.get(sha256) ?? this.base.hasDeadLetter(sha256);
  }

  /** The record has an image from before the latest snapshot began, and has not been shown since, nor is it published now. */
  isUnshown(id: string): boolean {
    return this.pending(id) === undefined && this.state.records.isUnshown(id);
  }

  partitionCounts(): readonly number[] {
    return this.base.partitionCounts().map((count, partition) => count + this.growth[partition]!);
  }

  /** The order of calls matters: later records of a page are compared with the images of earlier records. */
  apply({ id, after, afterRecord, beforeRecord }: Change): void {
    const own = this.pending(id);
    const isLive = own === undefined ? this.state.records.find(id) !== -1 : own.image !== null;
    const more = (after === null ? 0 : 1) - (isLive ? 1 : 0);
    if (more !== 0) this.growth[partitionOf(id, this.growth.length)]! += more;
    // A read of a record that already has an image comes without the record before it.
    const before = beforeRecord ?? (this.groups.length === 0 ? null : this.record(id));
    this.images.set(id, { image: after, seenAt: afterRecord?.updated ?? null });
    for (const group of this.groups) group.move(before, afterRecord, (other) => this.record(other));
  }

  addDeadLetter(sha256: string): void {
    this.deadLetters.set(sha256, true);
  }

  /** From now on the same content is kept again if it comes again. */
  removeDeadLetter(sha256: string): void {
    this.deadLetters.set(sha256, false);
  }

  /** Other fields stay as they are in the layer below. */
  moveOffset(fields: Partial<SourceOffset>): void {
    this.moved = { ...this.moved, ...fields };
  }

  /** A new layer over this one. @throws HighwaterError STATE_TOO_LARGE */
  begin(): PendingState {
    this.state.assertRoom();
    return new PendingState(this.state, this);
  }

  /**
   * Moves all changes to the layer below: many of them to the committed state in slices, anything else at once. Until it is done, this
   * layer still has the changes, so that layers above see all of them, and it takes no others.
   */
  settle(): Promise<void> | undefined {
    this.isSettling = true;
    return this.base.take(this, () => {
      this.images = new Map(); // the old map belongs to the base now
      this.deadLetters.clear();
      for (const { changes } of this.groups) changes.clear();
      this.growth.fill(0);
      this.moved = {};
      this.isSettling = false;
    });
  }

  /**
   * Takes over the changes of a layer above.
   * @param taken is called in the turn in which the last of the changes counts: they are no longer pending then
   */
  take(above: PendingState, taken: () => void): undefined {
    // Takes over the map if possible: most layers settle over an empty layer and have thousands of images.
    if (this.images.size === 0) this.images = above.images;
    else for (const [id, image] of above.images) this.images.set(id, image);
    for (const [sha256, isKept] of above.deadLetters) this.deadLetters.set(sha256, isKept);
    for (const [partition, more] of above.growth.entries()) this.growth[partition]! += more;
    for (const [i, group] of this.groups.entries()) group.take(above.groups[i]!.changes);
    this.moveOffset(above.moved);
    taken();
  }

  /** The change of the record in the nearest layer that has one; undefined: none has. */
  private pending(id: string): PendingImage | undefined {
    return this.images.get(id) ?? this.below?.pending(id);
  }
}
