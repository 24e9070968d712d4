/**
 * Most bytes that compressed bytes unfold to, as their format tells without unfolding them. A few hundred kilobytes of zeros can become
 * gigabytes, and anyone who may write to a topic may write them. Bytes that are not of the format: no more than is read of them.
 */
export const unfoldedSize = { lz4, zstd, snappy };

/** https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md: blocks of at most the size that the frame names. */
function lz4(bytes: Buffer): number {
  if (bytes.length < 7) return 0;
  const [flags, descriptor] = [bytes[4]!, bytes[5]!];
  const block = 2 ** (8 + 2 * ((descriptor >> 4) & 7));
  const checksum = (flags & 16) === 0 ? 0 : 4;
  let blocks = 0;
  for (
    let at = 7 + ((flags & 8) === 0 ? 0 : 8) + ((flags & 1) === 0 ? 0 : 4);
    at + 4 <= bytes.length;
    blocks++
  ) {
    const size = bytes.readUInt32LE(at) & 0x7fff_ffff;
    if (size === 0) break;
    at += 4 + size + checksum;
  }
  return blocks * block;
}

const ZSTD_FRAME = 0xfd2f_b528;
const ZSTD_BLOCK = 128 * 1_024;

/** RFC 8878: frames of blocks, each of at most 128 KiB. */
function zstd(bytes: Buffer): number {
  let total = 0;
  for (let at = 0; at + 5 <= bytes.length; ) {
    if (bytes.readUInt32LE(at) !== ZSTD_FRAME) {
      // A frame that is skipped has its length behind its number.
      at += 8 + (at + 8 <= bytes.length ? bytes.readUInt32LE(at + 4) : 0);
      continue;
    }
    const descriptor = bytes[at + 4]!;
    const isSingle = (descriptor & 32) !== 0;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
    at += 5 + (isSingle ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]! + sizeBytes;
    for (let isLast = false; !isLast && at + 3 <= bytes.length; ) {
      const header = bytes.readUIntLE(at, 3);
      const [isRepeated, size] = [((header >> 1) & 3) === 1, header >> 3];
      isLast = (header & 1) === 1;
      total += isRepeated ? size : ZSTD_BLOCK;
      at += 3 + (isRepeated ? 1 : size);
    }
    if ((descriptor & 4) !== 0) at += 4;
  }
  return total;
}

const XERIAL = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0]);

/** Blocks behind the header of xerial, or a single block. Each begins with the size that it unfolds to. */
function snappy(bytes: Buffer): number {
  if (!bytes.subarray(0, XERIAL.length).equals(XERIAL)) return varint(bytes, 0);
  let total = 0;
  for (let at = 16; at + 4 <= bytes.length; at += 4 + bytes.readUInt32BE(at)) total += varint(bytes, at + 4);
  return total;
}

function varint(bytes: Buffer, start: number): number {
  let value = 0;
  for (let i = 0; i < 5 && start + i < bytes.length; i++) {
    value += (bytes[start + i]! & 127) * 2 ** (7 * i);
    if (bytes[start + i]! < 128) break;
  }
  return value;
}
