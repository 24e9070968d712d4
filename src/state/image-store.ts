/**
 * The image of each record of a feed, by id. Images lie side by side in slabs, outside of the heap: a buffer of its own for each
 * takes twice the memory, and the collector has to look at them all. In the heap an image is its id and one number.
 */
export interface ImageStore {
  readonly size: number;
  /** Of all images. */
  readonly bytes: number;
  has(id: string): boolean;
  /** Its bytes never change, whatever becomes of the image. Holding them holds their slab. */
  get(id: string): Buffer | undefined;
  /**
   * Copies it. Where the API shows the record is not known from then on.
   * @param seq of the change that wrote it, or a later one of the same transaction
   */
  set(id: string, image: Buffer, seq: number): void;
  delete(id: string): void;
  /** Infinity when there is no image. */
  seqOf(id: string): number;
  /** The API shows the record at this second. When it has shown it at a later one, two answers disagree, and neither is believed. */
  see(id: string, updated: number): void;
  /** Unix seconds; null when it is not known. */
  seenAt(id: string): number | null;
  ids(): IterableIterator<string>;
  values(): IterableIterator<Buffer>;
  /** What the slabs take: a third more than the images at most, and a slab or two. */
  readonly slabBytes: number;
}

interface Slab {
  readonly memory: Buffer;
  /** Of all images that were put there, those that are elsewhere or gone by now among them. */
  readonly ids: string[];
  used: number;
  live: number;
}

const SLAB_BYTES = 2 ** 20;
/** A slab of which less is in use is given up: memory stays within a third of the images, and a change moves three others at most. */
const LEAST_LIVE = 0.75;
/** An image above this part of a slab gets one of its own. */
const LARGE = 4;
/** Before each image: its length, its seq, and the second at which the API last showed the record: doubles, NaN where it is not known. */
const SEQ_AT = 4;
const SEEN_AT = 12;
const HEADER_BYTES = 20;
/** Images begin at multiples of it. So the place of an image is a small integer, which takes no object, up to 8 GB. */
const ALIGNMENT = 4;
/** So many slabs of a store, the first ones that it makes, are memory that V8 does not count. */
const UNCOUNTED_SLABS = 64;
const PLACES_PER_SLAB = SLAB_BYTES / ALIGNMENT;

export function imageStore(slabBytes = SLAB_BYTES): ImageStore {
  const places = new Map<string, number>();
  const slabs: (Slab | undefined)[] = [];
  const vacant: number[] = [];
  /** Slabs of which something is gone. */
  const suspects: number[] = [];
  let current = -1;
  let bytes = 0;
  let allSlabBytes = 0;
  let uncounted = 0;

  function put(id: string, image: Buffer, seq: number, seen: number): void {
    const needed = aligned(HEADER_BYTES + image.length);
    const index = slabFor(needed);
    const slab = slabs[index]!;
    const at = slab.used;
    slab.memory.writeUInt32LE(image.length, at);
    slab.memory.writeDoubleLE(seq, at + SEQ_AT);
    slab.memory.writeDoubleLE(seen, at + SEEN_AT);
    image.copy(slab.memory, at + HEADER_BYTES);
    slab.ids.push(id);
    slab.used += needed;
    slab.live += needed;
    places.set(id, index * PLACES_PER_SLAB + at / ALIGNMENT);
  }

  function slabFor(needed: number): number {
    if (needed > slabBytes / LARGE) return openSlab(needed);
    const slab = slabs[current];
    if (slab !== undefined && slab.used + needed <= slab.memory.length) return current;
    if (slab !== undefined) suspects.push(current);
    current = openSlab(slabBytes);
    return current;
  }

  function openSlab(size: number): number {
    const index = vacant.pop() ?? slabs.length;
    slabs[index] = { memory: slabMemory(size), ids: [], used: 0, live: 0 };
    allSlabBytes += size;
    return index;
  }

  /**
   * V8 looks through its whole heap whenever buffers outside it have grown by 64 MB, to see whether some can be given back: slabs
   * cannot, while a state grows. It does not count memory that threads could share, though here none do. Later ones are counted:
   * they take the place of some that were given up, or are of a single image that changes, and with many slabs V8's looks
   * give back early what answers leave in between (a million records: 992 instead of 1,078 MiB).
   */
  function slabMemory(size: number): Buffer {
    if (size !== slabBytes || uncounted === UNCOUNTED_SLABS) return Buffer.allocUnsafeSlow(size);
    uncounted++;
    return Buffer.from(new SharedArrayBuffer(size));
  }

  function numberAt(place: number, field: number): number {
    return slabs[slabOf(place)]!.memory.readDoubleLE(offsetOf(place) + field);
  }

  function view(place: number): Buffer {
    const { memory } = slabs[slabOf(place)]!;
    const at = offsetOf(place);
    const begin = at + HEADER_BYTES;
    return memory.subarray(begin, begin + memory.readUInt32LE(at));
  }

  /** Nothing points there any more. */
  function release(place: number): void {
    const slab = slabs[slabOf(place)]!;
    const length = slab.memory.readUInt32LE(offsetOf(place));
    slab.live -= aligned(HEADER_BYTES + length);
    bytes -= length;
    suspects.push(slabOf(place));
  }

  /** Only when all places are as they should be: it moves images. */
  function tidyAll(): void {
    for (let index = suspects.pop(); index !== undefined; index = suspects.pop()) tidy(index);
  }

  /**
   * A slab of which too much is gone is given up, and what it holds goes elsewhere. Memory is not written over: what was handed out may
   * still be in use.
   */
  function tidy(index: number): void {
    const slab = slabs[index];
    if (slab === undefined || index === current || slab.live >= slab.used * LEAST_LIVE) return;
    slabs[index] = undefined;
    allSlabBytes -= slab.memory.length;
    for (const id of slab.ids) {
      const place = places.get(id);
      if (place === undefined || slabOf(place) !== index) continue;
      const at = offsetOf(place);
      const begin = at + HEADER_BYTES;
      const image = slab.memory.subarray(begin, begin + slab.memory.readUInt32LE(at));
      put(id, image, slab.memory.readDoubleLE(at + SEQ_AT), slab.memory.readDoubleLE(at + SEEN_AT));
    }
    // Not before: what lies in a new slab under its number would pass for what is yet to be moved.
    vacant.push(index);
  }

  return {
    get size() {
      return places.size;
    },
    get bytes() {
      return bytes;
    },
    get slabBytes() {
      return allSlabBytes;
    },
    has: (id) => places.has(id),
    get(id) {
      const place = places.get(id);
      return place === undefined ? undefined : view(place);
    },
    set(id, image, seq) {
      const before = places.get(id);
      put(id, image, seq, Number.NaN);
      bytes += image.length;
      if (before !== undefined) release(before);
      tidyAll();
    },
    delete(id) {
      const place = places.get(id);
      if (place === undefined) return;
      places.delete(id);
      release(place);
      tidyAll();
    },
    seqOf(id) {
      const place = places.get(id);
      return place === undefined ? Number.POSITIVE_INFINITY : numberAt(place, SEQ_AT);
    },
    see(id, updated) {
      const place = places.get(id);
      if (place === undefined) return;
      const seen = updated < numberAt(place, SEEN_AT) ? Number.NaN : updated;
      slabs[slabOf(place)]!.memory.writeDoubleLE(seen, offsetOf(place) + SEEN_AT);
    },
    seenAt(id) {
      const place = places.get(id);
      if (place === undefined) return null;
      const seen = numberAt(place, SEEN_AT);
      return Number.isNaN(seen) ? null : seen;
    },
    ids: () => places.keys(),
    *values() {
      for (const place of places.values()) yield view(place);
    },
  };
}

const aligned = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const slabOf = (place: number): number => Math.floor(place / PLACES_PER_SLAB);
const offsetOf = (place: number): number => (place % PLACES_PER_SLAB) * ALIGNMENT;
