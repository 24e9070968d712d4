/**
 * Kafka's default partitioner, so that a key lies in the same partition on either log and for every Kafka client:
 * murmur2 over the key's UTF-8 bytes, made positive, modulo the number of partitions.
 */
export function partitionOf(key: string, partitions: number): number {
  return partitions === 1 ? 0 : toPositive(murmur2(Buffer.from(key, 'utf8'))) % partitions;
}

const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** 32-bit murmur2 with Kafka's seed, as a signed integer like Java's. */
export function murmur2(bytes: Buffer): number {
  const tail = bytes.length & ~3;
  let h = SEED ^ bytes.length;
  for (let i = 0; i < tail; i += 4) {
    // Multiplied as 32-bit integers: a plain product loses its low bits above 2^53.
    let k = Math.imul(bytes.readInt32LE(i), M);
    k = Math.imul(k ^ (k >>> R), M);
    h = Math.imul(h, M) ^ k;
  }
  const rest = bytes.length - tail;
  if (rest > 0) {
    h = Math.imul(h ^ bytes.readUIntLE(tail, rest), M);
  }
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}

/** Java's `toPositive`: the sign bit goes. The absolute value would differ, and has none for the least integer. */
function toPositive(hash: number): number {
  return hash & 0x7fffffff;
}
