import { HighwaterError } from '../errors';
import { Column } from './column';
import { HashSlots, hashOf } from './hash-slots';

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
  /** Notes that the API has shown the record. `set` does so, too. */
  show(id: string): void;
  /** Whether the API has shown the record since `forgetShown`. */
  isShown(id: string): boolean;
  forgetShown(): void;
  /** Records may come and go during the iteration: an id that exists from beginning to end comes once. */
  ids(): IterableIterator<string>;
  /** Ids with their numbers, from a number on. An id keeps its number as long as it is there. */
  numbered(from: number): IterableIterator<readonly [number: number, id: string]>;
  /** @returns -1: it is not there */
  numberOf(id: string): number;
  /** @param number must be that of a record */
  idOf(number: number): string;
  /** @param number must be that of a record */
  imageOf(number: number): Buffer;
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
/** Images begin at multiples of it. So a place is a number of 32 bits, up to 128 GB. */
const ALIGNMENT = 32;
/** V8 does not count the memory of the first slabs of a store. See `slabMemory`. */
const UNCOUNTED_SLABS = 64;
const PLACES_PER_SLAB = SLAB_BYTES / ALIGNMENT;
/** Slabs of higher numbers would have the places of the first ones. */
const MOST_SLABS = 2 ** 32 / PLACES_PER_SLAB - 1;
/** Images that must be moved find a place in these. */
const KEPT_FREE = 16;
/** For the images of a transaction: 1 GB, or so many large ones. */
const NEARLY_FULL = MOST_SLABS - 1024;
/** Flags of a number. */
const [TAKEN, SHOWN] = [1, 2];

export function imageStore(slabBytes = SLAB_BYTES): ImageStore {
  const numbers = new HashSlots(hasId);
  /** Number of an id → place of its entry. A vacant number → the next vacant one, plus one. */
  const places = new Column(Uint32Array);
  const flags = new Column(Uint8Array);
  /** Numbers below it are taken or vacant. */
  let used = 0;
  let size = 0;
  /** The vacant number, plus one, that was given up last; 0: there is none. */
  let vacant = 0;
  const slabs: (Slab | undefined)[] = [];
  const vacantSlabs: number[] = [];
  /** Slabs from which an image was removed. */
  const suspects: number[] = [];
  let current = -1;
  let bytes = 0;
  let allSlabBytes = 0;
  let uncounted = 0;

  function hasId(number: number, id: string): boolean {
    const place = places.get(number);
    const { memory } = slabs[slabOf(place)]!;
    const at = offsetOf(place);
    const code = memory.readUInt32LE(at + ID_LENGTH_AT);
    if (lengthIn(code) !== id.length) return false;
    const begin = at + HEADER_BYTES;
    if (isWideIn(code)) return memory.toString('utf16le', begin, begin + bytesIn(code)) === id;
    for (let i = 0; i < id.length; i++) if (memory[begin + i] !== id.charCodeAt(i)) return false;
    return true;
  }

  function idOf(number: number): string {
    const place = places.get(number);
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
    places.set(number, slabIndex * PLACES_PER_SLAB + at / ALIGNMENT);
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
    const slabIndex = vacantSlabs.pop() ?? slabs.length;
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

  function numberOf(id: string): number {
    return numbers.find(hashOf(id), id);
  }

  function nextNumber(): number {
    if (vacant === 0) return used++;
    const number = vacant - 1;
    vacant = places.get(number);
    return number;
  }

  function* taken(from: number): IterableIterator<number> {
    for (let number = from; number < used; number++) if ((flags.get(number) & TAKEN) !== 0) yield number;
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
      const isTaken = (flags.get(number) & TAKEN) !== 0;
      if (isTaken && places.get(number) === slabIndex * PLACES_PER_SLAB + at / ALIGNMENT) {
        const to = room(length, number);
        slab.memory.copy(to.memory, to.at, at, at + length);
      }
      at += length;
    }
    // Last, because images in a new slab of this number would look like images that are still to be moved.
    vacantSlabs.push(slabIndex);
  }

  const slabCount = (): number => slabs.length - vacantSlabs.length;

  function placeOf(id: string): number | null {
    const number = numberOf(id);
    return number === -1 ? null : places.get(number);
  }

  return {
    get size() {
      return size;
    },
    get bytes() {
      return bytes;
    },
    get slabBytes() {
      return allSlabBytes;
    },
    has: (id) => numberOf(id) !== -1,
    get(id) {
      const place = placeOf(id);
      return place === null ? undefined : view(place);
    },
    get isNearlyFull() {
      return slabCount() >= NEARLY_FULL;
    },
    set(id, image, seq) {
      if (slabCount() >= MOST_SLABS - KEPT_FREE) throw stateTooLarge(`The feed has ${size} records.`);
      const known = numberOf(id);
      const before = known === -1 ? null : places.get(known);
      const number = known === -1 ? nextNumber() : known;
      put(number, id, image, seq);
      flags.set(number, TAKEN | SHOWN);
      bytes += image.length;
      if (before === null) {
        numbers.add(hashOf(id), number);
        size++;
      } else {
        release(before);
      }
      tidyAll();
    },
    delete(id) {
      const number = numberOf(id);
      if (number === -1) return;
      numbers.remove(hashOf(id), number);
      const place = places.get(number);
      flags.set(number, 0);
      places.set(number, vacant);
      vacant = number + 1;
      size--;
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
    show(id) {
      const number = numberOf(id);
      if (number !== -1) flags.set(number, TAKEN | SHOWN);
    },
    isShown(id) {
      const number = numberOf(id);
      return number !== -1 && (flags.get(number) & SHOWN) !== 0;
    },
    forgetShown: () => flags.update((flag) => flag & TAKEN),
    *ids() {
      for (const number of taken(0)) yield idOf(number);
    },
    *numbered(from) {
      for (const number of taken(from)) yield [number, idOf(number)] as const;
    },
    numberOf,
    idOf,
    imageOf: (number) => view(places.get(number)),
    *values() {
      for (const number of taken(0)) yield view(places.get(number));
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

const aligned = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const slabOf = (place: number): number => Math.floor(place / PLACES_PER_SLAB);
const offsetOf = (place: number): number => (place % PLACES_PER_SLAB) * ALIGNMENT;
