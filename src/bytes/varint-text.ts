/**
 * Numbers and texts as Avro and Kafka's record format write them, which is alike: zigzag varints, and texts in UTF-8 behind their
 * length. Into memory that has room for them: whoever calls has seen to it.
 */

/** A text takes at most so many bytes for one unit of UTF-16, and a varint so many. */
export const [MOST_BYTES_A_UNIT, MOST_VARINT_BYTES] = [3, 8] as const;

/** @param value whole, from 0 to below 2^52. @returns where it ends */
export function writeVarint(target: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value * 2;
  while (rest >= 0x80) {
    target[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  target[at++] = rest;
  return at;
}

export function sizeOfVarint(value: number): number {
  let [bytes, rest] = [1, value * 2];
  while (rest >= 0x80) {
    bytes++;
    rest = Math.floor(rest / 0x80);
  }
  return bytes;
}

/** Nearly all are ASCII, and short: a call of Buffer's would take longer than the loop. @returns where it ends */
export function writeText(target: Buffer, start: number, text: string): number {
  const units = text.length;
  let at = writeVarint(target, start, units);
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return writeLongText(target, start, text);
    target[at++] = unit;
  }
  return at;
}

function writeLongText(target: Buffer, start: number, text: string): number {
  const at = writeVarint(target, start, Buffer.byteLength(text));
  return at + target.write(text, at);
}
