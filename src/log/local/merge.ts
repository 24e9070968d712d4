import type { ReaderConnection, StoredRecord } from './file/reader-connection';
import { assertNext } from './position';

/** A reader's place in one partition, with the records read ahead. */
export interface PartitionCursor {
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

export function partitionCursor(
  topic: string,
  partition: number,
  range: { from: number; end: number; hasGaps: boolean },
): PartitionCursor {
  const { from, end, hasGaps } = range;
  // A reader that begins at the beginning uses the present beginning.
  return { topic, partition, next: from, end, isBound: !hasGaps && from > 0, hasGaps, ahead: [], taken: 0 };
}

/** Reads ahead wherever nothing is left, all from one state of the file. False when all cursors are at the end. */
export function readAhead(
  cursors: readonly PartitionCursor[],
  reader: ReaderConnection,
  limit: number,
): boolean {
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
export function* merged(
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
