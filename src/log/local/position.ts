import { HighwaterError } from '../../errors';
import { isCompacted } from '../topics';
import type { ReaderConnection, StoredRecord } from './file/reader-connection';

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
