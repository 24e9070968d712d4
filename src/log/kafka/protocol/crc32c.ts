import { createCRC32 } from 'hash-wasm';
import { crc32cByByte } from '../connection/kafkajs-internals';

/** @returns the CRC-32C of the pieces in a row, unsigned */
export type Checksum = (...pieces: readonly Buffer[]) => number;

/** The checksum of batches. In WebAssembly it is ten times as fast; `node --jitless` has none. */
export function crc32c(): Promise<Checksum> {
  checksum ??= inWebAssembly().catch(() => byByte);
  return checksum;
}
let checksum: Promise<Checksum> | null = null;

async function inWebAssembly(): Promise<Checksum> {
  const hasher = await createCRC32(0x82f63b78);
  // All callers share one, since it runs without a pause.
  return (...pieces) => {
    hasher.init();
    for (const piece of pieces) hasher.update(piece);
    const sum = hasher.digest('binary');
    return new DataView(sum.buffer, sum.byteOffset).getUint32(0);
  };
}

const byByte: Checksum = (...pieces) =>
  crc32cByByte(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
