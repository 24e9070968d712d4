const smallest = 64 * 1024;
const largest = 4 * 1024 * 1024;

/** Where the JSON of one record lies. The bytes are never changed once written. */
export interface RecordBytes {
  readonly slab: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * JSON texts as bytes in a few large buffers outside the heap: a page is copied from them without rendering or encoding
 * anything, and a million records do not burden the garbage collector.
 */
export function createSlabs(): (json: string) => RecordBytes {
  let slab = Buffer.allocUnsafeSlow(smallest);
  let used = 0;
  return (json) => {
    const length = Buffer.byteLength(json);
    if (used + length > slab.length) {
      slab = Buffer.allocUnsafeSlow(Math.max(length, Math.min(slab.length * 2, largest)));
      used = 0;
    }
    const start = used;
    used += slab.write(json, start, 'utf8');
    return { slab, start, end: used };
  };
}

/** `prefix` + the records with commas between + `suffix`. */
export function joinRecords(prefix: string, records: readonly RecordBytes[], suffix: string): Buffer {
  let length = prefix.length + suffix.length + Math.max(0, records.length - 1);
  for (const record of records) length += record.end - record.start;
  const body = Buffer.allocUnsafe(length);
  let at = body.write(prefix, 0, 'latin1');
  for (let i = 0; i < records.length; i++) {
    if (i > 0) body[at++] = 0x2c;
    const record = records[i]!;
    at += record.slab.copy(body, at, record.start, record.end);
  }
  body.write(suffix, at, 'latin1');
  return body;
}
