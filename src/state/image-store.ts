import { HighwaterError } from '../errors';
import { idIndex } from './id-index';

/**
 * The image of each record of a feed, by id. Ids and images lie side by side in slabs outside the heap. A text and a buffer for each
 * record would take twice the memory, and the garbage collector would have to visit them all.
 */
export interface ImageStore {
  readonly size: number;
  /** Total size of all images. */
  readonly bytes: number;
  has(id: string): boolean;
  /** The bytes never change, even if the image does. They keep their slab in memory. */
  get(id: string): Buffer | undefined;
  /**
   * Copies the image. From then on `seenAt` of the record is unknown.
   * @param seq of the change that wrote it, or a later one of the same transaction
   * @throws HighwaterError STATE_TOO_LARGE; the store is as it was
   */
  set(id: string, image: Buffer, seq: number): void;
  delete(id: string): void;
  /** Infinity if there is no image. */
  seqOf(id: string): number;
  /** The API shows the record at this second. If it was shown at a later second before, neither answer is believed. */
  see(id: string, updated: number): void;
  /** Unix seconds; null if unknown. */
  seenAt(id: string): number | null;
  /** Records may come and go during the iteration: an id that exists from beginning to end comes once. */
  ids(): IterableIterator<string>;
  /** Ids with their numbers, from a number on. An id keeps its number as long as it is there. */
  numbered(from: number): IterableIterator<readonly [number: number, id: string]>;
  values(): IterableIterator<Buffer>;
  /** Whether only few slabs are left: a transaction's images still find a place, but no more should be begun. */
  readonly isNearlyFull: boolean;
  /** Size of all slabs: at most a third more than ids and images, and a slab or two. */
  readonly slabBytes: number;
}

interface Slab {
  readonly memory: Buffer;
  used: number;
  live: number;
}

const SLAB_BYTES = 2 ** 20;
/** A slab with a smaller live part is given up. So memory stays within a third of the images, and a change moves at most three others. */
const LEAST_LIVE = 0.75;
/** An image above this part of a slab gets its own slab. */
const LARGE = 4;
/**
 * An entry has, one after the other: length of the image, number of the id, length and width of the id, seq, the second at which
 * the API last showed the record (doubles; NaN if it is not known), the id, the image.
 */
const NUMBER_AT = 4;
const ID_LENGTH_AT = 8;
const SEQ_AT = 12;
const SEEN_AT = 20;
const HEADER_BYTES = 28;
/** Images begin at multiples of it. So a place is a number of 32 bits, up to 16 GB. */
const ALIGNMENT = 4;
/** V8 does not count the memory of the first slabs of a store. See `slabMemory`. */
const UNCOUNTED_SLABS = 64;
const PLACES_PER_SLAB = SLAB_BYTES / ALIGNMENT;
/** No slab has so high a number. */
const NOWHERE = 2 ** 32 - 1;
/** Slabs of higher numbers would have the places of the first ones. */
const MOST_SLABS = 2 ** 32 / PLACES_PER_SLAB - 1;
/** Images that must be moved find a place in these. */
const KEPT_FREE = 16;
/** For the images of a transaction: 1 GB, or so many large ones. */
const NEARLY_FULL = MOST_SLABS - 1024;

export function imageStore(slabBytes = SLAB_BYTES): ImageStore {
  const index = idIndex(hasId);
  /** Number of an id → place of its entry. */
  let places: Uint32Array = new Uint32Array(1024);
  const slabs: (Slab | undefined)[] = [];
  const vacant: number[] = [];
  /** Slabs from which an image was removed. */
  const suspects: number[] = [];
  let current = -1;
  let bytes = 0;
  let allSlabBytes = 0;
  let uncounted = 0;

  function hasId(number: number, id: string): boolean {
    const place = places[number]!;
    const { memory } = slabs[slabOf(place)]!;
    const at = offsetOf(place);
    const code = memory.readUInt32LE(at + ID_LENGTH_AT);
    if (lengthIn(code) !== id.length) return false;
    const begin = at + HEADER_BYTES;
    if (isWideIn(code)) return memory.toString('utf16le', begin, begin + bytesIn(code)) === id;
    for (let i = 0; i < id.length; i++) if (memory[begin + i] !== id.charCodeAt(i)) return false;
    return true;
  }

  function idAt(place: number): string {
    const { memory } = slabs[slabOf(place)]!;
    const at = offsetOf(place);
    const code = memory.readUInt32LE(at + ID_LENGTH_AT);
    const begin = at + HEADER_BYTES;
    return memory.toString(isWideIn(code) ? 'utf16le' : 'latin1', begin, begin + bytesIn(code));
  }

  function put(number: number, id: string, image: Buffer, seq: number): void {
    const code = codeOf(id);
    const { memory, at } = room(aligned(HEADER_BYTES + bytesIn(code) + image.length), number);
    memory.writeUInt32LE(image.length, at);
    memory.writeUInt32LE(number, at + NUMBER_AT);
    memory.writeUInt32LE(code, at + ID_LENGTH_AT);
    memory.writeDoubleLE(seq, at + SEQ_AT);
    memory.writeDoubleLE(Number.NaN, at + SEEN_AT);
    memory.write(id, at + HEADER_BYTES, isWideIn(code) ? 'utf16le' : 'latin1');
    image.copy(memory, at + HEADER_BYTES + bytesIn(code));
  }

  /** Makes room for the entry of an id. From now on its place is there. */
  function room(needed: number, number: number): { readonly memory: Buffer; readonly at: number } {
    const slabIndex = slabFor(needed);
    const slab = slabs[slabIndex]!;
    const at = slab.used;
    slab.used += needed;
    slab.live += needed;
    places[number] = slabIndex * PLACES_PER_SLAB + at / ALIGNMENT;
    return { memory: slab.memory, at };
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
    const slabIndex = vacant.pop() ?? slabs.length;
    slabs[slabIndex] = { memory: slabMemory(size), used: 0, live: 0 };
    allSlabBytes += size;
    return slabIndex;
  }

  /**
   * Whenever buffers outside the heap have grown by 64 MB, V8 searches the whole heap for buffers that it can free. While a state grows,
   * it can free no slab. V8 does not count memory that threads could share, so the first slabs are shared memory, though no thread
   * shares them. Later slabs are counted: they replace slabs that were given up, or hold one large image, and with many slabs V8's
   * searches free the buffers of answers earlier (a million records: 992 instead of 1,078 MiB).
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
    const begin = at + HEADER_BYTES + bytesIn(memory.readUInt32LE(at + ID_LENGTH_AT));
    return memory.subarray(begin, begin + memory.readUInt32LE(at));
  }

  /** Call it when `places` no longer has the place. */
  function release(place: number): void {
    const slab = slabs[slabOf(place)]!;
    slab.live -= entryBytes(slab.memory, offsetOf(place));
    bytes -= slab.memory.readUInt32LE(offsetOf(place));
    suspects.push(slabOf(place));
  }

  /** Moves images, so `places` must be correct before. */
  function tidyAll(): void {
    for (let slab = suspects.pop(); slab !== undefined; slab = suspects.pop()) tidy(slab);
  }

  /**
   * Gives up a slab from which too many images were removed, and moves the other images elsewhere. The memory is not overwritten,
   * because images that were handed out may still be in use.
   */
  function tidy(slabIndex: number): void {
    const slab = slabs[slabIndex];
    if (slab === undefined || slabIndex === current || slab.live >= slab.used * LEAST_LIVE) return;
    slabs[slabIndex] = undefined;
    allSlabBytes -= slab.memory.length;
    for (let at = 0; at < slab.used; ) {
      const length = entryBytes(slab.memory, at);
      const number = slab.memory.readUInt32LE(at + NUMBER_AT);
      if (places[number] === slabIndex * PLACES_PER_SLAB + at / ALIGNMENT) {
        const to = room(length, number);
        slab.memory.copy(to.memory, to.at, at, at + length);
      }
      at += length;
    }
    // Last, because images in a new slab of this number would look like images that are still to be moved.
    vacant.push(slabIndex);
  }

  const slabCount = (): number => slabs.length - vacant.length;

  function placeOf(id: string): number | null {
    const number = index.find(id);
    return number === -1 ? null : places[number]!;
  }

  return {
    get size() {
      return index.size;
    },
    get bytes() {
      return bytes;
    },
    get slabBytes() {
      return allSlabBytes;
    },
    has: (id) => index.find(id) !== -1,
    get(id) {
      const place = placeOf(id);
      return place === null ? undefined : view(place);
    },
    get isNearlyFull() {
      return slabCount() >= NEARLY_FULL;
    },
    set(id, image, seq) {
      if (slabCount() >= MOST_SLABS - KEPT_FREE) throw stateTooLarge(`The feed has ${index.size} records.`);
      const known = index.find(id);
      const number = known === -1 ? index.add(id) : known;
      if (number === places.length) places = enlarged(places);
      const before = places[number]!;
      put(number, id, image, seq);
      bytes += image.length;
      if (known !== -1) release(before);
      tidyAll();
    },
    delete(id) {
      const number = index.find(id);
      if (number === -1) return;
      index.remove(id);
      const place = places[number]!;
      places[number] = NOWHERE;
      release(place);
      tidyAll();
    },
    seqOf(id) {
      const place = placeOf(id);
      return place === null ? Number.POSITIVE_INFINITY : numberAt(place, SEQ_AT);
    },
    see(id, updated) {
      const place = placeOf(id);
      if (place === null) return;
      const seen = updated < numberAt(place, SEEN_AT) ? Number.NaN : updated;
      slabs[slabOf(place)]!.memory.writeDoubleLE(seen, offsetOf(place) + SEEN_AT);
    },
    seenAt(id) {
      const place = placeOf(id);
      if (place === null) return null;
      const seen = numberAt(place, SEEN_AT);
      return Number.isNaN(seen) ? null : seen;
    },
    *ids() {
      for (const number of index.numbers()) yield idAt(places[number]!);
    },
    *numbered(from) {
      for (const number of index.numbers(from)) yield [number, idAt(places[number]!)] as const;
    },
    *values() {
      for (const number of index.numbers()) yield view(places[number]!);
    },
  };
}

export function stateTooLarge(records: string): HighwaterError {
  return new HighwaterError(
    'STATE_TOO_LARGE',
    `${records} Their images take nearly all of the ${MOST_SLABS} pieces of memory that there can be.`,
  );
}

/** Size of an entry, up to the begin of the next entry. */
function entryBytes(memory: Buffer, at: number): number {
  return aligned(HEADER_BYTES + bytesIn(memory.readUInt32LE(at + ID_LENGTH_AT)) + memory.readUInt32LE(at));
}

/** Length of an id in UTF-16 units, times two; plus one if it is kept as UTF-16, since one of them does not fit into a byte. */
function codeOf(id: string): number {
  for (let i = 0; i < id.length; i++) if (id.charCodeAt(i) > 0xff) return id.length * 2 + 1;
  return id.length * 2;
}
const lengthIn = (code: number): number => code >>> 1;
const isWideIn = (code: number): boolean => (code & 1) === 1;
const bytesIn = (code: number): number => (isWideIn(code) ? code - 1 : code >>> 1);

function enlarged(before: Uint32Array): Uint32Array {
  const after = new Uint32Array(before.length * 2);
  after.set(before);
  return after;
}

const aligned = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const slabOf = (place: number): number => Math.floor(place / PLACES_PER_SLAB);
const offsetOf = (place: number): number => (place % PLACES_PER_SLAB) * ALIGNMENT;
