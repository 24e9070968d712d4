import type { Feed } from '../feeds/feed';
import type { FeedTopics, TopicEnd } from '../log/commit-log';
import { GroupChains, groupTransitions, keyOfGroups } from './group-index';
import type { KeptImages } from './image-file';
import { imageStore } from './image-store';
import { type KeptFacts, readTable, writeTable } from './kept-table';
import type { ReadImages, ReadingImages } from './read-images';
import type { SourceOffset } from './source-offset';

export interface KeepOptions {
  /** The topic of the images, and how far they have been read from it or written to it. */
  readonly topic: string;
  readonly end: TopicEnd;
  /** Schema by which the groups were read from the images. */
  readonly schemaId: number;
}

/**
 * Keeps images as they are for the next owner in this folder, if they are in a file.
 * @param offset the source offset that they go with
 */
export async function keepImages(
  { images, file, groups, partitionCounts }: ReadImages,
  offset: SourceOffset,
  { topic, end, schemaId }: KeepOptions,
): Promise<void> {
  const store = images.table.facts();
  if (store === null) return;
  const facts = {
    ...{ topic, end, schemaId, store, partitionCounts },
    incarnation: offset.incarnation,
    commit: offset.commit,
    ownerEpoch: offset.owner_epoch,
    snapshotSeq: offset.snapshot_seq,
    scopeSeq: offset.scope_seq,
    groups: Array.from(groups, ([transition, { table }]) => ({ transition, facts: table.facts() })),
  };
  const tables = [images.table, ...Array.from(groups.values(), ({ table }) => table)];
  await file.keep((table) => writeTable(table, facts, tables));
}

export interface GoingOn extends ReadingImages {
  readonly feed: Feed;
  readonly topics: FeedTopics;
  /** The id of the topic that holds the images, as `TopicEnd.topicId`. */
  readonly topicId: string | null;
  /** As the log has it now. */
  readonly offset: SourceOffset | null;
}

/**
 * The images that were kept. Later records of the log, and their counts, must show that they fit (`docs/decisions/0025`).
 * @throws RangeError if they are of another state: they are then gone; HighwaterError REGISTRY_*, SCHEMA_UNKNOWN: they are kept for the
 * next try
 */
export async function readKept(
  { table, file }: KeptImages,
  goingOn: GoingOn,
): Promise<ReadImages & { readonly end: TopicEnd }> {
  const { feed, codec, registry } = goingOn;
  const images = imageStore(file);
  try {
    const { facts, groups, tables } = await readTable(table, (found) =>
      tableFor(found, images, goingOn),
    ).finally(() => table.close());
    // Read from the log they take less room.
    if (images.isNearlyFull) throw new RangeError('they take nearly all of the pieces that there can be');
    try {
      for (const id of images.writers.keys())
        if (!codec.image.knowsWriter(id)) codec.image.addWriter(id, await registry.schemaById(id));
    } catch (error) {
      await file.keep((again) => writeTable(again, facts, tables));
      throw error;
    }
    // Other fields may make other groups. Groups of transitions that the feed has no longer would not follow the log.
    const present = facts.schemaId === codec.image.schemaId ? groupTransitions(feed).map(keyOfGroups) : [];
    for (const key of groups.keys()) if (!present.includes(key)) groups.delete(key);
    return { images, file, groups, partitionCounts: [...facts.partitionCounts], end: facts.end };
  } catch (error) {
    images.close();
    throw error;
  }
}

/** The store and the groups that a table is read into. @throws RangeError if it is of another state */
function tableFor(facts: KeptFacts, images: ReadImages['images'], { offset, topics, topicId }: GoingOn) {
  const { topic, end, incarnation, commit, ownerEpoch, snapshotSeq, scopeSeq } = facts;
  // Before the registry is asked: a copy of the log may have another one, where the same ids are other schemas, or none.
  if (topic !== topics.current.name || end.topicId !== topicId || incarnation !== offset?.incarnation)
    throw new RangeError(
      `they are those of incarnation ${incarnation} in topic ${topic} with the id ${end.topicId}`,
    );
  // The log has lost records, or is a copy from before.
  if (commit > offset.commit || (commit === offset.commit && ownerEpoch !== offset.owner_epoch))
    throw new RangeError(`they are of commit ${commit}, and the source offset is of commit ${offset.commit}`);
  // The next batch would have told the log of them, and there was none.
  if (snapshotSeq > offset.snapshot_seq || scopeSeq > offset.scope_seq)
    throw new RangeError('they are of another scope, or of a snapshot that the log does not know');
  const groups = new Map(facts.groups.map(({ transition }) => [transition, new GroupChains()]));
  const chains = [...groups.values()].map(({ table }) => table);
  return {
    ...{ facts, groups },
    tables: [images.table, ...chains],
    restored() {
      images.table.restored(facts.store);
      for (const [i, table] of chains.entries()) table.restored(facts.groups[i]!.facts);
      // All of them are from before a snapshot or a scope that has begun since.
      if (snapshotSeq < offset.snapshot_seq) images.setAges({ isUnshown: true });
      if (scopeSeq < offset.scope_seq) images.setAges({ isOutOfScope: true });
    },
  };
}
