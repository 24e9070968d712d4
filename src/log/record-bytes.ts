import type { ProducerRecord } from './commit-log';

/** Overhead of each header, for the lengths of its name and its value. */
const HEADER_OVERHEAD_BYTES = 4;

/** Size of a record's key, value and headers, as `FeedSession.maxRecordBytes` counts it. */
export function recordBytes({ key, value, headers }: ProducerRecord): number {
  let bytes = Buffer.byteLength(key) + (value?.length ?? 0);
  for (const name in headers)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(headers[name]!) + HEADER_OVERHEAD_BYTES;
  return bytes;
}
