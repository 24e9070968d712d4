import { createCRC32 } from 'hash-wasm';
import { crc32cByByte } from '../connection/kafkajs-internals';

/** @returns the CRC-32C of the pieces in a row, unsigned */
export type Checksum = (...pieces: readonly Buffer[]) => number;

/** The checksum of batches: in WebAssembly, which is ten times as fast, unless there is none (`node --jitless`). */
export function crc32c(): Promise<Checksum> {
  checksum ??= inWebAssembly().catch(() => byByte);
  return checksum;
}
let checksum: Promise<Checksum> | null = null;

async function inWebAssembly(): Promise<Checksum> {
  const hasher = await createCRC32(0x82f63b78);
  // One for all: it does not wait for anything while it works.
  return (...pieces) => {
    hasher.init();
    for (const piece of pieces) hasher.update(piece);
    const sum = hasher.digest('binary');
    return new DataView(sum.buffer, sum.byteOffset).getUint32(0);
  };
}

const byByte: Checksum = (...pieces) =>
  crc32cByByte(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
