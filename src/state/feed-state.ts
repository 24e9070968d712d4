import { inSlices } from '../async/slices';
import type { FeedDefinition } from '../feeds/definition';
import type { TopicEnd } from '../log/commit-log';
import type { VendorRecord } from '../types';
import { GroupIndex, groupTransitions, keyOfGroups } from './group-index';
import { type ImageStore, stateTooLarge } from './image-store';
import { type KeepOptions, keepImages } from './kept-images';
import {
  type ImageDecoder,
  type PendingBase,
  type PendingState,
  pendingOver,
  type StateView,
} from './pending-state';
import type { ReadImages } from './read-images';
import type { SourceOffset } from './source-offset';

/**
 * The state of an owned feed: the committed image of each record, the hashes of the dead letters, and the source offset. It moves only
 * when a batch has been committed (`PendingState.settle`). Until then changes live in the pending state, and are dropped with it
 * if the commit fails.
 */
export interface FeedState extends Pick<StateView, 'offset' | 'image' | 'seenAt' | 'hasDeadLetter'> {
  /** The offset as the log has it; `offset` may be ahead by polls without news. */
  readonly storedOffset: SourceOffset;
  readonly recordCount: number;
  /** Size of all images, as the log holds them. */
  readonly imageBytes: number;
  /** Rows that are kept because they could not be published. */
  readonly deadLetterCount: number;
  readonly records: Records;
  /** @throws HighwaterError STATE_TOO_LARGE */
  begin(): PendingState;
  /**
   * Ends the state; may be called again. From then on nothing can be settled.
   * @param keep what it takes to go on with these images, if nothing came between; null: they are given up
   */
  close(keep: KeepOptions | null): Promise<void>;
}

/** So many images are taken over without a pause. */
const AT_ONCE = 64;

/** The records that have a committed image, by number. The methods are those of `ImageStore`. */
export type Records = Pick<
  ImageStore,
  | 'find'
  | 'forgetWitnessed'
  | 'idOf'
  | 'imageOf'
  | 'isOutOfScope'
  | 'isWitnessed'
  | 'numbers'
  | 'seenAt'
  | 'stored'
  | 'witness'
>;

/** The state as the log has it. */
export interface RestoredState extends ReadImages {
  readonly offset: SourceOffset;
  readonly deadLetters: Set<string>;
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

  /** Asked for several times in a row: as the newest of its group, and for its rank. */
  let last: { readonly number: number; readonly record: VendorRecord } | null = null;
  const records = {
    find: images.find,
    idOf: images.idOf,
    record(number: number): VendorRecord {
      if (last?.number !== number) last = { number, record: decoder.decode(images.imageOf(number)) };
      return last.record;
    },
  };
  const transitions = groupTransitions(feed);
  const chains = transitions.map((transition) => restored.groups.get(keyOfGroups(transition)));
  const groups = transitions.map((transition, i) => new GroupIndex(transition, records, chains[i]));
  const unknown = groups.filter((_, i) => chains[i] === undefined);
  if (unknown.length > 0) {
    await inSlices(images.stored(), (number) => {
      for (const group of unknown) group.add(number);
    });
  }

  let isClosed = false;
  /** Changes have been taken over only in part: an error came between. */
  let isPartial = false;

  /** The log has this state, and no batch that the state does not know. */
  function isAt({ commit }: TopicEnd): boolean {
    return storedOffset.commit > 0 && (commit ?? storedOffset.commit) === storedOffset.commit;
  }

  function assertOpen(): void {
    if (isClosed) throw new RangeError(`the state of feed ${feed.name} is closed`);
  }

  const state: FeedState & PendingBase = {
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
    get deadLetterCount() {
      return deadLetters.size;
    },
    groups,
    records: images,
    async close(keep) {
      if (isClosed) return;
      isClosed = true;
      if (keep !== null && !isPartial && isAt(keep.end)) {
        const { incarnation, commit, owner_epoch } = storedOffset;
        const chainsOf = groups.map((group) => [keyOfGroups(group.transition), group.chains] as const);
        const read = { ...restored, partitionCounts: counts, groups: new Map(chainsOf) };
        await keepImages(read, { ...offset, incarnation, commit, owner_epoch }, keep);
      }
      images.close();
    },
    image: images.get,
    record(id) {
      const number = images.find(id);
      return number === -1 ? null : records.record(number);
    },
    hasImage: (id) => images.find(id) !== -1,
    isSame: images.isSame,
    seenAt(id) {
      const number = images.find(id);
      return number === -1 ? null : images.seenAt(number);
    },
    see: images.see,
    hasDeadLetter: (sha256) => deadLetters.has(sha256),
    isUnshown: images.isUnshown,
    partitionCounts: () => counts,
    take(changes, taken) {
      assertOpen();
      isPartial = true;
      for (const [i, group] of groups.entries()) group.detach(changes.groups[i]!);
      const put = ([id, wire]: readonly [string, Buffer | null]): void => {
        assertOpen();
        last = null;
        if (wire === null) images.delete(id);
        else images.set(id, wire, { seenAt: changes.seen.get(id) ?? null });
      };
      const end = (): void => {
        assertOpen();
        for (const [i, group] of groups.entries()) group.attach(changes.groups[i]!);
        for (const [partition, more] of changes.growth.entries()) counts[partition]! += more;
        for (const [sha256, isKept] of changes.deadLetters) {
          if (isKept) deadLetters.add(sha256);
          else deadLetters.delete(sha256);
        }
        const { snapshot_seq } = offset;
        offset = { ...offset, ...changes.offset };
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
    assertRoom() {
      if (images.isNearlyFull) throw stateTooLarge(`Feed ${feed.name} has ${images.size} records.`);
    },
    begin() {
      state.assertRoom();
      return pendingOver(state, decoder);
    },
  };
  return state;
}
