import type { FeedCodec } from '../../avro/codec/feed-codec';
import { HighwaterError } from '../../errors';
import type { PendingState } from '../../state/pending-state';
import type { Change, Unfit, VendorRecord } from '../../types';
import type { ImageComparison, Images } from './images';

export interface DiffOptions {
  readonly codec: Pick<FeedCodec, 'image'>;
  readonly images: Images;
  /** What to call a record without an image: `r` while a snapshot runs, else `c`. */
  readonly firstSight: 'c' | 'r';
  /** Called for each record with nothing new but its `updated`. */
  readonly onTouch?: (() => void) | undefined;
  /** Records that cannot be compared or written are put there; without it, they end the comparison. */
  readonly unfit?: Unfit[];
}

/**
 * Compares records with their last published images, in the order they were observed. It yields one change at a time, and
 * whoever takes it applies it to the pending state before asking for the next: a record that comes twice in a page is
 * compared with what the first one made of it.
 *
 * A record that equals its image, or differs in nothing that a reader would notice, yields nothing, and its image stays as
 * published: the next change's `before` is what was last read as `after` (I3, I6).
 *
 * @param doubtful records that are older than their image are put there: they need a second, agreeing read. Without it they count
 */
export function* diff(
  records: Iterable<VendorRecord>,
  pending: PendingState,
  options: DiffOptions,
  doubtful: VendorRecord[] | null = null,
): Generator<Change> {
  const { images } = options;
  const { image } = options.codec;
  const { begins_at } = pending.offset;
  for (const record of records) {
    const before = pending.image(record.id);
    // Nearly all records of a poll are as they were: comparing bytes settles them without an object.
    let encoded: Buffer;
    try {
      encoded = image.encodeShared(record);
    } catch (error) {
      setAside(record, 'written', error, options);
      continue;
    }
    if (before?.equals(encoded) && !pending.isUnshown(record.id)) {
      pending.see(record.id, record.updated);
      continue;
    }
    if (before === undefined) {
      // Of a feed that began without a snapshot, what is older is unknown on purpose.
      if (options.firstSight === 'c' && record.updated < begins_at) continue;
      yield firstSight(record, options.firstSight, image.keep(encoded));
      continue;
    }

    let comparison: ImageComparison;
    try {
      comparison = images.compare(before, record);
    } catch (error) {
      images.decode(before); // throws when the image is at fault, not the record
      setAside(record, 'compared', error, options);
      continue;
    }
    const { beforeRecord, changedFields } = comparison;
    const isDoubtful = doubtful !== null && changedFields.length > 0 && record.updated < beforeRecord.updated;
    if (isDoubtful) {
      doubtful.push(record);
      continue;
    }
    pending.see(record.id, record.updated);
    if (changedFields.length === 0) {
      // A later snapshot shows it again to readers who have begun since.
      if (pending.isUnshown(record.id)) yield firstSight(record, 'r', image.encode(record));
      else if (record.updated > beforeRecord.updated) options.onTouch?.();
      continue;
    }
    yield {
      op: 'u',
      id: record.id,
      before,
      after: image.encode(record),
      beforeRecord,
      afterRecord: record,
      changedFields,
    };
  }
}

/** What one record holds must not keep the others of its page from being published. */
function setAside(
  record: VendorRecord,
  what: 'written' | 'compared',
  error: unknown,
  { unfit }: DiffOptions,
): void {
  if (unfit === undefined || error instanceof HighwaterError) throw error;
  unfit.push({ record, reason: `the record cannot be ${what}: ${(error as Error).message}` });
}

function firstSight(record: VendorRecord, op: 'c' | 'r', after: Buffer): Change {
  const { id } = record;
  return { op, id, before: null, after, beforeRecord: null, afterRecord: record, changedFields: NONE };
}

const NONE: readonly string[] = [];
