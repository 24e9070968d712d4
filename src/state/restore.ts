import { isDeepStrictEqual } from 'node:util';
import { createBreather } from '../async/slices';
import { HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { Feed } from '../feeds/feed';
import { idPaths } from '../feeds/row-keys';
import { requestFingerprint } from '../feeds/scope';
import type { FeedSession, LogRecord, TopicEnd } from '../log/commit-log';
import type { Logger } from '../logging/logger';
import type { RestoredState } from './feed-state';
import { type ImageFile, imageFiles, type KeptImages } from './image-file';
import { imageStore } from './image-store';
import { type GoingOn, type ReadImages, type Reading, readKept } from './kept-images';
import { imageReader, learnWriter, leavesImagesWhole } from './read-images';
import {
  firstSourceOffset,
  newIncarnation,
  nothingLearned,
  type SourceOffset,
  snapshotAgain,
} from './source-offset';

export interface RestoreDeps extends Reading {
  readonly session: FeedSession;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Folder for the images; null: they stay in memory. */
  readonly stateDir: string | null;
  /** Fingerprint of the feed's present scope. */
  readonly scope: string;
  /** Called now and then while the images are read, and at the end. */
  readonly onRestore?: (feed: string, progress: RestoreProgress) => void;
}

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
export async function restore(deps: RestoreDeps): Promise<RestoredState> {
  const { feed, session, topics, logger, signal } = deps;
  const stored = await restoreOffset(deps);
  const offset = stored && asConfigured(stored, deps);
  const topicId = session.endOf(topics.current.name)?.topicId ?? null;
  const restoring = { ...deps, topicId, offset };
  const files = imageFiles(deps.stateDir, topics.current.name, feed.name, logger);
  // Before the images: if it fails, what was kept is still there for the next try.
  const deadLetters = new Set<string>();
  for await (const { key, value } of session.restore(topics.deadLetters.name, signal)) {
    if (value === null) deadLetters.delete(key);
    else deadLetters.add(key);
  }
  const kept = await files.take();
  const images = (kept && (await fromKept(kept, restoring))) ?? (await fromLog(files.open(), restoring));
  return { ...images, offset: offset ?? newOffset(feed, deps.scope, Date.now()), deadLetters };
}

type Restoring = RestoreDeps & GoingOn;

async function fromLog(file: ImageFile, restoring: Restoring): Promise<ReadImages> {
  const { session, topics } = restoring;
  const partitionCounts: number[] = new Array(session.partitionsOf(topics.current.name)).fill(0);
  const read = { images: imageStore(file), partitionCounts, groups: new Map() };
  await readImages(read, restoring);
  return read;
}

/**
 * The counts prove that it fits: records that were changed since are in the log, and a record that was deleted since, whose tombstone is
 * gone, is one too many.
 * @returns null: it does not fit
 */
async function fromKept(kept: KeptImages, restoring: Restoring): Promise<ReadImages | null> {
  const { feed, logger, signal } = restoring;
  try {
    const { end, ...read } = await readKept(kept, restoring);
    const changes = await readImages(read, restoring, end);
    const told = { feed: feed.name, records: read.images.size, changes };
    logger.debug(`Feed ${feed.name} goes on with the images that it kept.`, told);
    return read;
  } catch (error) {
    signal.throwIfAborted();
    if (leavesImagesWhole(error)) throw error;
    const { message } = error as Error;
    logger.info(`The kept images of feed ${feed.name} are not used, and the log is read: ${message}`, {
      feed: feed.name,
    });
    return null;
  }
}

/**
 * Reads images from the log, and checks that they are those of the source offset.
 * @param after where the images end; left out: there are none yet
 * @returns how many records were read
 * @throws HighwaterError STATE_DAMAGED; as `FeedSession.restore`. The images are then closed; if only reading failed, they are kept as
 * far as they have come, and the next try goes on with them
 */
async function readImages(read: ReadImages, restoring: Restoring, after?: TopicEnd): Promise<number> {
  const { feed, offset, session, topics, signal } = restoring;
  const { images, partitionCounts: counts } = read;
  const topic = topics.current.name;
  const reader = imageReader(read, restoring, [...(after?.offsets ?? counts.map(() => 0))]);
  const breather = createBreather();
  const order = new ChangeOrder(offset);
  let records = 0;
  const tell = (isDone: boolean) =>
    restoring.onRestore?.(feed.name, { images: images.size, of: offset?.record_count ?? 0, records, isDone });
  try {
    tell(false);
    for await (const record of session.restore(topic, signal, after)) {
      records += 1;
      if (records % TELL_EVERY === 0) tell(false);
      const learning = reader.learn(record, offset);
      if (learning) await learning;
      reader.take(record, offset);
      order.look(record);
      if (breather.isDue()) await breather.breathe();
    }
    tell(true);
    for (const record of reader.foreign.values()) throw foreignImage(feed, record, offset);
    // If the topic was lost, cut or repartitioned, missing records would be published as created, or out of order.
    if (offset !== null && !isDeepStrictEqual(counts, [...offset.partition_counts]))
      throw otherImages(topic, counts, offset);
    if (order.broken !== null) throw order.broken;
    return records;
  } catch (error) {
    const topicId = session.endOf(topic)?.topicId;
    if (offset !== null && topicId !== undefined && (signal.aborted || leavesImagesWhole(error)))
      await reader.keep(topicId, offset);
    images.close();
    throw error;
  }
}

/**
 * Notices images that do not go with the source offset although their number does. In each partition, the images of an incarnation
 * come in the order of their changes, and none is later than the source offset.
 */
class ChangeOrder {
  /** By partition. */
  private readonly latest: number[] = [];
  broken: HighwaterError | null = null;

  constructor(private readonly offset: SourceOffset | null) {}

  look({ topic, key, partition, headers }: LogRecord): void {
    const { offset } = this;
    const seq = Number(headers.seq);
    // A reset removes images without a number.
    if (offset === null || headers.incarnation !== offset.incarnation || Number.isNaN(seq)) return;
    const before = this.latest[partition] ?? 0;
    this.latest[partition] = Math.max(before, seq);
    if (seq >= before && seq <= offset.seq) return;
    const [what, why] =
      seq > offset.seq
        ? [`but the source offset of feed ${offset.feed} ends at ${offset.seq}`, 'The source offset is older']
        : [`behind one of ${before}`, 'An older image was written again'];
    const message = `Topic ${topic} holds an image of change ${seq} (key ${key}), ${what}. ${why}: records were lost, or a copy was written into the topics.`;
    this.broken ??= new HighwaterError('STATE_DAMAGED', message);
  }
}

/** Only the latest one counts, so whatever it has replaced need not be readable. */
async function restoreOffset(deps: RestoreDeps): Promise<SourceOffset | null> {
  const { feed, session, topics, codec, registry, signal } = deps;
  let latest: LogRecord | null = null;
  for await (const record of session.restore(topics.sourceOffset.name, signal))
    if (record.key === feed.name && record.value !== null) latest = record;
  if (latest === null) return null;
  await learnWriter(codec.sourceOffset, latest, registry);
  return codec.sourceOffset.decode(latest.value!);
}

/**
 * The first offset of a feed without state: a new incarnation with a snapshot to read. A feed without a snapshot begins at this second
 * of the own clock. The first answer tells the server's clock and sets the mark (`pipeline/scan/beginning.ts`).
 */
export function newOffset(feed: Feed, scope: string, nowMs: number): SourceOffset {
  const first = firstSourceOffset(feed.name, newIncarnation(), scope);
  const asked = { asked_by: requestFingerprint(feed), topic: feed.topic };
  const offset = { ...first, ...asked, id_field: idPaths(feed) };
  if (feed.snapshotMode === 'initial') return offset;
  return { ...offset, snapshot: 'complete', begins_at: Math.floor(nowMs / 1000) };
}

function asConfigured(stored: SourceOffset, { feed, scope, logger }: RestoreDeps): SourceOffset {
  return inTopic(asAsked(inScope(keyed(stored, feed), feed, scope), feed), feed, logger);
}

/** Records are keyed by the present paths if none are stored, or if there are no records. */
function keyed(offset: SourceOffset, feed: Feed): SourceOffset {
  const isKept = offset.id_field.length > 0 && offset.record_count > 0;
  return isKept ? offset : { ...offset, id_field: idPaths(feed) };
}

function inScope(offset: SourceOffset, feed: Feed, scope: string): SourceOffset {
  if (offset.scope === scope) return offset;
  const { incarnation, id_field, owner, owner_epoch, commit, seq, record_count, partition_counts } = offset;
  const { paused, topic_ids, ts_ms } = offset;
  const counts = { seq, record_count, partition_counts };
  const kept = { id_field, owner, owner_epoch, commit, ...counts, paused, topic_ids, ts_ms };
  const since = { scope_seq: seq, scope_since_ms: Date.now(), snapshot_seq: seq };
  const anew = { ...firstSourceOffset(feed.name, incarnation, scope), ...kept, ...since };
  const { snapshot, snapshot_completed_ms, high_water_mark } = offset;
  if (feed.snapshotMode === 'initial' || snapshot !== 'complete') return anew;
  // Records of the new scope from before the mark are unknown, like all records when the feed began.
  const begins_at = Math.max(offset.begins_at, high_water_mark);
  return { ...anew, snapshot, snapshot_completed_ms, high_water_mark, begins_at };
}

/** Facts that were learned of paging and filter hold while pages are asked for in the same way. An earlier version has not kept how. */
function asAsked(offset: SourceOffset, feed: Feed): SourceOffset {
  const asked_by = requestFingerprint(feed);
  if (offset.asked_by === asked_by) return offset;
  return { ...offset, ...(offset.asked_by !== '' && nothingLearned), asked_by };
}

/** Readers of another topic have had no record yet, so every record is published once more. */
function inTopic(offset: SourceOffset, { name, topic, snapshotMode }: Feed, logger: Logger): SourceOffset {
  if (offset.topic === topic || offset.topic === '' || snapshotMode === 'never') return { ...offset, topic };
  logger.info(
    `Feed ${name}: its changes go to topic ${topic} from now on, and every record is published there. They went to topic ${offset.topic}.`,
    { feed: name },
  );
  return { ...offset, ...snapshotAgain(offset), topic };
}

/**
 * With another idField, every record would be published as created under a new key, beside the old one.
 * @throws HighwaterError STATE_ID_FIELD_CHANGED
 */
export function assertSameIdField({ id_field, record_count }: SourceOffset, feed: FeedDefinition): void {
  const present = idPaths(feed);
  if (isDeepStrictEqual([...id_field], [...present])) return;
  const [now, before] = [present, id_field].map((paths) => `[${paths.join(', ')}]`);
  throw new HighwaterError(
    'STATE_ID_FIELD_CHANGED',
    `Feed ${feed.name} has idField ${now}, and its ${record_count} records were published under ${before}.`,
    {
      remedy: `Set idField back to ${before}, or run \`highwater reset ${feed.name}\`: all records then come as reads (op r) under their new keys, in a new incarnation.`,
    },
  );
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
  const { topic, key, headers } = record;
  const what =
    headers.incarnation === undefined
      ? `a value that highwater did not write (key ${key})`
      : `an image of incarnation ${headers.incarnation} (key ${key})`;
  const known =
    offset === null ? 'there is no source offset' : `the source offset knows ${offset.incarnation}`;
  return new HighwaterError(
    'STATE_DAMAGED',
    `Topic ${topic} holds ${what}, but ${known} for feed ${feed.name}.`,
  );
}
