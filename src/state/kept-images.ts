import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { FeedCodec } from '../avro/codec/feed-codec';
import type { SchemaRegistry } from '../avro/registry/registry';
import type { Feed } from '../feeds/feed';
import type { FeedTopics, TopicEnd } from '../log/commit-log';
import type { VendorRecord } from '../types';
import type { Column } from './column';
import { GroupChains, groupTransitions, keyOfGroups } from './group-index';
import type { HashFacts } from './hash-index';
import type { KeptImages } from './image-file';
import { type ImageStore, imageStore, type StoreFacts } from './image-store';
import type { SourceOffset } from './source-offset';

/** The images of a feed as far as the log has been read, and what follows from them. */
export interface ReadImages {
  readonly images: ImageStore;
  /** By `keyOfGroups`. Groups that are not there must be made from all images. */
  readonly groups: Map<string, GroupChains>;
  /** Live images in each partition of the current topic. */
  readonly partitionCounts: number[];
}

/** Images as records of the feed's schema. */
export interface ImageDecoder {
  decode(image: Buffer): VendorRecord;
}

/** What it takes to read images. */
export interface Reading {
  readonly feed: Feed;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  /** For images of all schemas that the codec knows. */
  readonly decoder: ImageDecoder;
  readonly registry: SchemaRegistry;
}

/** Raise it with each change of hashes, flags, entries, groups and their ranks: a table of another form is not used. */
const FORM = 2;

/** What a table says of the state that it holds. */
export interface KeptFacts {
  /** The topic of the images, and how far they have been read from it or written to it. */
  readonly topic: string;
  readonly end: TopicEnd;
  readonly incarnation: string;
  /** The last batch, and the ownership that committed it. */
  readonly commit: number;
  readonly ownerEpoch: string;
  /** As in the source offset: the ages of the images go by them. */
  readonly snapshotSeq: number;
  readonly scopeSeq: number;
  readonly partitionCounts: readonly number[];
  /** Schema by which the groups were read from the images. */
  readonly schemaId: number;
  readonly store: StoreFacts;
  /** By `keyOfGroups`. */
  readonly groups: readonly { readonly transition: string; readonly facts: HashFacts }[];
}

export type KeepOptions = Pick<KeptFacts, 'topic' | 'end' | 'schemaId'>;

/**
 * Keeps images as they are for the next owner in this folder, if they are in a file.
 * @param offset the source offset that they go with
 */
export async function keepImages(
  { images, groups, partitionCounts }: ReadImages,
  offset: SourceOffset,
  { topic, end, schemaId }: KeepOptions,
): Promise<void> {
  const store = images.facts();
  if (store === null) return;
  const facts = {
    ...{ topic, end, schemaId, store, partitionCounts },
    incarnation: offset.incarnation,
    commit: offset.commit,
    ownerEpoch: offset.owner_epoch,
    snapshotSeq: offset.snapshot_seq,
    scopeSeq: offset.scope_seq,
    groups: Array.from(groups, ([transition, { heads }]) => ({ transition, facts: heads.facts() })),
  };
  await images.keep(tableOf(facts, columnsOf(images, groups)));
}

export interface GoingOn extends Reading {
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
  const groups: ReadImages['groups'] = new Map();
  try {
    const facts = await readTable(table, { images, groups }, goingOn).finally(() => table.close());
    // Read from the log they take less room.
    if (images.isNearlyFull) throw new RangeError('they take nearly all of the pieces that there can be');
    try {
      for (const id of images.writers.keys())
        if (!codec.image.knowsWriter(id)) codec.image.addWriter(id, await registry.schemaById(id));
    } catch (error) {
      await images.keep(tableOf(facts, columnsOf(images, groups)));
      throw error;
    }
    // Other fields may make other groups. Groups of transitions that the feed has no longer would not follow the log.
    const present = facts.schemaId === codec.image.schemaId ? groupTransitions(feed).map(keyOfGroups) : [];
    for (const key of groups.keys()) if (!present.includes(key)) groups.delete(key);
    return { images, groups, partitionCounts: [...facts.partitionCounts], end: facts.end };
  } catch (error) {
    images.close();
    throw error;
  }
}

/** Reads a table into a store and groups that are empty. @throws RangeError if it is of another state */
async function readTable(
  table: FileHandle,
  { images, groups }: Pick<ReadImages, 'images' | 'groups'>,
  goingOn: GoingOn,
): Promise<KeptFacts> {
  const { facts, readColumns } = await openTable(table);
  const offset = fittingOffset(facts, goingOn);
  for (const { transition } of facts.groups) groups.set(transition, new GroupChains());
  await readColumns(columnsOf(images, groups));
  images.restored(facts.store);
  for (const { transition, facts: heads } of facts.groups) groups.get(transition)!.heads.restored(heads);
  // All of them are from before a snapshot or a scope that has begun since.
  if (facts.snapshotSeq < offset.snapshot_seq) images.setAges({ isUnshown: true });
  if (facts.scopeSeq < offset.scope_seq) images.setAges({ isOutOfScope: true });
  return facts;
}

/** @returns the source offset. @throws RangeError if the table is of another state */
function fittingOffset(facts: KeptFacts, { offset, topics, topicId }: GoingOn): SourceOffset {
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
  return offset;
}

/** In the order in which a table has them. */
function columnsOf(images: ImageStore, groups: ReadImages['groups']): Column[] {
  return [...images.columns, ...[...groups.values()].flatMap(({ columns }) => columns)];
}

/** A number of 32 bits: size or checksum. */
const NUMBER_BYTES = 4;

/** A table: one after the other, the size of the facts, the facts, the columns, and a checksum of all that. */
export function* tableOf(facts: KeptFacts, columns: readonly Column[]): Generator<Uint8Array> {
  const pieces = columns.map((column) => column.pieces);
  const header = Buffer.from(JSON.stringify({ form: FORM, facts, pieces }));
  let checksum = 0;
  const summed = (bytes: Uint8Array): Uint8Array => {
    checksum = crc32(bytes, checksum);
    return bytes;
  };
  yield summed(number(header.length));
  yield summed(header);
  for (const column of columns) for (let i = 0; i < column.pieces; i++) yield summed(column.piece(i));
  yield number(checksum);
}

/**
 * Begins to read a table.
 * @returns its facts, and what reads its columns, in the order in which they were written
 * @throws RangeError for a table that is not whole, or of another form
 */
export async function openTable(file: FileHandle) {
  let checksum = 0;
  const read = async <B extends Uint8Array>(bytes: B): Promise<B> => {
    for (let done = 0; done < bytes.length; ) {
      const { bytesRead } = await file.read(bytes, done, bytes.length - done, null);
      if (bytesRead === 0) throw new RangeError('the table is cut');
      done += bytesRead;
    }
    checksum = crc32(bytes, checksum);
    return bytes;
  };
  const { size } = await file.stat();
  const length = (await read(Buffer.alloc(NUMBER_BYTES))).readUInt32LE();
  if (length > size) throw new RangeError('the table is damaged');
  const { form, facts, pieces } = JSON.parse((await read(Buffer.alloc(length))).toString());
  if (form !== FORM) throw new RangeError(`another version wrote the table (form ${form}, not ${FORM})`);
  return {
    facts: facts as KeptFacts,
    async readColumns(columns: readonly Column[]): Promise<void> {
      for (const [i, column] of columns.entries())
        for (let piece = 0; piece < pieces[i]; piece++) await read(column.piece(piece));
      const expected = checksum;
      if ((await read(Buffer.alloc(NUMBER_BYTES))).readUInt32LE() !== expected)
        throw new RangeError('the table is damaged');
    },
  };
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeUInt32LE(value);
  return bytes;
}
