import { HighwaterError } from '../../errors';
import { isCompacted } from '../topics';
import type { ReaderConnection } from './file/reader-connection';

/**
 * That what is to be read next is still there, or has not been written yet.
 * @param place `next`: offset of the record to come; `end`: after the last record that there is
 * @throws HighwaterError LOG_POSITION_LOST
 */
export function assertKept(
  reader: ReaderConnection,
  place: {
    readonly topic: string;
    readonly partition: number;
    readonly next: number;
    readonly end: number;
  },
): void {
  const { topic, partition, next, end } = place;
  const spec = reader.topic(topic);
  // Of a compacted topic the latest record of each key is kept, wherever it lies.
  const first = spec === null || isCompacted(spec) ? 0 : reader.firstOffset(topic, partition);
  if (next >= first && next <= end) return;
  const what = `offset ${next} of partition ${partition} of ${topic} was to be read next, and it holds ${first} to ${end}`;
  throw new HighwaterError('LOG_POSITION_LOST', what);
}
