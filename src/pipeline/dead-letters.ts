import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { jsonText } from '../json-text';
import type { PendingState } from '../state/pending-state';
import type { DeadLetter, Rejected, TooLarge } from '../types';
import type { Decoded } from './decode';
import type { RecordLimit } from './events';

/** What is kept of a row that is too large to publish, in bytes of UTF-8. */
const KEPT_BYTES = 64 * 1024;
/** Of a dead letter without its texts: key, hash, numbers. */
const OWN_BYTES = 512;

/** What has become of a page's changes before its dead letters are made. */
export interface DeadLetterContext {
  readonly limit: Pick<RecordLimit, 'maxBytes'>;
  readonly tooLarge: readonly TooLarge[];
}

/**
 * A page's rows that are not published, unless their content has been kept before: the same row comes again with every
 * poll that reads it.
 */
export function newDeadLetters(
  decoded: Decoded,
  { limit: { maxBytes }, tooLarge }: DeadLetterContext,
  pending: PendingState,
): DeadLetter[] {
  const letters: DeadLetter[] = [];
  for (const row of [...decoded.rejected, ...tooLarge.map((each) => rejected(each, decoded, maxBytes))]) {
    const sha256 = createHash('sha256').update(row.raw).digest('hex');
    if (pending.hasDeadLetter(sha256)) continue;
    pending.addDeadLetter(sha256);
    const bytes = Buffer.byteLength(row.raw);
    const room = Math.max(0, maxBytes - OWN_BYTES - Buffer.byteLength(row.reason));
    const isCut = row.id !== undefined || bytes > room;
    const raw = isCut ? beginning(row.raw, Math.min(KEPT_BYTES, room)) : row.raw;
    letters.push({ ...row, raw, sha256, bytes });
  }
  return letters;
}

function rejected({ change, bytes }: TooLarge, { records, rows }: Decoded, maxBytes: number): Rejected {
  const { id } = change;
  const record = change.afterRecord ?? change.beforeRecord!;
  const row = rows[records.indexOf(record)] ?? record;
  const reason = `the change is too large for the log: ${bytes} bytes, and it takes ${maxBytes}`;
  return { id, reason, raw: jsonText(row) };
}

/** The beginning of a text, at most so many bytes of UTF-8, without half a character. */
function beginning(text: string, maxBytes: number): string {
  // A character has at least as many bytes as units: what lies behind cannot be needed.
  const bytes = Buffer.from(text.slice(0, maxBytes));
  return new StringDecoder('utf8').write(bytes.subarray(0, maxBytes));
}
