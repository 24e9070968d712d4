import type { FeedCodec } from '../../avro/codec/feed-codec';
import { valueAt } from '../../avro/path';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { FeedSession } from '../../log/commit-log';
import type { PendingState } from '../../state/feed-state';
import type { SourceOffset } from '../../state/source-offset';
import type {
  Change,
  ChangeEvents,
  DeadLetter,
  Op,
  Origin,
  RecordValues,
  TooLarge,
  Unfit,
  VendorRecord,
} from '../../types';
import { version } from '../../version';
import type { Decoded } from '../records/decode';
import { newDeadLetters } from './dead-letters';
import type { EarlierContents } from './earlier-contents';
import type { FirstSights } from './first-sights';
import type { ImageComparison, Images } from './images';
import { type TransitionOrigin, transitionEvents, transitionOrigins } from './transitions';

/** The parts of an owned feed that make the changes of its pages. */
export interface ChangeDeps {
  readonly feed: Feed;
  /** Name of the installation. */
  readonly appId: string;
  readonly session: Pick<FeedSession, 'maxRecordBytes'>;
  readonly codec: Pick<FeedCodec, 'image'>;
  readonly images: Images;
  readonly earlier: EarlierContents;
  readonly firstSights: FirstSights;
  /** Tells the size of the largest record that an event becomes. Costs as much as encoding it. */
  readonly encoder: { largestRecordBytes(event: ChangeEvents): number };
  /** Called for each record with nothing new but its `updated`. */
  readonly onTouch?: (() => void) | undefined;
}

/** A row that a reconcile has found at a time that polls had passed. */
export interface MissedRow {
  readonly id: string;
  /** Unix seconds. */
  readonly updated: number;
}

/** Each of them may be asked for once more. */
export const MOST_MISSED = 5;

/**
 * The facts about changes that are counted once they are committed. A page that waits for its commit keeps only these: its records would
 * survive many garbage collections for a few numbers.
 */
export interface PublishedChanges {
  readonly count: number;
  readonly ops: Readonly<Record<Op, number>>;
  /** Count of each transition, by its index in the feed's definition. */
  readonly transitions: readonly number[];
  /** `updated` of the changes that a poll found, Unix seconds. Tells how long it took to see them. */
  readonly polledUpdated: readonly number[];
  /** Creates and updates of a reconcile that the next poll would have found too. */
  readonly ordinary: { readonly c: number; readonly u: number };
  /** Records of a reconcile with an `updated` that polls had passed without seeing it, at most `MOST_MISSED`. */
  readonly missed: readonly MissedRow[];
  /** The `extra` of the changed records, if it is not empty. */
  readonly extras: readonly RecordValues['extra'][];
}

/** The events and dead letters of a page, which will be published. */
export interface PageNews {
  readonly events: readonly ChangeEvents[];
  readonly changes: PublishedChanges;
  readonly letters: readonly DeadLetter[];
}

/**
 * Finds the changes of a page. Each change is numbered and applied to the pending state before the next record is compared, so a record
 * that comes twice in a page is compared with its own first version.
 */
export class PageChanges {
  /** Records that are older than their image, go back to contents of the same second, or were deleted lately: see `Doubts`. */
  readonly doubtful: VendorRecord[] = [];
  /** Rows that differ from their record's image, beside the row of the image or a newer one in the same answer. */
  readonly outdated: VendorRecord[] = [];
  /** Changes that the log would refuse. */
  readonly tooLarge: TooLarge[] = [];
  /** Records that cannot be compared or written: they must not keep the others from being published. */
  readonly unfit: Unfit[] = [];
  private readonly events: ChangeEvents[] = [];
  private readonly firstSight: 'c' | 'r';
  private readonly incarnation: string;
  private readonly seq: number;
  private readonly beginsAt: number;
  /** Precedes the number in the id of an event. */
  private readonly idPrefix: string;
  private rowsOfId: ReadonlyMap<string, readonly VendorRecord[]> | null = null;

  /**
   * @param pending the state before the page, with the position that the page makes of it
   * @param page all records of the answer
   */
  constructor(
    private readonly deps: ChangeDeps,
    private readonly pending: PendingState,
    private readonly observedAtMs: number,
    private readonly origin: Origin,
    private readonly page: readonly VendorRecord[] = [],
  ) {
    // A record that a snapshot or a backfill sees for the first time may have existed for long.
    this.firstSight = origin === 'snapshot' || origin === 'backfill' ? 'r' : 'c';
    const { incarnation, seq, begins_at } = pending.offset;
    this.incarnation = incarnation;
    this.seq = seq;
    this.beginsAt = begins_at;
    this.idPrefix = `${deps.feed.name}:${incarnation}:`;
  }

  /**
   * Compares a record with its last published image. Call it for the records in the order in which they were observed.
   *
   * A record that equals its image, or differs in nothing that a reader would notice, did not change. Its image stays as published:
   * the next change's `before` must be the last published `after` (I3, I6).
   * @param isConfirmed false: a record that is older than its image, or was deleted, is doubtful
   */
  compare(record: VendorRecord, isConfirmed: boolean): void {
    const change = this.changeOf(record, isConfirmed);
    if (change !== null) this.publish(change);
  }

  /** The record is gone. */
  remove(id: string): void {
    const { images, earlier } = this.deps;
    const before = images.withoutOmitted(this.pending.image(id)!);
    const beforeRecord = images.decode(before);
    earlier.noteGone(id, beforeRecord.updated, this.observedAtMs);
    this.publish({ op: 'd', id, before, after: null, beforeRecord, afterRecord: null, changedFields: NONE });
  }

  /**
   * Ends the page. Rows that are not published become dead letters.
   * @param decoded the rows; null: they are dead letters already
   */
  news(decoded: Decoded | null): PageNews {
    const { events, tooLarge, unfit, pending } = this;
    const { feed, session } = this.deps;
    pending.moveOffset({ seq: this.seq + events.length });
    const limit = session.maxRecordBytes();
    const letters = decoded === null ? [] : newDeadLetters(decoded, tooLarge, unfit, limit, pending);
    return { events, changes: publishedChanges(feed, events, pending.offset), letters };
  }

  private changeOf(record: VendorRecord, isConfirmed: boolean): Change | null {
    const { pending } = this;
    const { image } = this.deps.codec;
    let encoded: Buffer;
    try {
      encoded = image.encodeShared(record);
    } catch (error) {
      return this.setAside(record, 'written', error);
    }
    // Nearly all records of a poll are unchanged. Their image shows that, and the one before it need not be read.
    if (pending.isSame(record.id, encoded)) {
      pending.see(record.id, record.updated);
      return pending.isUnshown(record.id) ? firstSight(record, 'r', image.keep(encoded)) : null;
    }
    const before = pending.image(record.id);
    if (before === undefined) {
      // In a feed that began without a snapshot, older records are unknown on purpose.
      if (this.firstSight === 'c' && record.updated < this.beginsAt) return null;
      if (isConfirmed || !this.wasGone(record))
        return firstSight(record, this.firstSight, image.keep(encoded));
      this.doubtful.push(record);
      return null;
    }
    return this.changeFrom(before, record, isConfirmed);
  }

  /** Whether the record was deleted lately, and has no later time. Nothing tells which of two rows with one id it was. */
  private wasGone({ id, updated }: VendorRecord): boolean {
    return this.deps.earlier.wasGone(id, updated, this.observedAtMs) && this.rowsOf(id).length < 2;
  }

  private rowsOf(id: string): readonly VendorRecord[] {
    this.rowsOfId ??= rowsOfIds(this.page);
    return this.rowsOfId.get(id) ?? [];
  }

  private changeFrom(published: Buffer, record: VendorRecord, isConfirmed: boolean): Change | null {
    const { pending } = this;
    const { images, codec, onTouch } = this.deps;
    const { id } = record;
    const before = images.withoutOmitted(published);
    let comparison: ImageComparison;
    try {
      comparison = images.compare(before, record);
    } catch (error) {
      images.decode(before); // throws when the image is at fault, not the record
      return this.setAside(record, 'compared', error);
    }
    const { beforeRecord, changedFields } = comparison;
    const isNews = changedFields.length > 0;
    if (isNews && record.updated <= beforeRecord.updated) {
      const doubt = this.doubtAbout(record, before, beforeRecord.updated, isConfirmed);
      if (doubt !== null) {
        doubt.push(record);
        return null;
      }
    }
    pending.see(id, record.updated);
    if (isNews) {
      const after = codec.image.encode(record);
      return { op: 'u', id, before, after, beforeRecord, afterRecord: record, changedFields };
    }
    // A later snapshot shows it again to readers who have begun since, and what `omit` names now must leave the image.
    if (pending.isUnshown(id) || before !== published)
      return firstSight(record, 'r', codec.image.encode(record));
    if (record.updated > beforeRecord.updated) onTouch?.();
    return null;
  }

  /**
   * The list that takes a record which differs from its image and is not newer; null: it is published. In one answer, the newest row is
   * the record; if several have its time, the last of them.
   */
  private doubtAbout(
    record: VendorRecord,
    before: Buffer,
    updatedBefore: number,
    isConfirmed: boolean,
  ): VendorRecord[] | null {
    const { images, earlier, codec } = this.deps;
    const { observedAtMs } = this;
    const { id, updated } = record;
    const isOlder = updated < updatedBefore;
    const image = isOlder ? null : codec.image.encode(record);
    const isKnown = image !== null && earlier.has(id, image, observedAtMs);
    const rows = this.rowsOf(id);
    const others = isOlder || isKnown ? rows : rows.slice(rows.indexOf(record) + 1);
    if (others.some((row) => (isOlder && row.updated > updated) || images.isShownBy(before, row))) {
      // On another day, a border between two pages may separate these rows.
      if (image !== null) earlier.addBeside(id, image, observedAtMs);
      return this.outdated;
    }
    if (isConfirmed) return null;
    if (isOlder || isKnown) return this.doubtful;
    earlier.add(id, before, observedAtMs);
    return null;
  }

  private setAside(record: VendorRecord, what: 'written' | 'compared', error: unknown): null {
    if (error instanceof HighwaterError) throw error;
    this.unfit.push({ record, reason: `the record cannot be ${what}: ${(error as Error).message}` });
    return null;
  }

  /** A change that the log would refuse is left out: the image stays as published, and the numbers have no gap. */
  private publish(change: Change): void {
    const { events, pending } = this;
    const { feed, session, encoder } = this.deps;
    const origins = transitionOrigins(feed, change, pending);
    if (isSurelyWithin(session.maxRecordBytes(), change, origins, pending)) {
      events.push(this.apply(change, origins, pending));
      return;
    }
    const layer = pending.begin();
    const event = this.apply(change, origins, layer);
    const bytes = encoder.largestRecordBytes(event);
    if (bytes > session.maxRecordBytes()) {
      this.tooLarge.push({ change, bytes });
      return;
    }
    layer.settle();
    events.push(event);
  }

  /**
   * The order of the steps must not change: a transition compares the newest of its group before the change with the newest
   * after it.
   */
  private apply(change: Change, origins: readonly TransitionOrigin[], pending: PendingState): ChangeEvents {
    const { origin, observedAtMs, incarnation } = this;
    const { feed, appId, firstSights } = this.deps;
    const record = (change.afterRecord ?? change.beforeRecord)!;
    const updated = feed.updatedField === null ? observedAtMs / 1_000 : record.updated;
    firstSights.note(change, feed.updatedField === null ? null : updated, observedAtMs);
    const seq = this.seq + this.events.length + 1;
    const tail = {
      op: change.op,
      changed_fields: change.changedFields,
      source: {
        connector: 'highwater',
        version,
        name: appId,
        feed: feed.name,
        endpoint: feed.path,
        updated: Math.floor(updated),
        ts_ms: Math.round(updated * 1000),
        snapshot: origin === 'snapshot' ? ('true' as const) : ('false' as const),
        origin,
        incarnation,
        seq,
      },
      ts_ms: observedAtMs,
      event_id: this.idPrefix + seq,
    };
    pending.apply(change);
    const transitions = transitionEvents(feed, change, origins, pending, tail);
    return { change, tail, transitions, symbol: symbolOf(record, feed) };
  }
}

const NONE: readonly string[] = [];

/** The records that come more than once. */
function rowsOfIds(page: readonly VendorRecord[]): ReadonlyMap<string, readonly VendorRecord[]> {
  const rows = new Map<string, VendorRecord[]>();
  for (const record of page) {
    const others = rows.get(record.id);
    if (others === undefined) rows.set(record.id, [record]);
    else others.push(record);
  }
  return rows;
}

function firstSight(record: VendorRecord, op: 'c' | 'r', after: Buffer): Change {
  const { id } = record;
  return { op, id, before: null, after, beforeRecord: null, afterRecord: record, changedFields: NONE };
}

/**
 * Most records have some hundred bytes, and nothing needs to be encoded to know that they fit. An event or a transition repeats parts
 * of the images a few times (in the key, the headers, `changed_fields`), and adds a few KB.
 */
function isSurelyWithin(
  maxBytes: number,
  change: Change,
  origins: readonly TransitionOrigin[],
  pending: PendingState,
): boolean {
  if (maxBytes === Number.POSITIVE_INFINITY) return true;
  let imageBytes = (change.before?.length ?? 0) + (change.after?.length ?? 0);
  // A transition also repeats another record: the former newest record of the group.
  for (const { before } of origins) if (before !== null) imageBytes += pending.image(before.id)!.length;
  return imageBytes * 8 + 64 * 1024 <= maxBytes;
}

function symbolOf(record: VendorRecord, { symbolField }: Feed): string | null {
  if (symbolField === null) return null;
  return record.symbol === undefined ? (valueAt(record.values, symbolField) as string | null) : record.symbol;
}

export function publishedChanges(
  feed: Feed,
  events: readonly ChangeEvents[],
  { high_water_mark, last_complete_scan_ms }: Pick<SourceOffset, 'high_water_mark' | 'last_complete_scan_ms'>,
): PublishedChanges {
  const ops: Record<Op, number> = { c: 0, u: 0, d: 0, r: 0 };
  const transitions = feed.transitions.map(() => 0);
  const polledUpdated: number[] = [];
  const ordinary = { c: 0, u: 0 };
  const nextPollFrom = feed.parameters.updatedSince === null ? 0 : high_water_mark - feed.overlapSeconds;
  // A filter by another time shows rows that are later than the mark to no poll.
  const seenBefore = Math.max(high_water_mark, (last_complete_scan_ms ?? 0) / 1_000) - feed.overlapSeconds;
  const missed: MissedRow[] = [];
  const extras: RecordValues['extra'][] = [];
  for (const { change, tail, transitions: moved } of events) {
    ops[change.op]++;
    for (const { index } of moved) transitions[index]!++;
    if (tail.source.origin === 'poll') polledUpdated.push(tail.source.updated);
    if (tail.source.origin === 'reconcile') {
      const { beforeRecord, afterRecord: now } = change;
      if (isOrdinary(change, feed, nextPollFrom)) ordinary[change.op]++;
      const isMissed = now !== null && now.updated !== beforeRecord?.updated && now.updated < seenBefore;
      if (isMissed && missed.length < MOST_MISSED) missed.push({ id: now.id, updated: now.updated });
    }
    if (change.afterRecord !== null && hasMembers(change.afterRecord.values.extra))
      extras.push(change.afterRecord.values.extra);
  }
  return { count: events.length, ops, transitions, polledUpdated, ordinary, missed, extras };
}

/** A poll would have found it: `updated` has moved, and not to a time that polls have passed. Or a poll compares everything. */
function isOrdinary(
  change: Change,
  { updatedField }: Feed,
  nextPollFrom: number,
): change is Change & { readonly op: 'c' | 'u' } {
  const { op, beforeRecord, afterRecord } = change;
  if ((op !== 'c' && op !== 'u') || afterRecord === null) return false;
  if (updatedField === null) return true;
  return afterRecord.updated !== beforeRecord?.updated && afterRecord.updated >= nextPollFrom;
}

function hasMembers(extra: RecordValues['extra']): boolean {
  for (const _ in extra) return true;
  return false;
}
