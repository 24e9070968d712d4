import { createCRC32, type IHasher } from 'hash-wasm';

/**
 * The checksum of batches, in WebAssembly: kafkajs's own, byte by byte, takes ten times as long. One for all: nobody waits while
 * it works.
 * @throws where there is no WebAssembly
 */
export function crc32c(): Promise<IHasher> {
  hasher ??= createCRC32(0x82f63b78);
  return hasher;
}
let hasher: Promise<IHasher> | null = null;
