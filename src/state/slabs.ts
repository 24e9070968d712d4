import { readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { HighwaterError } from '../errors';

/** Where an entry lies, in units of `ALIGNMENT` bytes. A number of 32 bits: up to 128 GB. */
export type Place = number;

/** The record numbers that the entries belong to. */
export interface EntryOwner {
  isAt(number: number, place: Place): boolean;
  moved(number: number, place: Place): void;
}

export interface SlabOptions {
  /** Default: 1 MB. */
  readonly slabBytes?: number | undefined;
  /** Descriptor of an empty file to which full slabs are written; null: they stay in memory. */
  readonly fd: number | null;
  /** Called when a slab could not be written, and stays in memory; with null when slabs can be written again. */
  readonly onWriteError?: ((error: Error | null) => void) | undefined;
  close?(): void;
}

/** Where a slab lies in the file. */
export type SlabFacts = readonly [index: number, slot: number, length: number, used: number, live: number];

interface Slab {
  /** Null: it is in the file. */
  memory: Buffer | null;
  /** Its first slot in the file. A large slab has several. */
  readonly slot: number;
  readonly length: number;
  used: number;
  live: number;
}

export const SLAB_BYTES = 2 ** 20;
/** A slab with a smaller live part is given up: memory is scarcer than disk, where moving the rest is dearer. */
const LEAST_LIVE = { memory: 0.75, file: 0.5 };
/** An image above this part of a slab gets its own slab. */
const LARGE = 4;
/** An entry has, one after the other, a checksum of the rest, the sizes of image and id, the number of the record, the id, the image. */
const [CHECKSUM_AT, IMAGE_AT, ID_AT, NUMBER_AT, HEADER_BYTES] = [0, 4, 8, 12, 16];
const ALIGNMENT = 32;
/** Most entries are read at once with so much. */
const READ_BYTES = 2048;

/**
 * Id and image of each record, side by side in slabs outside the heap. A text and a buffer for each record would take twice the memory,
 * and the garbage collector would have to visit them all. With a file, only the slab that is being filled is in memory.
 */
export class Slabs {
  bytes = 0;
  private readonly slabBytes: number;
  private readonly placesPerSlab: number;
  private readonly most: number;
  private readonly slabs: (Slab | undefined)[] = [];
  private readonly vacant: number[] = [];
  private vacantSlots: number[] = [];
  private slots = 0;
  /** Slabs from which an entry was removed. */
  private readonly suspects: number[] = [];
  private current = -1;
  /** What was read from the file last, and its place; null: nothing. */
  private scratch = Buffer.alloc(READ_BYTES);
  private inScratch: Place | null = null;
  /** Slabs that could not be written. */
  private readonly unwritten = new Set<number>();
  /** Memory of a slab that was written, for the next one. */
  private spare: Buffer | null = null;
  private isClosed = false;
  private isDamaged = false;

  constructor(
    private readonly owner: EntryOwner,
    private readonly options: SlabOptions,
  ) {
    this.slabBytes = options.slabBytes ?? SLAB_BYTES;
    this.placesPerSlab = this.slabBytes / ALIGNMENT;
    this.most = Math.min(2 ** 32 / this.placesPerSlab, 2 ** 17) - 1;
  }

  /** How many more slabs there can be. */
  get left(): number {
    return this.most - (this.slabs.length - this.vacant.length);
  }

  append(number: number, id: string, image: Buffer): Place {
    const code = codeOf(id);
    const begin = HEADER_BYTES + bytesIn(code);
    const { memory, at, place } = this.room(aligned(begin + image.length));
    memory.writeUInt32LE(image.length, at + IMAGE_AT);
    memory.writeUInt32LE(number, at + NUMBER_AT);
    memory.writeUInt32LE(code, at + ID_AT);
    memory.write(id, at + HEADER_BYTES, isWideIn(code) ? 'utf16le' : 'latin1');
    image.copy(memory, at + begin);
    memory.writeUInt32LE(checksum(memory, at), at + CHECKSUM_AT);
    return place;
  }

  /** @throws HighwaterError STATE_FILE_DAMAGED */
  idAt(place: Place): string {
    const { memory, at } = this.locate(place);
    const code = memory.readUInt32LE(at + ID_AT);
    const begin = at + HEADER_BYTES;
    return memory.toString(isWideIn(code) ? 'utf16le' : 'latin1', begin, begin + bytesIn(code));
  }

  /** The image as it lies in memory, until the next call. @throws HighwaterError STATE_FILE_DAMAGED */
  imageAt(place: Place): Buffer {
    const { memory, at } = this.locate(place);
    const begin = at + HEADER_BYTES + bytesIn(memory.readUInt32LE(at + ID_AT));
    return memory.subarray(begin, begin + memory.readUInt32LE(at + IMAGE_AT));
  }

  /** Whether the entry has this id. @throws HighwaterError STATE_FILE_DAMAGED */
  hasId(place: Place, id: string): boolean {
    const { memory, at } = this.locate(place);
    const code = memory.readUInt32LE(at + ID_AT);
    if (lengthIn(code) !== id.length) return false;
    const begin = at + HEADER_BYTES;
    if (isWideIn(code)) return memory.toString('utf16le', begin, begin + bytesIn(code)) === id;
    for (let i = 0; i < id.length; i++) if (memory[begin + i] !== id.charCodeAt(i)) return false;
    return true;
  }

  /**
   * Removes an entry. Call it when its owner no longer has the place.
   * @returns its image, until the next call
   */
  release(place: Place): Buffer {
    const { memory, at } = this.locate(place);
    this.slabs[this.slabOf(place)]!.live -= entryBytes(memory, at);
    this.suspects.push(this.slabOf(place));
    return this.imageAt(place);
  }

  /** Gives up slabs in which little is live. Moves entries, so their owner must be correct before. */
  tidy(): void {
    for (let slab = this.suspects.pop(); slab !== undefined; slab = this.suspects.pop()) this.tidySlab(slab);
  }

  /** Numbers of all records, in the order in which their entries lie. */
  *numbers(): IterableIterator<number> {
    for (let index = 0; index < this.slabs.length; index++) {
      const slab = this.slabs[index];
      if (slab === undefined) continue;
      for (const { number } of [...this.liveIn(index, slab, this.whole(slab))]) yield number;
    }
  }

  /**
   * Closes the file; may be called again. From then on nothing is written or read: another file may have been opened under the same
   * descriptor.
   */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.options.close?.();
  }

  /**
   * Brings all slabs into the file.
   * @returns where they are; null: the file does not have them, or is damaged
   */
  settle(): readonly SlabFacts[] | null {
    this.current = -1;
    const facts: SlabFacts[] = [];
    for (const [index, slab] of this.slabs.entries()) {
      if (slab === undefined) continue;
      this.spill(index, slab);
      if (slab.memory !== null) return null;
      facts.push([index, slab.slot, slab.length, slab.used, slab.live]);
    }
    return this.isDamaged ? null : facts;
  }

  /** Begins with the slabs of a file. @throws HighwaterError STATE_FILE_DAMAGED */
  restored(facts: readonly SlabFacts[]): void {
    const slots = new Set<number>();
    for (const [index, slot, length, used, live] of facts) {
      this.slabs[index] = { memory: null, slot, length, used, live };
      this.bytes += length;
      for (let i = 0; i < length / this.slabBytes; i++) slots.add(slot + i);
      this.slots = Math.max(this.slots, slot + Math.ceil(length / this.slabBytes));
    }
    for (let slot = 0; slot < this.slots; slot++) if (!slots.has(slot)) this.vacantSlots.push(slot);
    for (let index = 0; index < this.slabs.length; index++)
      if (this.slabs[index] === undefined) this.vacant.push(index);
    this.continueSlab();
  }

  /** Goes on with the slab that was in use. If each start began another one, restarts would use up all that there can be. */
  private continueSlab(): void {
    const room = (slab: Slab | undefined) => (slab?.length === this.slabBytes ? slab.length - slab.used : 0);
    const index = this.slabs.reduce((best, slab, i) => (room(slab) > room(this.slabs[best]) ? i : best), 0);
    const slab = this.slabs[index];
    if (slab === undefined || room(slab) === 0) return;
    const memory = Buffer.alloc(slab.length);
    this.whole(slab).copy(memory);
    for (let at = 0; at < slab.used; at += entryBytes(memory, at)) this.assertWhole(memory, at, slab.used);
    slab.memory = memory;
    this.current = index;
  }

  private room(needed: number): { readonly memory: Buffer; readonly at: number; readonly place: Place } {
    const index = this.slabFor(needed);
    const slab = this.slabs[index]!;
    const at = slab.used;
    slab.used += needed;
    slab.live += needed;
    return { memory: slab.memory!, at, place: this.placeOf(index, at) };
  }

  private slabFor(needed: number): number {
    const slab = this.slabs[this.current];
    if (needed > this.slabBytes / LARGE) {
      // It is full at once, and written when slabs are tidied.
      const index = this.openSlab(needed);
      this.suspects.push(index);
      return index;
    }
    if (slab !== undefined && slab.used + needed <= slab.length) return this.current;
    if (slab !== undefined) this.suspects.push(this.current);
    this.current = this.openSlab(this.slabBytes);
    return this.current;
  }

  private openSlab(length: number): number {
    const index = this.vacant.pop() ?? this.slabs.length;
    const slots = Math.ceil(length / this.slabBytes);
    const slot = this.takeSlots(slots);
    // Filled with zeros: what other memory held must not come into the file.
    const memory = (slots === 1 ? this.spare : null) ?? Buffer.alloc(length);
    if (slots === 1) this.spare = null;
    this.slabs[index] = { memory, slot, length, used: 0, live: 0 };
    this.bytes += length;
    return index;
  }

  /** @returns the first of so many slots that lie side by side in the file */
  private takeSlots(count: number): number {
    if (count === 1) return this.vacantSlots.pop() ?? this.slots++;
    const vacant = this.vacantSlots.toSorted((a, b) => a - b);
    const at = vacant.findIndex((slot, i) => vacant[i + count - 1] === slot + count - 1);
    const first = at === -1 ? this.slots : vacant[at]!;
    if (at === -1) this.slots += count;
    else this.vacantSlots = [...vacant.slice(0, at), ...vacant.slice(at + count)];
    return first;
  }

  private tidySlab(index: number): void {
    const slab = this.slabs[index];
    if (slab === undefined || index === this.current) return;
    if (slab.live >= slab.used * LEAST_LIVE[slab.memory === null ? 'file' : 'memory']) {
      this.spill(index, slab);
      return;
    }
    const memory = this.whole(slab);
    this.slabs[index] = undefined;
    this.bytes -= slab.length;
    for (const { at, number } of this.liveIn(index, slab, memory)) {
      const length = entryBytes(memory, at);
      const to = this.room(length);
      memory.copy(to.memory, to.at, at, at + length);
      this.owner.moved(number, to.place);
    }
    for (let slot = slab.slot; slot < slab.slot + slab.length / this.slabBytes; slot++)
      this.vacantSlots.push(slot);
    // Last: if an entry is damaged, no new slab may stand in the place of entries that were not moved.
    this.vacant.push(index);
    this.inScratch = null;
  }

  /** The entries that their owner still has. */
  private *liveIn(index: number, { used, memory: kept }: Slab, memory: Buffer) {
    for (let at = 0; at < used; at += entryBytes(memory, at)) {
      if (kept === null) this.assertWhole(memory, at, used);
      const number = memory.readUInt32LE(at + NUMBER_AT);
      if (this.owner.isAt(number, this.placeOf(index, at))) yield { at, number };
    }
  }

  /** Writes a slab to the file, and gives up its memory. A slab that cannot be written stays in memory. */
  private spill(index: number, slab: Slab): void {
    const { fd, onWriteError } = this.options;
    if (fd === null || this.isClosed || slab.memory === null) return;
    try {
      // A full disk may take the beginning without an error; the rest then says so.
      for (let done = 0; done < slab.used; )
        done += writeSync(fd, slab.memory, done, slab.used - done, slab.slot * this.slabBytes + done);
      if (slab.length === this.slabBytes) this.spare = slab.memory;
      slab.memory = null;
      if (this.unwritten.size > 0) onWriteError?.(null);
      this.suspects.push(...this.unwritten);
      this.unwritten.clear();
    } catch (error) {
      if (this.unwritten.size === 0) onWriteError?.(error as Error);
      this.unwritten.add(index);
    }
  }

  private whole(slab: Slab): Buffer {
    if (slab.memory !== null) return slab.memory;
    const memory = Buffer.allocUnsafeSlow(slab.used);
    this.readFile(memory, slab.slot * this.slabBytes, slab.used);
    return memory;
  }

  private locate(place: Place): { readonly memory: Buffer; readonly at: number } {
    const slab = this.slabs[this.slabOf(place)]!;
    const at = (place % this.placesPerSlab) * ALIGNMENT;
    if (slab.memory !== null) return { memory: slab.memory, at };
    if (this.inScratch !== place) this.readEntry(place, slab, at);
    return { memory: this.scratch, at: 0 };
  }

  private readEntry(place: Place, slab: Slab, at: number): void {
    this.inScratch = null;
    const from = slab.slot * this.slabBytes + at;
    const most = slab.used - at;
    this.readFile(this.scratch, from, Math.min(READ_BYTES, most));
    const bytes = Math.min(entryBytes(this.scratch, 0), most);
    if (bytes > READ_BYTES) {
      if (bytes > this.scratch.length) this.scratch = Buffer.allocUnsafeSlow(bytes);
      this.readFile(this.scratch, from, bytes);
    }
    this.assertWhole(this.scratch, 0, bytes);
    this.inScratch = place;
  }

  private readFile(into: Buffer, from: number, length: number): void {
    if (this.isClosed) throw this.damaged('nothing, since it is closed');
    let read = 0;
    try {
      while (read < length) {
        const more = readSync(this.options.fd!, into, read, length - read, from + read);
        if (more === 0) break;
        read += more;
      }
    } catch (error) {
      throw this.damaged((error as Error).message, error);
    }
    if (read < length) throw this.damaged(`${read} bytes at ${from}, where ${length} were written`);
  }

  /** @throws HighwaterError STATE_FILE_DAMAGED */
  private assertWhole(memory: Buffer, at: number, end: number): void {
    if (end - at >= HEADER_BYTES && at + sizeOf(memory, at) <= end)
      if (checksum(memory, at) === memory.readUInt32LE(at + CHECKSUM_AT)) return;
    throw this.damaged('an entry whose checksum is wrong');
  }

  private damaged(found: string, cause?: unknown): HighwaterError {
    this.isDamaged = true;
    return new HighwaterError('STATE_FILE_DAMAGED', `The file of a feed's images gave ${found}.`, { cause });
  }

  private placeOf(index: number, at: number): Place {
    return index * this.placesPerSlab + at / ALIGNMENT;
  }

  private slabOf(place: Place): number {
    return Math.floor(place / this.placesPerSlab);
  }
}

function checksum(memory: Buffer, at: number): number {
  return crc32(memory.subarray(at + IMAGE_AT, at + sizeOf(memory, at)));
}

function sizeOf(memory: Buffer, at: number): number {
  return HEADER_BYTES + bytesIn(memory.readUInt32LE(at + ID_AT)) + memory.readUInt32LE(at + IMAGE_AT);
}

/** Size of an entry, up to the begin of the next entry. */
function entryBytes(memory: Buffer, at: number): number {
  return aligned(sizeOf(memory, at));
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
