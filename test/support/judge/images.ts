import { type ChangeEvent, where } from './change-log';
import type { Live, LivedLife } from './lives';
import { imageOf, type JudgedLog, type LogRow } from './log';
import { isOfReset } from './resets';
import type { Findings } from './verdict';

/** `highwater.SourceOffset`, as far as the judge looks at it. */
export interface StoredOffset {
  readonly feed: string;
  readonly high_water_mark: number;
  readonly snapshot: 'pending' | 'running' | 'complete';
  readonly incarnation: string;
  readonly owner_epoch: string;
  readonly commit: number;
  readonly seq: number;
  readonly record_count: number;
  readonly partition_counts: readonly number[];
  readonly last_complete_scan_ms: number | null;
  readonly last_reconcile_ms: number | null;
  readonly snapshot_completed_ms: number | null;
  readonly paused: boolean;
}

/** The stored position of a feed and where in its topic it lies; null when there is none yet. */
export function readOffset(log: JudgedLog, feed: string): { row: LogRow; offset: StoredOffset } | null {
  const row = log.rows(`${feed}.source-offset`).findLast(({ key }) => key === feed);
  return row?.value == null ? null : { row, offset: log.decode(row.value).value as unknown as StoredOffset };
}

/** I5: the table of images equals the events, byte for byte, and each event wrote an image. */
export function checkImages(
  log: JudgedLog,
  feed: string,
  lives: readonly LivedLife[],
  live: Live,
  found: Findings,
): number[] {
  const events = lives.flatMap((life) => life.events);
  const byId = new Map(events.map((event) => [event.envelope.event_id, event]));
  const latest = new Map<string, LogRow>();
  const rows = log.rows(`${feed}.current`);
  for (const row of rows) {
    const other = latest.get(row.key);
    if (other !== undefined && other.partition !== row.partition)
      found.add(
        'I4',
        'order',
        `the image of ${row.key} lies in partitions ${other.partition} and ${row.partition}`,
      );
    latest.set(row.key, row);
  }
  const counts: number[] = [];
  for (const row of log.keeps === 'all' ? rows : latest.values()) {
    const isLatest = latest.get(row.key) === row;
    if (isOfReset(row)) continue;
    const event = byId.get(row.headers.event_id ?? '');
    if (event === undefined) {
      found.add('I5', 'torn', `${where(row)}: event ${row.headers.event_id} is not in the log`);
      continue;
    }
    checkImage(row, event, isLatest ? live.get(row.key) : undefined, found);
    if (!isLatest || row.value === null) continue;
    counts[row.partition] = (counts[row.partition] ?? 0) + 1;
    if (!live.has(row.key)) found.add('I5', 'torn', `${where(row)}: ${row.key} has an image and is not live`);
  }
  for (const [id, event] of live) {
    if (latest.get(id)?.value == null)
      found.add('I5', 'torn', `${id} is live by ${where(event.row)}, and has no image`);
  }
  for (const id of new Set(events.map((event) => event.id))) {
    if (!live.has(id) && !latest.has(id)) found.add('I5', 'torn', `${id} is not live, and has no tombstone`);
  }
  if (log.keeps === 'all') checkWrites(rows, events, found);
  else checkWriteCounts(rows, lives, live, feed, found);
  return counts;
}

/** Where everything is kept, each event has its image: one, and in the order of the events. */
function checkWrites(images: readonly LogRow[], events: readonly ChangeEvent[], found: Findings): void {
  const written = new Map<string, LogRow>();
  const last = new Map<string, number>();
  for (const row of images) {
    if (isOfReset(row)) continue;
    const id = row.headers.event_id ?? '';
    const twin = written.get(id);
    if (twin !== undefined) found.add('I5', 'twice', `${where(twin)} and ${where(row)} are both of ${id}`);
    written.set(id, row);
    const seq = Number(row.headers.seq);
    const part = `${row.headers.incarnation} ${row.partition}`;
    if (seq <= (last.get(part) ?? 0)) found.add('I4', 'order', `${where(row)}: ${id} comes late`);
    last.set(part, seq);
  }
  for (const { row, envelope } of events) {
    if (!written.has(envelope.event_id)) found.add('I5', 'torn', `${where(row)} has written no image`);
  }
}

function checkImage(row: LogRow, event: ChangeEvent, newest: ChangeEvent | undefined, found: Findings): void {
  const { envelope, afterBytes } = event;
  if (event.id !== row.key) found.add('I5', 'wrong', `${where(row)} names an event of ${event.id}`);
  if (newest !== undefined && newest !== event)
    found.add(
      'I5',
      'torn',
      `${where(row)} is of ${envelope.event_id}, the newest event of it is ${newest.envelope.event_id}`,
    );
  if (row.value === null) {
    if (envelope.op !== 'd') found.add('I5', 'torn', `${where(row)} is a tombstone after op ${envelope.op}`);
  } else if (afterBytes === null || !imageOf(row.value).equals(afterBytes)) {
    found.add('I5', 'torn', `${where(row)} has other bytes than the after of ${envelope.event_id}`);
  }
  const { seq, incarnation } = row.headers;
  if (seq !== String(event.seq) || incarnation !== event.incarnation)
    found.add(
      'I5',
      'wrong',
      `${where(row)}: headers seq ${seq}, incarnation ${incarnation}, event ${envelope.event_id}`,
    );
}

/** The embedded log numbers without gaps: an image that was written without its event, or the reverse, shows in the ends. */
function checkWriteCounts(
  images: readonly LogRow[],
  lives: readonly LivedLife[],
  current: Live,
  feed: string,
  found: Findings,
): void {
  const ends = (rows: readonly LogRow[]): number[] => {
    const end: number[] = [];
    for (const { partition, offset } of rows) end[partition] = Math.max(end[partition] ?? 0, offset + 1);
    return Array.from(end, (count) => count ?? 0);
  };
  const written = ends(images).join(', ');
  const writes = ends(lives.flatMap(({ events }) => events.map(({ row }) => row)));
  // A reset writes a tombstone for each image that it ends.
  for (const { live } of lives)
    if (live !== current) for (const { row } of live.values()) writes[row.partition]!++;
  const published = writes.join(', ');
  if (written !== published)
    found.add(
      'I5',
      'torn',
      `${feed}: ${published} images belong to the events and resets by partition, and ${written} were written`,
    );
}

/** I5: the stored position counts exactly these events and images. @returns the number of the last commit */
export function checkOffset(
  log: JudgedLog,
  lives: readonly LivedLife[],
  live: Live,
  stored: ReturnType<typeof readOffset>,
  imageCounts: readonly number[],
  found: Findings,
): number {
  if (stored === null) {
    if (lives.length > 0) found.add('I5', 'torn', `${lives.length} incarnations and no source offset`);
    return 0;
  }
  const { row, offset } = stored;
  const own = lives.findIndex(({ incarnation }) => incarnation === offset.incarnation);
  const expected: Record<string, readonly [unknown, unknown]> = {
    seq: [offset.seq, lives[own]?.events.at(-1)?.seq ?? 0],
    record_count: [offset.record_count, live.size],
    partition_counts: [
      offset.partition_counts.join(),
      offset.partition_counts.map((_, i) => imageCounts[i] ?? 0).join(),
    ],
    // The last incarnation with events, or a newer one without events.
    incarnations: [own < 0 ? lives.length : own + 1, lives.length],
    commit: [offset.commit, commitsOf(log, row, offset, lives.length > 1 || (own < 0 && lives.length > 0))],
  };
  for (const [name, [is, must]] of Object.entries(expected)) {
    if (is !== must)
      found.add('I5', 'torn', `source offset: ${name} is ${String(is)}, the log says ${String(must)}`);
  }
  return offset.commit;
}

/**
 * One source offset per transaction, numbered from 1 in each incarnation. Where there is no gap in the topic, the place of the last
 * tells how many there were.
 */
export function commitsOf(log: JudgedLog, row: LogRow, offset: StoredOffset, hasEarlier: boolean): number {
  const all = log.keeps === 'all' ? log.count(row.topic) : row.offset + 1;
  if (!hasEarlier) return all;
  if (log.keeps === 'latest') return Math.min(offset.commit, all);
  const own = log.rows(row.topic).filter(({ value }) => {
    return (
      value !== null &&
      (log.decode(value).value as unknown as StoredOffset).incarnation === offset.incarnation
    );
  });
  return own.length;
}
