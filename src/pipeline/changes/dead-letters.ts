import { StringDecoder } from 'node:string_decoder';
import { jsonText } from '../../json/json-text';
import { wholeOf } from '../../json/unreadable-row';
import type { PendingState } from '../../state/feed-state';
import type { DeadLetter, Rejected, TooLarge, Unfit, VendorRecord } from '../../types';
import type { Decoded } from '../records/decode';

/** Kept bytes of UTF-8 of a row that is too large to publish. */
const KEPT_BYTES = 64 * 1024;
/** Size of a dead letter without its texts: key, hash, numbers. */
const OWN_BYTES = 512;

/** Makes dead letters of a page's rows that are not published. Content that is kept already is left out, since every poll reads it again. */
export function newDeadLetters(
  decoded: Decoded,
  tooLarge: readonly TooLarge[],
  unfit: readonly Unfit[],
  maxBytes: number,
  pending: PendingState,
): DeadLetter[] {
  const letters: DeadLetter[] = [];
  const rows = [
    ...decoded.rejected,
    ...unfit.map(({ record, reason }) => rejected(record, reason, decoded)),
    ...tooLarge.map((each) => rejectedAsTooLarge(each, decoded, maxBytes)),
  ];
  for (const row of rows) {
    const { sha256, bytes } = row.whole ?? wholeOf(row.raw);
    if (pending.hasDeadLetter(sha256)) continue;
    pending.addDeadLetter(sha256);
    const room = Math.max(0, maxBytes - OWN_BYTES - Buffer.byteLength(row.reason));
    const isCut = row.id !== undefined || bytes > room;
    const raw = isCut ? truncated(row.raw, Math.min(KEPT_BYTES, room)) : row.raw;
    letters.push({ ...row, raw, sha256, bytes });
  }
  return letters;
}

function rejectedAsTooLarge({ change, bytes }: TooLarge, decoded: Decoded, maxBytes: number): Rejected {
  const reason = `the change is too large for the log: ${bytes} bytes, and it takes ${maxBytes}`;
  return { id: change.id, ...rejected((change.afterRecord ?? change.beforeRecord)!, reason, decoded) };
}

function rejected(record: VendorRecord, reason: string, { records, rows }: Decoded): Rejected {
  return { reason, raw: jsonText(rows[records.indexOf(record)] ?? record.values) };
}

/** The beginning of a text, at most so many bytes of UTF-8, without half a character. */
function truncated(text: string, maxBytes: number): string {
  // A character has at least as many bytes as UTF-16 units, so later units cannot be needed.
  const bytes = Buffer.from(text.slice(0, maxBytes));
  return new StringDecoder('utf8').write(bytes.subarray(0, maxBytes));
}
