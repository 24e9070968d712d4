/**
 * Numbers and texts as both Avro and Kafka's record format write them: zigzag varints, and texts in UTF-8 after their length. The
 * caller makes sure that the memory has room.
 */

/** The most bytes that one UTF-16 unit of a text takes, and the most bytes of a varint. */
export const [MOST_BYTES_A_UNIT, MOST_VARINT_BYTES] = [3, 8] as const;

/** @param value an integer from 0 to below 2^52. @returns the position after it */
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

/** Nearly all texts are short and ASCII: a call of Buffer would take longer than the loop. @returns the position after it */
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
