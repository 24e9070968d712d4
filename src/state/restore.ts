import { isDeepStrictEqual } from 'node:util';
import { createBreather } from '../async/slices';
import type { FeedCodec } from '../avro/codec/feed-codec';
import { readSchemaId } from '../avro/codec/wire';
import type { WireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { Feed } from '../feeds/feed';
import type { FeedSession, FeedTopics, LogRecord, TopicEnd } from '../log/commit-log';
import type { Logger } from '../logging/logger';
import type { RestoredState } from './feed-state';
import { GroupChains } from './group-index';
import { type ImageFile, imageFiles, type KeptImages } from './image-file';
import { type ImageStore, imageStore } from './image-store';
import { type KeptFacts, readTable } from './kept-table';
import { firstSourceOffset, newIncarnation, type SourceOffset } from './source-offset';

export interface RestoreDeps {
  readonly session: FeedSession;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  readonly registry: SchemaRegistry;
  readonly logger: Logger;
  /** Folder for the images; null: they stay in memory. */
  readonly stateDir: string | null;
  /** Fingerprint of the feed's present scope. */
  readonly scope: string;
  /** Called now and then while the images are read, and at the end. */
  readonly onRestore?: (feed: string, progress: RestoreProgress) => void;
}

/** How many images have been read back. */
export interface RestoreProgress {
  /** Records that have an image by now. */
  readonly images: number;
  /** Records that will have an image, as the source offset counts them. */
  readonly of: number;
  /** Records of the log that were read: a key may have had several. */
  readonly records: number;
  readonly isDone: boolean;
}

/** A hundred thousand images are read in a second, so only some are reported. */
const TELL_EVERY = 1_000;

/**
 * Reads a feed's state back: source offset and dead letters from the log; the images from what was kept in the folder, and the records of
 * the log since then. If nothing was kept, or it does not fit, all images come from the log. The codec learns every schema that wrote an
 * image. A feed without state begins a new incarnation. If the scope has changed, all records are read again. Records in the new scope
 * come as `r` or `u`. Other records stay, because nothing proves that they are gone. (A feed that began without a snapshot continues
 * from where it was.)
 *
 * @throws HighwaterError STATE_DAMAGED if the images do not match the source offset
 */
export async function restore(feed: Feed, deps: RestoreDeps, signal: AbortSignal): Promise<RestoredState> {
  const { session, topics, logger } = deps;
  const stored = await restoreOffset(feed, deps, signal);
  const offset = stored === null ? null : inScope(stored, feed, deps.scope);
  const restoring: Restoring = { ...deps, feed, offset, signal };
  const files = imageFiles(deps.stateDir, topics.current.name, feed.name, logger);
  const kept = await files.take();
  const images =
    (kept === null ? null : await fromKept(kept, restoring)) ?? (await fromLog(files.open(), restoring));
  try {
    const deadLetters = new Set<string>();
    for await (const { key, value } of session.restore(topics.deadLetters.name, signal)) {
      if (value === null) deadLetters.delete(key);
      else deadLetters.add(key);
    }
    return { ...images, offset: offset ?? newOffset(feed, deps.scope, Date.now()), deadLetters };
  } catch (error) {
    images.images.close();
    throw error;
  }
}

interface Restoring extends RestoreDeps {
  readonly feed: Feed;
  readonly offset: SourceOffset | null;
  readonly signal: AbortSignal;
}

type RestoredImages = Pick<RestoredState, 'file' | 'images'> & {
  readonly groups: Map<string, GroupChains>;
  readonly partitionCounts: number[];
};

async function fromLog(file: ImageFile, restoring: Restoring): Promise<RestoredImages> {
  const { session, topics } = restoring;
  const images = imageStore(file);
  const partitionCounts: number[] = new Array(session.partitionsOf(topics.current.name)).fill(0);
  const restored = { images, file, partitionCounts, groups: new Map() };
  try {
    await readImages(restored, restoring);
    return restored;
  } catch (error) {
    images.close();
    throw error;
  }
}

/**
 * The counts prove that it fits: records that were changed since are in the log, and a record that was deleted since, whose tombstone is
 * gone, is one too many.
 * @returns null: it does not fit
 */
async function fromKept({ table, file }: KeptImages, restoring: Restoring): Promise<RestoredImages | null> {
  const { feed, logger, signal, codec, registry } = restoring;
  const images = imageStore(file);
  try {
    const read = await readTable(table, (facts) => tableFor(facts, images, restoring)).finally(() =>
      table.close(),
    );
    const { facts, groups } = read;
    // Read from the log they take less room.
    if (images.isNearlyFull) throw new RangeError('they take nearly all of the pieces that there can be');
    for (const id of images.writers.keys())
      if (!codec.image.knowsWriter(id)) codec.image.addWriter(id, await registry.schemaById(id));
    const restored = { images, file, groups, partitionCounts: [...facts.partitionCounts] };
    const changes = await readImages(restored, restoring, facts.end);
    const told = { feed: feed.name, records: images.size, changes };
    logger.debug(`Feed ${feed.name} goes on with the images that it kept.`, told);
    // The groups were not told of the changes, or other fields may make the groups.
    if (changes > 0 || facts.schemaId !== codec.image.schemaId) groups.clear();
    return restored;
  } catch (error) {
    images.close();
    signal.throwIfAborted();
    const { message } = error as Error;
    logger.info(`The kept images of feed ${feed.name} are not used, and the log is read: ${message}`, {
      feed: feed.name,
    });
    return null;
  }
}

/** The store and the groups that a table is read into. @throws RangeError if it is of another state */
function tableFor(facts: KeptFacts, images: ImageStore, { offset, topics }: Restoring) {
  const { topic, incarnation, commit, ownerEpoch, snapshotSeq, scopeSeq } = facts;
  if (topic !== topics.current.name || incarnation !== offset?.incarnation)
    throw new RangeError(`they are those of incarnation ${incarnation} in topic ${topic}`);
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

/**
 * Reads images from the log, and checks that they are those of the source offset.
 * @param after where the images end; left out: there are none yet
 * @returns how many records were read
 * @throws HighwaterError STATE_DAMAGED; as `FeedSession.restore`
 */
async function readImages(
  { images, partitionCounts: counts }: RestoredImages,
  restoring: Restoring,
  after?: TopicEnd,
): Promise<number> {
  const { feed, offset, session, topics, codec, signal } = restoring;
  /** Images of another incarnation that no later record has overwritten or removed yet. */
  const foreign = new Map<string, LogRecord>();
  const breather = createBreather();
  let records = 0;
  const tell = (isDone: boolean) =>
    restoring.onRestore?.(feed.name, { images: images.size, of: offset?.record_count ?? 0, records, isDone });
  tell(false);
  for await (const record of session.restore(topics.current.name, signal, after)) {
    records += 1;
    if (records % TELL_EVERY === 0) tell(false);
    const { key, value, partition } = record;
    const difference = (value === null ? 0 : 1) - (images.find(key) === -1 ? 0 : 1);
    counts[partition] = (counts[partition] ?? 0) + difference;
    foreign.delete(key);
    if (value === null) {
      images.delete(key);
      continue;
    }
    if (record.headers.incarnation !== offset?.incarnation) foreign.set(key, record);
    // Checked before the await, because nearly all writers are known and each await would cost a promise.
    if (!codec.image.knowsWriter(writerOf(record))) await learnWriter(codec.image, record, restoring);
    const seq = Number(record.headers.seq);
    images.set(key, value, {
      isUnshown: seq <= (offset?.snapshot_seq ?? 0),
      isOutOfScope: seq <= (offset?.scope_seq ?? 0),
    });
    if (breather.isDue()) await breather.breathe();
  }
  tell(true);
  for (const record of foreign.values()) throw foreignImage(feed, record, offset);
  // If the topic was lost, cut or repartitioned, missing records would be published as created, or out of order.
  if (offset !== null && !isDeepStrictEqual(counts, [...offset.partition_counts])) {
    throw otherImages(topics.current.name, counts, offset);
  }
  return records;
}

async function restoreOffset(
  feed: FeedDefinition,
  deps: RestoreDeps,
  signal: AbortSignal,
): Promise<SourceOffset | null> {
  const { session, topics, codec } = deps;
  let offset: SourceOffset | null = null;
  for await (const record of session.restore(topics.sourceOffset.name, signal)) {
    if (record.key !== feed.name || record.value === null) continue;
    if (!codec.sourceOffset.knowsWriter(writerOf(record)))
      await learnWriter(codec.sourceOffset, record, deps);
    offset = codec.sourceOffset.decode(record.value);
  }
  return offset;
}

/**
 * The first offset of a feed without state: a new incarnation with a snapshot to read. A feed without a snapshot begins at this second
 * of the own clock. The first answer tells the server's clock and sets the mark (`pipeline/scan/beginning.ts`).
 */
export function newOffset(feed: Feed, scope: string, nowMs: number): SourceOffset {
  const offset = firstSourceOffset(feed.name, newIncarnation(), scope);
  if (feed.snapshotMode === 'initial') return offset;
  return { ...offset, snapshot: 'complete', begins_at: Math.floor(nowMs / 1000) };
}

function inScope(offset: SourceOffset, feed: Feed, scope: string): SourceOffset {
  if (offset.scope === scope) return offset;
  const { incarnation, owner, owner_epoch, commit, seq, record_count, partition_counts, paused, ts_ms } =
    offset;
  const kept = { owner, owner_epoch, commit, seq, record_count, partition_counts, paused, ts_ms };
  const since = { scope_seq: seq, scope_since_ms: Date.now(), snapshot_seq: seq };
  const anew = { ...firstSourceOffset(feed.name, incarnation, scope), ...kept, ...since };
  const { snapshot, snapshot_completed_ms, high_water_mark } = offset;
  if (feed.snapshotMode === 'initial' || snapshot !== 'complete') return anew;
  // Records of the new scope from before the mark are unknown, like all records when the feed began.
  const begins_at = Math.max(offset.begins_at, high_water_mark);
  return { ...anew, snapshot, snapshot_completed_ms, high_water_mark, begins_at };
}

/** Id of the schema that the record's value was written with. */
function writerOf({ topic, key, value }: LogRecord): number {
  try {
    return readSchemaId(value!);
  } catch (cause) {
    const what = `Topic ${topic} holds a value, of key ${key}, that highwater did not write: it is ${(cause as Error).message}.`;
    throw new HighwaterError('STATE_DAMAGED', what, { cause });
  }
}

/** Another version of the project may have written the record by another schema. */
async function learnWriter<T>(type: WireType<T>, record: LogRecord, deps: RestoreDeps): Promise<void> {
  const id = writerOf(record);
  type.addWriter(id, await deps.registry.schemaById(id));
}

function otherImages(topic: string, counts: readonly number[], offset: SourceOffset): HighwaterError {
  const { feed, record_count, partition_counts } = offset;
  const found = counts.reduce((sum, count) => sum + count, 0);
  let what = `but the source offset of feed ${feed} counts ${record_count} (${partition_counts.join(' + ')})`;
  // `copyFeeds` counts only at its end.
  const isHalfCopy = partition_counts.length === 0;
  if (isHalfCopy) {
    what += ': `highwater copy` was cut short';
  } else if (counts.length !== partition_counts.length) {
    what += `: it had ${partition_counts.length} partitions and has ${counts.length}, so that keys belong into other ones`;
  } else if (found === 0) {
    what += ': it was deleted, or created again';
  }
  return new HighwaterError(
    'STATE_DAMAGED',
    `Topic ${topic} holds ${found} images (${counts.join(' + ')} in its partitions), ${what}.`,
    isHalfCopy
      ? { remedy: 'Stop the publishers, delete all topics of the feed, and run `highwater copy` again.' }
      : {},
  );
}

function foreignImage(feed: FeedDefinition, record: LogRecord, offset: SourceOffset | null): HighwaterError {
  const known =
    offset === null ? 'there is no source offset' : `the source offset knows ${offset.incarnation}`;
  return new HighwaterError(
    'STATE_DAMAGED',
    `Topic ${record.topic} holds an image of incarnation ${record.headers.incarnation ?? 'none'} (key ${record.key}), but ${known} for feed ${feed.name}.`,
  );
}
