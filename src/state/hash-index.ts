import { Column } from './column';

/** Keys in a bucket, on average. */
const LOAD = 2;

export type HashFacts = readonly [count: number, buckets: number];

/**
 * Finds the number that a key has been given. The keys lie elsewhere, and the index is columns of numbers outside the heap: a `Map` with a
 * million keys is a million objects that the collector looks through and moves. It grows by one bucket at a time (linear hashing), so that
 * no growth takes time, and nothing is ever copied.
 */
export class HashIndex {
  /** Bucket → number of its first key, plus one; 0: it is empty. */
  private readonly heads = new Column(Uint32Array);
  /** Number → number of the next key in its bucket, plus one; 0: it is the last. */
  private readonly next = new Column(Uint32Array);
  private readonly hashes = new Column(Uint32Array);
  private count = 0;
  private buckets = 1;
  /** The greatest power of two that is at most `buckets`, minus one. */
  private mask = 0;
  /** All that there is besides `facts`. */
  readonly columns = [this.heads, this.next, this.hashes];

  /**
   * @param isIt tells whether the key of a number, which has this hash, is the one that is looked for
   * @returns -1: it is not there
   */
  find(hash: number, isIt: (number: number) => boolean): number {
    let entry = this.heads.get(this.bucketOf(hash));
    while (entry !== 0) {
      const number = entry - 1;
      if (this.hashes.get(number) === hash && isIt(number)) return number;
      entry = this.next.get(number);
    }
    return -1;
  }

  /** Adds the number of a key that is not there yet. */
  add(hash: number, number: number): void {
    this.hashes.set(number, hash);
    this.put(this.bucketOf(hash), number);
    this.count++;
    if (this.count > this.buckets * LOAD) this.split();
  }

  remove(hash: number, number: number): void {
    const bucket = this.bucketOf(hash);
    const after = this.next.get(number);
    this.count--;
    let before = this.heads.get(bucket) - 1;
    if (before === number) {
      this.heads.set(bucket, after);
      return;
    }
    while (this.next.get(before) !== number + 1) before = this.next.get(before) - 1;
    this.next.set(before, after);
  }

  /** Gives the key of a number another number. */
  replace(hash: number, number: number, other: number): void {
    this.remove(hash, number);
    this.add(hash, other);
  }

  facts(): HashFacts {
    return [this.count, this.buckets];
  }

  /** Call it when the columns have been read. */
  restored([count, buckets]: HashFacts): void {
    this.count = count;
    this.buckets = buckets;
    this.mask = 2 ** (31 - Math.clz32(buckets)) - 1;
  }

  private bucketOf(hash: number): number {
    const bucket = (hash & (this.mask * 2 + 1)) >>> 0;
    return bucket < this.buckets ? bucket : (bucket & this.mask) >>> 0;
  }

  private put(bucket: number, number: number): void {
    this.next.set(number, this.heads.get(bucket));
    this.heads.set(bucket, number + 1);
  }

  /** Adds a bucket, which takes half of the keys of another one. */
  private split(): void {
    const added = this.buckets++;
    if (added > this.mask * 2 + 1) this.mask = this.mask * 2 + 1;
    const halved = added & this.mask;
    let entry = this.heads.get(halved);
    this.heads.set(halved, 0);
    while (entry !== 0) {
      const number = entry - 1;
      entry = this.next.get(number);
      this.put(this.bucketOf(this.hashes.get(number)), number);
    }
  }
}

/**
 * FNV-1a over the UTF-16 units, then mixed: texts that differ in their last digit only shall not be neighbours.
 * @param seed another one gives another hash, but for texts that have the same hash by every seed
 * @returns 32 bits, not negative
 */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
