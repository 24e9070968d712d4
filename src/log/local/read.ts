import { setImmediate as nextTurn } from 'node:timers/promises';
import { pause } from '../../async/wait';
import { HighwaterError } from '../../errors';
import type { LogRecord, ReadOptions } from '../commit-log';
import { isCompacted } from '../topics';
import type { ReaderConnection, StoredRecord } from './file/reader-connection';

/** Records read ahead in one partition. They bound the memory of a reader for a log of any size. */
const READ_AHEAD = 256;
/** How often a reader that waits looks whether anything was committed. One look reads one number in shared memory. */
const LOOK_INTERVAL_MS = 50;

export interface ReadDeps {
  /** Null while there is no file yet. @throws HighwaterError LOG_* */
  reader(): ReaderConnection | null;
  isClosed(): boolean;
}

/** @param end offset after the last record of the partition @returns offset of the first record to be read */
type BeginAt = (topic: string, partition: number, end: number) => number;

const atStart: BeginAt = () => 0;

/** @throws HighwaterError LOG_* */
function startOf({ fromBeginning, notBefore }: ReadOptions, deps: ReadDeps): BeginAt {
  if (!fromBeginning) return (_topic, _partition, end) => end;
  if (notBefore === undefined) return atStart;
  if ('positionsToEnd' in notBefore) {
    return (topic, partition, end) =>
      end === 0 ? 0 : positionsBack(deps.reader()!, { topic, partition, end }, notBefore.positionsToEnd);
  }
  return (topic, partition, end) => deps.reader()?.offsetSince(topic, partition, notBefore.sinceMs) ?? end;
}

/** Gaps do not count. @returns 0 if fewer are kept; the reader then begins at the first kept record */
function positionsBack(
  reader: ReaderConnection,
  { topic, partition, end }: { topic: string; partition: number; end: number },
  count: number,
): number {
  let from = end - count;
  for (const { after, next } of [...reader.gaps(topic, partition)].reverse())
    if (end > next && from < next) from -= next - after;
  return from > reader.firstOffset(topic, partition) ? from : 0;
}

/** A reader's place in one partition, with the records read ahead. */
interface PartitionCursor {
  readonly topic: string;
  readonly partition: number;
  /** Offset to read from next. */
  next: number;
  /** Offset to stop before; Infinity to go on for as long as there is more. */
  readonly end: number;
  /** The record at `next` must not be skipped. */
  isBound: boolean;
  /** In a compacted topic any record may be gone. */
  readonly hasGaps: boolean;
  ahead: StoredRecord[];
  taken: number;
}

/**
 * Reads topics in log order, several partitions and topics merged as they were committed. The call fixes where to begin, not the
 * first request for a record.
 * @param beginAt replaces the options' beginning for the topics that exist by then
 */
export function read(
  topics: readonly string[],
  options: ReadOptions,
  deps: ReadDeps,
  beginAt: BeginAt = startOf(options, deps),
): AsyncIterable<LogRecord> {
  const names = [...new Set(topics)];
  const cursors = new Map<string, readonly PartitionCursor[]>();
  addTopics(beginAt);
  return records();

  /** A topic that appears later is read from its beginning: all of it was committed after the call. */
  function addTopics(at: BeginAt): void {
    if (cursors.size === names.length) return;
    const reader = deps.reader();
    if (reader === null) return;
    reader.snapshot(() => {
      for (const name of names) {
        if (!cursors.has(name)) addTopic(name, at, reader);
      }
    });
  }

  function addTopic(name: string, at: BeginAt, reader: ReaderConnection): void {
    const topic = reader.topic(name);
    if (topic === null) return;
    // A plain topic is read up to its present end; otherwise a busy publisher could keep a reader for ever. In a compacted topic a
    // key's record may move behind that end in the meantime, so the reader goes on until it has caught up.
    const pinned = !options.follow && !isCompacted(topic);
    const hasGaps = isCompacted(topic);
    const partitions = Array.from({ length: topic.partitions }, (_, partition): PartitionCursor => {
      const end = reader.endOffset(name, partition);
      const next = at(name, partition, end);
      // A reader that begins at the beginning uses the present beginning.
      const isBound = !hasGaps && next > 0;
      const last = pinned ? end : Infinity;
      return { topic: name, partition, next, end: last, isBound, hasGaps, ahead: [], taken: 0 };
    });
    cursors.set(name, partitions);
  }

  function isOver(): boolean {
    return options.signal.aborted || deps.isClosed();
  }

  async function* records(): AsyncGenerator<LogRecord> {
    if (!options.follow && !options.fromBeginning) return;
    while (!isOver()) {
      const reader = deps.reader();
      const version = reader?.dataVersion() ?? null;
      addTopics(atStart);
      const all = [...cursors.values()].flat();
      if (reader !== null && readAhead(all, reader, READ_AHEAD)) {
        for (const { cursor, record } of merged(all)) {
          yield logRecord(cursor.topic, cursor.partition, record);
          if (isOver()) return;
        }
        // The queries are synchronous: between two of them the rest of the process has its turn.
        await nextTurn();
      } else if (options.follow) {
        await committedSince(version, deps, options.signal);
      } else return;
    }
  }
}

/** Reads ahead wherever nothing is left, all from one state of the file. False when all cursors are at the end. */
function readAhead(cursors: readonly PartitionCursor[], reader: ReaderConnection, limit: number): boolean {
  reader.snapshot(() => {
    for (const cursor of cursors) {
      if (cursor.taken < cursor.ahead.length || cursor.next >= cursor.end) continue;
      const count = Math.min(limit, cursor.end - cursor.next);
      cursor.ahead = reader.records(cursor.topic, cursor.partition, cursor.next, count);
      cursor.taken = 0;
      if (cursor.isBound) assertNext(reader, cursor, cursor.ahead[0]);
      // With gaps in the offsets, `count` rows can reach past the end.
      while ((cursor.ahead.at(-1)?.logOffset ?? -1) >= cursor.end) cursor.ahead.pop();
      if (cursor.ahead.length === 0) continue;
      cursor.next = cursor.ahead.at(-1)!.logOffset + 1;
      cursor.isBound = !cursor.hasGaps;
    }
  });
  return cursors.some((cursor) => cursor.taken < cursor.ahead.length);
}

/**
 * Records in the order of their commits, until one partition runs out of records that were read ahead: its next record may be older
 * than those of the others.
 */
function* merged(
  cursors: readonly PartitionCursor[],
): Generator<{ cursor: PartitionCursor; record: StoredRecord }> {
  const filled = cursors.filter((cursor) => cursor.taken < cursor.ahead.length);
  while (filled.length > 0) {
    const cursor = filled.reduce((a, b) => (arrival(b) < arrival(a) ? b : a));
    const record = cursor.ahead[cursor.taken++]!;
    yield { cursor, record };
    if (cursor.taken === cursor.ahead.length) return;
  }
}

function arrival(cursor: PartitionCursor): number {
  return cursor.ahead[cursor.taken]!.arrival;
}

interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly next: number;
}

/**
 * Checks that the next record still exists or has not been written yet. A log that was restored has never had it.
 * @param place `next`: offset of the record to come; `end`: after the last record that there is
 * @throws HighwaterError LOG_POSITION_LOST
 */
export function assertKept(reader: ReaderConnection, place: Place & { readonly end: number }): void {
  const { topic, partition, next, end } = place;
  const spec = reader.topic(topic);
  // A compacted topic keeps the latest record of each key, wherever it lies.
  const first = spec === null || isCompacted(spec) ? 0 : reader.firstOffset(topic, partition);
  const gap = reader.gaps(topic, partition).find(({ after, next: goesOn }) => after <= next && next < goesOn);
  // A reader that has read the whole copy continues behind the gap. A reader that was further has read records that the copy does
  // not have.
  const wanted = gap !== undefined && gap.after === next && end > next ? gap.next : next;
  const isInGap = gap !== undefined && gap.after < next;
  if (!isInGap && wanted >= first && wanted <= end) return;
  const what = `offset ${next} of partition ${partition} of ${topic} was to be read next, and it holds ${first} to ${end}`;
  throw new HighwaterError('LOG_POSITION_LOST', what);
}

/**
 * Refuses to skip records that retention removed before they were read.
 * @param found first position that the log has from `next` on; undefined: none yet
 * @throws HighwaterError LOG_POSITION_LOST
 */
export function assertNext(reader: ReaderConnection, place: Place, found: StoredRecord | undefined): void {
  if (found === undefined || found.logOffset === place.next) return;
  assertKept(reader, { ...place, end: reader.endOffset(place.topic, place.partition) });
}

/** Waits until the file is another than at a version of it (null: it was not there yet), or the signal. */
export async function committedSince(
  version: number | null,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !deps.isClosed() && (deps.reader()?.dataVersion() ?? null) === version) {
    await pause(LOOK_INTERVAL_MS, signal);
  }
}

/**
 * The latest record of each key of a compacted topic. The file keeps no other records of it.
 * @param from by partition: the first offset; left out: all, without tombstones
 * @throws the signal's reason, or LOG_CLOSED: half of a state must not pass for the whole
 */
export async function* restore(
  topic: string,
  signal: AbortSignal,
  deps: ReadDeps,
  from?: readonly number[],
): AsyncGenerator<LogRecord> {
  signal.throwIfAborted();
  const beginAt: BeginAt = (_topic, partition) => from?.[partition] ?? 0;
  for await (const record of read([topic], { fromBeginning: true, follow: false, signal }, deps, beginAt)) {
    if (from !== undefined || record.value !== null) yield record;
  }
  signal.throwIfAborted();
  if (deps.isClosed())
    throw new HighwaterError('LOG_CLOSED', `the log was closed while ${topic} was restored`);
}

export function logRecord(topic: string, partition: number, record: StoredRecord): LogRecord {
  const { logOffset, timestamp, key, headers, value } = record;
  return { topic, partition, logOffset, timestamp, key, headers, value };
}
