/**
 * Kafka's default partitioner: murmur2 over the key's UTF-8 bytes, made positive, modulo the number of partitions. So a key is in
 * the same partition on both logs and for every Kafka client.
 */
export function partitionOf(key: string, partitions: number): number {
  if (partitions === 1) return 0;
  // Java's `toPositive`: the sign bit goes. The absolute value would differ, and has none for the least integer.
  return (hashOf(key) & 0x7fffffff) % partitions;
}

/** A change asks for the partition of its key three times in a row. */
let latest: { readonly key: string; readonly hash: number } | null = null;

function hashOf(key: string): number {
  if (latest === null || latest.key !== key) latest = { key, hash: newHashOf(key) };
  return latest.hash;
}

/** Nearly all keys are ASCII, and short: to make a buffer of each takes longer than the hash. */
const shared = Buffer.alloc(64);

function newHashOf(key: string): number {
  const { length } = key;
  if (length > shared.length) return murmur2(Buffer.from(key, 'utf8'));
  for (let i = 0; i < length; i++) {
    const unit = key.charCodeAt(i);
    if (unit >= 0x80) return murmur2(Buffer.from(key, 'utf8'));
    shared[i] = unit;
  }
  return murmur2(shared, length);
}

const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** 32-bit murmur2 with Kafka's seed, as a signed integer like Java's. @param length number of bytes to hash, from the first one */
export function murmur2(bytes: Buffer, length = bytes.length): number {
  const tail = length & ~3;
  let h = SEED ^ length;
  for (let i = 0; i < tail; i += 4) {
    const four = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    // Multiplied as 32-bit integers: a plain product loses its low bits above 2^53.
    let k = Math.imul(four, M);
    k = Math.imul(k ^ (k >>> R), M);
    h = Math.imul(h, M) ^ k;
  }
  const rest = length - tail;
  if (rest > 0) h = Math.imul(h ^ bytes.readUIntLE(tail, rest), M);
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}
