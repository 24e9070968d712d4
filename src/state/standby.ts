import { EventEmitter, once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { createBreather } from '../async/slices';
import { joinSignals, pause, sharedController, unlessAborted } from '../async/wait';
import { createFeedCodec } from '../avro/codec/feed-codec';
import type { SchemaRegistry } from '../avro/registry/registry';
import type { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { FeedTopics, LogRecord } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';
import type { Logger } from '../logging/logger';
import { GroupChains, groupTransitions, keyOfGroups } from './group-index';
import { imageFiles, type KeptImages } from './image-file';
import { imageStore } from './image-store';
import { keepImages, readKept } from './kept-images';
import { imageReader, learnWriter, type ReadImages, writerOf } from './read-images';
import type { SourceOffset } from './source-offset';

export interface StandbyDeps {
  readonly log: Pick<ConsumerLog, 'ends' | 'follow' | 'load'>;
  readonly registry: SchemaRegistry;
  readonly logger: Logger;
  readonly topics: FeedTopics;
  /** Folder for the images. */
  readonly stateDir: string;
}

/** A copy of the images of a feed that another instance owns, which follows the log. */
export interface Standby {
  /** Ends following, and keeps the copy as an owner keeps its images. May be called again. Never fails. */
  end(): Promise<void>;
}

export interface StandbyTimes {
  /** A feed is often granted within seconds, and a copy of what was kept would only delay it. */
  readonly beginAfterMs: number;
  /** Until there is something to copy, or after an error. */
  readonly againAfterMs: number;
  /** How long reading must go well before the copy is called current. */
  readonly goodAfterMs: number;
  /** By then images that were kept must be those of the source offset; else a tombstone is missing. */
  readonly provedWithinMs: number;
}

const TIMES = { beginAfterMs: 10_000, againAfterMs: 10_000, goodAfterMs: 5_000, provedWithinMs: 300_000 };

export function standBy(feed: Feed, deps: StandbyDeps, times: StandbyTimes = TIMES): Standby {
  const over = sharedController();
  const work = keepCopy(feed, deps, times, over.signal);
  return {
    end() {
      over.abort();
      return work;
    },
  };
}

async function keepCopy(feed: Feed, deps: StandbyDeps, times: StandbyTimes, signal: AbortSignal) {
  const { logger } = deps;
  let copy: Copy | null = null;
  let told = '';
  const onCurrent = (records: number): void => {
    told = '';
    const what = `Feed ${feed.name} has another owner. A copy of its images is here and follows them.`;
    logger.info(what, { feed: feed.name, records });
  };
  await pause(times.beginAfterMs, signal);
  while (!signal.aborted) {
    try {
      copy ??= await beginCopy(feed, deps, signal);
      await copy?.follow(signal, times, onCurrent);
    } catch (error) {
      // Whoever could not make it has said so, and it would be said each time.
      if (signal.aborted || error instanceof NoFile) break;
      const { message, code = '', remedy } = error as HighwaterError;
      if (told !== message) {
        const now = 'It is tried again. Until then a takeover reads the images from the log.';
        const facts = { feed: feed.name, code, now, remedy };
        logger.warn(`No copy of feed ${feed.name} is kept here: ${message}`, facts);
        told = message;
      }
      // After another error nobody knows how far the copy can be believed.
      if (!/^(KAFKA|REGISTRY)_/.test(code)) {
        copy?.close();
        copy = null;
      }
    }
    await pause(times.againAfterMs, signal);
  }
  await copy?.keep();
  copy?.close();
}

class NoFile extends Error {}

interface Copy {
  /**
   * Ends at the signal.
   * @param onCurrent called once, when all that the log has is here
   * @throws HighwaterError KAFKA_*, REGISTRY_*: it may be called again; another error: the copy is of no use
   */
  follow(signal: AbortSignal, times: StandbyTimes, onCurrent: (records: number) => void): Promise<void>;
  keep(): Promise<void>;
  close(): void;
}

/** @returns null: there is nothing to copy yet */
async function beginCopy(feed: Feed, deps: StandbyDeps, signal: AbortSignal): Promise<Copy | null> {
  const { log, registry, logger, stateDir } = deps;
  const { current, sourceOffset } = deps.topics;
  const codec = await createFeedCodec(feed, deps.topics, registry);
  const { topicId, ends } = await log.ends(current.name, 'beginning', signal);
  const source = await log.ends(sourceOffset.name, 'beginning', signal);
  let offset: SourceOffset | null = null;
  /** Where the source offset is read on. */
  let next = source.ends.get(0) ?? 0;
  for await (const record of log.load(sourceOffset.name, signal, true)) await takeOffset(record);
  signal.throwIfAborted();
  if (offset === null || ends.size === 0) return null;

  let known: SourceOffset = offset;
  const moved = new EventEmitter();
  const files = imageFiles(stateDir, current.name, feed.name, logger);
  // From here to the return the signal must not end it: what was kept is taken only once.
  const kept = await fromKept(await files.take());
  const read = kept ?? fromNothing();
  const { images, partitionCounts } = read;
  const reader = imageReader(feed, read, { codec, registry });
  const positions = [...read.end.offsets];
  /** Whether the copy is current and people know it. Null: it is too early to say so. */
  let isCurrent: boolean | null = null;
  let tell = (_records: number): void => undefined;

  async function fromKept(found: KeptImages | null) {
    if (found === null) return null;
    try {
      const images = await readKept(found, { ...deps, feed, codec, offset });
      if (images.end.topicId === topicId && images.end.offsets.length === ends.size) return images;
      images.images.close();
      throw new RangeError('they are those of another topic');
    } catch (error) {
      const { message } = error as Error;
      logger.info(`The kept images of feed ${feed.name} are not used, and the log is read: ${message}`);
      return null;
    }
  }

  function fromNothing(): ReadImages & { readonly end: { readonly offsets: readonly number[] } } {
    const file = files.open();
    if (file.fd === null) throw new NoFile();
    const groups = groupTransitions(feed).map((one) => [keyOfGroups(one), new GroupChains()] as const);
    const zeros = new Array<number>(ends.size).fill(0);
    return {
      ...{ images: imageStore(file), file, groups: new Map(groups), partitionCounts: [...zeros] },
      end: { offsets: zeros },
    };
  }

  async function takeOffset(record: LogRecord): Promise<void> {
    if (record.key === feed.name && record.value !== null) {
      if (!codec.sourceOffset.knowsWriter(writerOf(record)))
        await learnWriter(codec.sourceOffset, record, registry);
      offset = codec.sourceOffset.decode(record.value);
    }
    next = record.logOffset + 1;
  }

  /** Whether the record is of a batch whose source offset is not known yet, which says how old images are. */
  function isAhead({ value, headers }: LogRecord): boolean {
    return value !== null && headers.incarnation === known.incarnation && Number(headers.seq) > known.seq;
  }

  function look(): void {
    if (isCurrent !== false || images.size !== known.record_count) return;
    if (!isDeepStrictEqual(partitionCounts, [...known.partition_counts])) return;
    isCurrent = true;
    tell(images.size);
  }

  async function followOffset(over: AbortSignal): Promise<void> {
    const from = new Map([[0, next]]);
    for await (const record of log.follow(sourceOffset.name, from, over, source.topicId)) {
      await takeOffset(record);
      const { incarnation, scope_seq, snapshot_seq } = known;
      if (offset!.incarnation !== incarnation) throw new RangeError('the feed was reset');
      // All images here are of the source offset before, or of an earlier one.
      if (offset!.scope_seq !== scope_seq) images.setAges({ isOutOfScope: true });
      if (offset!.snapshot_seq !== snapshot_seq) images.setAges({ isUnshown: offset!.snapshot_seq > 0 });
      known = offset!;
      moved.emit('offset');
      look();
    }
  }

  async function followImages(over: AbortSignal): Promise<void> {
    const breather = createBreather();
    const from = new Map(positions.entries());
    for await (const record of log.follow(current.name, from, over, topicId)) {
      if (reader.isUnknown(record)) await unlessAborted(reader.learn(record), over);
      while (isAhead(record)) await once(moved, 'offset', { signal: over });
      reader.take(record, known);
      positions[record.partition] = record.logOffset + 1;
      look();
      if (breather.isDue()) await breather.breathe();
    }
  }

  return {
    async follow(signal, times, onCurrent) {
      const failed = sharedController();
      const { signal: over, leave } = joinSignals([signal, failed.signal]);
      const fail = (error: unknown) => failed.abort(error);
      isCurrent = null;
      tell = onCurrent;
      const good = setTimeout(() => {
        isCurrent = false;
        look();
      }, times.goodAfterMs);
      const proof = setTimeout(() => {
        if (kept === null || isCurrent) return;
        fail(new RangeError('the images that were kept are not those of the log'));
      }, times.provedWithinMs);
      try {
        await Promise.all([followOffset(over).catch(fail), followImages(over).catch(fail)]);
        if (!signal.aborted) failed.signal.throwIfAborted();
      } finally {
        clearTimeout(good);
        clearTimeout(proof);
        leave();
      }
    },
    async keep() {
      const end = { topicId, offsets: positions, commit: null };
      await keepImages(read, known, { topic: current.name, end, schemaId: codec.image.schemaId });
    },
    close: () => images.close(),
  };
}
