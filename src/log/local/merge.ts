import type { ReaderConnection, StoredRecord } from './file/reader-connection';

/** A reader's place in one partition, with the records read ahead. */
export interface PartitionCursor {
  readonly topic: string;
  readonly partition: number;
  /** Offset to read from next. */
  next: number;
  /** Offset to stop before; Infinity to go on for as long as there is more. */
  readonly end: number;
  ahead: StoredRecord[];
  taken: number;
}

export function partitionCursor(
  topic: string,
  partition: number,
  range: { from: number; end: number },
): PartitionCursor {
  return { topic, partition, next: range.from, end: range.end, ahead: [], taken: 0 };
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
      // With gaps in the offsets, `count` rows can reach past the end.
      while ((cursor.ahead.at(-1)?.logOffset ?? -1) >= cursor.end) cursor.ahead.pop();
      cursor.next = cursor.ahead.length === 0 ? cursor.next : cursor.ahead.at(-1)!.logOffset + 1;
    }
  });
  return cursors.some((cursor) => cursor.taken < cursor.ahead.length);
}

/**
 * The records read ahead in the order in which they were committed, until one partition runs out: what it holds next may
 * be older than what the others still have.
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
