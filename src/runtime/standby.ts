import { EventEmitter, once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { createBreather } from '../async/slices';
import { joinSignals, pause, sharedController, unlessAborted } from '../async/wait';
import { createFeedCodec } from '../avro/codec/feed-codec';
import type { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { LogRecord } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';
import { createImages } from '../pipeline/changes/images';
import { GroupChains, groupTransitions, keyOfGroups } from '../state/group-index';
import { imageFiles, type KeptImages } from '../state/image-file';
import { imageStore } from '../state/image-store';
import { type ReadImages, readKept } from '../state/kept-images';
import { imageReader, learnWriter, leavesImagesWhole } from '../state/read-images';
import type { RestoreDeps } from '../state/restore';
import type { SourceOffset } from '../state/source-offset';

export interface StandbyDeps extends Pick<RestoreDeps, 'registry' | 'logger' | 'topics'> {
  readonly log: Pick<ConsumerLog, 'ends' | 'follow' | 'load'>;
  readonly stateDir: string;
}

export interface StandbyTimes {
  /** A feed is often granted within seconds, and a copy of what was kept would only delay it. */
  readonly beginAfterMs: number;
  /** Until there is something to copy, or after an error. Each time that a copy is lost, twice as long. */
  readonly againAfterMs: number;
  /** How often the copy is compared with the counts of the source offset, if nothing has come since the last time. */
  readonly lookEveryMs: number;
  /** A copy that differs for so long has lost records, such as tombstones that are gone. */
  readonly differsForMs: number;
}

const TIMES = { beginAfterMs: 10_000, againAfterMs: 10_000, lookEveryMs: 1_000, differsForMs: 60_000 };
const LONGEST_PAUSE_MS = 600_000;

export type Standby = ReturnType<typeof standBy>;

/** A copy of the images of a feed that another instance owns, which follows the log. */
export function standBy(feed: Feed, deps: StandbyDeps, times: StandbyTimes = TIMES) {
  const over = sharedController();
  const work = keepCopy(feed, deps, times, over.signal).catch(({ message }: Error) => {
    deps.logger.warn(`The copy of feed ${feed.name} has ended: ${message}`, { feed: feed.name });
  });
  return {
    /** Ends following, and keeps the copy as an owner keeps its images. May be called again. Never fails. */
    end(): Promise<void> {
      over.abort();
      return work;
    },
  };
}

async function keepCopy(feed: Feed, deps: StandbyDeps, times: StandbyTimes, signal: AbortSignal) {
  const { logger } = deps;
  let copy: Awaited<ReturnType<typeof beginCopy>> = null;
  let told = '';
  let pauseMs = times.againAfterMs;
  const onCurrent = (records: number): void => {
    told = '';
    pauseMs = times.againAfterMs;
    const what = `A copy of feed ${feed.name}, which another instance may own, is here and follows the log.`;
    logger.info(what, { feed: feed.name, records });
  };
  await pause(times.beginAfterMs, signal);
  while (!signal.aborted) {
    let isLost = false;
    try {
      copy ??= await beginCopy(feed, deps, signal);
      await copy?.follow(signal, times, onCurrent);
    } catch (error) {
      if (signal.aborted) break;
      const {
        message,
        code = '',
        remedy = 'Free space on the disk of HIGHWATER_STATE_DIR, or name another folder.',
      } = error as HighwaterError;
      // After another error nobody knows how far the copy can be believed.
      isLost = !leavesImagesWhole(error);
      if (told !== message) {
        const now = isLost
          ? 'It is copied anew, after growing pauses. Until then a takeover reads the images from the log.'
          : 'It is tried again. A takeover reads the rest from the log.';
        const facts = { feed: feed.name, code, now, ...(code !== '' && { remedy }) };
        logger.warn(`The copy of feed ${feed.name} does not follow the log: ${message}`, facts);
        told = message;
      }
    }
    if (isLost) {
      copy?.close();
      copy = null;
    }
    await pause(isLost ? pauseMs : times.againAfterMs, signal);
    if (isLost) pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  }
  await copy?.keep();
  copy?.close();
}

/** @returns null: there is nothing to copy yet */
async function beginCopy(feed: Feed, deps: StandbyDeps, signal: AbortSignal) {
  const { log, registry, logger, stateDir } = deps;
  const { current, sourceOffset } = deps.topics;
  const { topicId, ends } = await log.ends(current.name, 'beginning', signal);
  const source = await log.ends(sourceOffset.name, 'beginning', signal);
  if (ends.size === 0 || source.ends.size === 0) return null;
  const codec = await unlessAborted(createFeedCodec(feed, deps.topics, registry), signal);
  const decoder = createImages(feed, codec.schemas.record, codec.image);
  const reading = { feed, topics: deps.topics, codec, registry, decoder };
  let offset: SourceOffset | null = null;
  /** Where the source offset is read on. */
  let next = source.ends.get(0)!;
  for await (const record of log.load(sourceOffset.name, signal, true)) await takeOffset(record, signal);
  signal.throwIfAborted();
  if (offset === null) return null;

  let known: SourceOffset = offset;
  const moved = new EventEmitter();
  const files = imageFiles(stateDir, current.name, feed.name, logger);
  let fail: (error: unknown) => void = () => undefined;
  /** A copy in memory would be as large as the images, and could not be kept. */
  const onWriteError = (error: Error | null): void => void (error && fail(error));
  // From here to the return the signal must not end it: what was kept is taken only once.
  const read = (await fromKept(await files.take())) ?? fromNothing();
  const { images, partitionCounts } = read;
  const positions = [...read.end.offsets];
  const reader = imageReader(read, reading, positions);
  /** Images, and source offsets with news, that were taken. */
  let taken = 0;

  async function fromKept(found: KeptImages | null) {
    if (found === null) return null;
    try {
      const file = { ...found.file, onWriteError };
      return await readKept({ ...found, file }, { ...reading, topicId, offset });
    } catch (error) {
      if (leavesImagesWhole(error)) throw error;
      const { message } = error as Error;
      logger.info(`The kept images of feed ${feed.name} are not used, and the log is read: ${message}`);
      return null;
    }
  }

  function fromNothing(): ReadImages & { readonly end: { readonly offsets: readonly number[] } } {
    const file = { ...files.create(), onWriteError };
    logger.info(`A copy of feed ${feed.name} is begun.`, { feed: feed.name, records: known.record_count });
    const groups = groupTransitions(feed).map((one) => [keyOfGroups(one), new GroupChains()] as const);
    const partitionCounts = new Array<number>(ends.size).fill(0);
    const offsets = partitionCounts.map((_, partition) => ends.get(partition)!);
    return { images: imageStore(file), groups: new Map(groups), partitionCounts, end: { offsets } };
  }

  async function takeOffset(record: LogRecord, over: AbortSignal): Promise<void> {
    if (record.key === feed.name && record.value !== null) {
      const learning = learnWriter(codec.sourceOffset, record, registry);
      if (learning) await unlessAborted(learning, over);
      offset = codec.sourceOffset.decode(record.value);
    }
    next = record.logOffset + 1;
  }

  /** Whether the record is of a batch whose source offset is not known yet, which says how old images are. */
  function isAhead({ value, headers }: LogRecord): boolean {
    return value !== null && headers.incarnation === known.incarnation && Number(headers.seq) > known.seq;
  }

  async function followOffset(over: AbortSignal): Promise<void> {
    const from = new Map([[0, next]]);
    for await (const record of log.follow(sourceOffset.name, from, over, source.topicId)) {
      await takeOffset(record, over);
      const { incarnation, scope_seq, snapshot_seq } = known;
      if (offset!.incarnation !== incarnation) throw new RangeError('the feed was reset');
      // All images here are of the source offset before, or of an earlier one.
      if (offset!.scope_seq !== scope_seq) images.setAges({ isOutOfScope: true });
      if (offset!.snapshot_seq !== snapshot_seq) images.setAges({ isUnshown: offset!.snapshot_seq > 0 });
      // Source offsets of polls without news come all the time.
      if (offset!.seq !== known.seq) taken++;
      known = offset!;
      moved.emit('offset');
    }
  }

  async function followImages(over: AbortSignal): Promise<void> {
    const breather = createBreather();
    const from = new Map(positions.entries());
    for await (const record of log.follow(current.name, from, over, topicId)) {
      const learning = reader.learn(record, known);
      if (learning) await unlessAborted(learning, over);
      while (isAhead(record)) await once(moved, 'offset', { signal: over });
      reader.take(record, known);
      taken++;
      if (breather.isDue()) await breather.breathe();
    }
  }

  /** Compares in quiet: in the middle of a batch, a record that is missing and one that is still to come could make up for each other. */
  async function compare(
    over: AbortSignal,
    { lookEveryMs, differsForMs }: StandbyTimes,
    onCurrent: (records: number) => void,
  ): Promise<void> {
    let [seen, isTold, sinceMs] = [-1, false, performance.now()];
    for (;;) {
      await pause(lookEveryMs, over);
      if (over.aborted) return;
      const isQuiet = taken === seen;
      seen = taken;
      const isEqual = isQuiet && isDeepStrictEqual(partitionCounts, [...known.partition_counts]);
      if (isEqual && !isTold) onCurrent(images.size);
      isTold ||= isEqual;
      if (isEqual || !isQuiet) sinceMs = performance.now();
      if (performance.now() - sinceMs < differsForMs) continue;
      // Not while there is more to read, from a partition without a leader or a cluster that is down.
      const { ends } = await log.ends(current.name, 'reachable', over);
      if ([...ends.values()].includes(null) || taken !== seen) sinceMs = performance.now();
      else throw new RangeError('its images are not those that the source offset counts');
    }
  }

  return {
    /**
     * Ends at the signal.
     * @param onCurrent called once, when all that the log has is here
     * @throws an error that `leavesImagesWhole`: it may be called again; another one: the copy is of no use
     */
    async follow(
      signal: AbortSignal,
      times: StandbyTimes,
      onCurrent: (records: number) => void,
    ): Promise<void> {
      const failed = sharedController();
      const { signal: over, leave } = joinSignals([signal, failed.signal]);
      fail = (error) => failed.abort(error);
      const parts = [followOffset(over), followImages(over), compare(over, times, onCurrent)];
      await Promise.all(parts.map((part) => part.catch(fail))).finally(leave);
      if (!signal.aborted) failed.signal.throwIfAborted();
    },
    keep: () => reader.keep(topicId, known),
    close: () => images.close(),
  };
}
