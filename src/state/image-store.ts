import { hash } from 'node:crypto';
import { WIRE_HEADER_BYTES } from '../avro/codec/wire';
import { HighwaterError } from '../errors';
import { Column } from './column';
import { type HashFacts, HashIndex, hashOf } from './hash-index';
import type { ImageFile } from './image-file';
import { type SlabFacts, Slabs } from './slabs';

export interface StoreFacts {
  readonly used: number;
  readonly size: number;
  readonly vacant: number;
  readonly bytes: number;
  readonly writers: readonly (readonly [schemaId: number, images: number])[];
  readonly index: HashFacts;
  readonly slabs: readonly SlabFacts[];
}

export interface ImageAge {
  /** The image is from before the latest snapshot began. */
  readonly isUnshown?: boolean;
  /** The image is from before the feed's scope changed. */
  readonly isOutOfScope?: boolean;
}

/** For the images of a transaction: 1 GB, or so many large ones. Some are for images that must be moved. */
const [NEARLY_FULL, FULL] = [1024, 16];
/** Flags of a number. The bits above them are of another hash of the id. */
const [TAKEN, WITNESSED, UNSHOWN, OUT_OF_SCOPE, TAG_SHIFT] = [1, 2, 4, 8, 4];
/** Seed of that hash. */
const TAG_SEED = 0x9747b28c;
/** The smallest part of a second that is kept: 15 µs. */
const FRACTIONS = 2 ** 16;

export type ImageStore = ReturnType<typeof imageStore>;

/**
 * The image of each record of a feed, by id. Memory holds about 30 bytes of each record: hashes of id and image, the place of the image, and
 * what the API has shown. Ids and images lie in slabs, which are in a file if there is one.
 *
 * A record has a number as long as it is there. Methods that take a number need that of a record.
 * @param options default: no file, images stay in memory
 * @throws HighwaterError STATE_FILE_DAMAGED from each method that reads an id or an image
 */
export function imageStore(options: ImageFile = { fd: null }) {
  const index = new HashIndex();
  /** Number → place of its entry. A vacant number → the next vacant one, plus one. */
  const places = new Column(Uint32Array);
  const flags = new Column(Uint16Array);
  /** Number → half a hash of its image. */
  const [lows, highs] = [new Column(Uint32Array), new Column(Uint32Array)];
  /** Number → second at which the API last showed the record, plus one, and its fraction; 0: unknown. */
  const [seconds, fractions] = [new Column(Uint32Array), new Column(Uint16Array)];
  /** Numbers below it are taken or vacant. */
  let used = 0;
  let size = 0;
  /** The vacant number, plus one, that was given up last; 0: there is none. */
  let vacant = 0;
  let bytes = 0;
  const writers = new Map<number, number>();
  const slabs = new Slabs(
    {
      isAt: (number, place) => (flags.get(number) & TAKEN) !== 0 && places.get(number) === place,
      moved: (number, place) => places.set(number, place),
    },
    options,
  );

  function find(id: string): number {
    const { hash, tag } = hashesOf(id);
    return index.find(hash, (number) => isOf(number, tag) && slabs.hasId(places.get(number), id));
  }
  const isOf = (number: number, tag: number): boolean => flags.get(number) >>> TAG_SHIFT === tag;

  /** Like `find`, but reads the id only if another record has the same hashes: if only one has, an unknown id may be taken for it. */
  function findKnown(id: string): number {
    const { hash, tag } = hashesOf(id);
    let first = -1;
    const isSecond = (number: number) => {
      if (!isOf(number, tag)) return false;
      if (first !== -1) return true;
      first = number;
      return false;
    };
    return index.find(hash, isSecond) === -1 ? first : find(id);
  }

  function seenAt(number: number): number | null {
    const second = seconds.get(number);
    return second === 0 ? null : second - 1 + fractions.get(number) / FRACTIONS;
  }

  /** A time that does not fit is unknown. */
  function setSeen(number: number, second: number | null): void {
    const whole = second === null ? -1 : Math.floor(second);
    const fits = whole >= 0 && whole < 2 ** 32 - 1;
    seconds.set(number, fits ? whole + 1 : 0);
    fractions.set(number, fits ? Math.floor((second! - whole) * FRACTIONS) : 0);
  }

  /** @param by 1: it has come; -1: it has gone */
  function count(image: Buffer, by: 1 | -1): void {
    bytes += by * image.length;
    // A zero byte comes before the id.
    const writer = image.length < WIRE_HEADER_BYTES ? 0 : image.readUInt32BE(1);
    const images = (writers.get(writer) ?? 0) + by;
    if (images === 0) writers.delete(writer);
    else writers.set(writer, images);
  }

  function nextNumber(): number {
    if (vacant === 0) return used++;
    const number = vacant - 1;
    vacant = places.get(number);
    return number;
  }

  function has(number: number, flag: number): boolean {
    return number !== -1 && (flags.get(number) & flag) !== 0;
  }

  function imageOf(number: number): Buffer {
    return Buffer.from(slabs.imageAt(places.get(number)));
  }

  return {
    get size(): number {
      return size;
    },
    get bytes(): number {
      return bytes;
    },
    /** Id of a schema → how many of the images were written with it. */
    writers: writers as ReadonlyMap<number, number>,
    /** Total size of all slabs: at most a third more than ids and images, or with a file twice as much, and a slab or two. */
    get slabBytes(): number {
      return slabs.bytes;
    },
    /** Whether only few slabs are left: a transaction's images still find a place, but no more should be begun. */
    get isNearlyFull(): boolean {
      return slabs.left <= NEARLY_FULL;
    },
    /** @returns -1: there is no such record */
    find,
    /** A copy of the image. */
    get(id: string): Buffer | undefined {
      const number = find(id);
      return number === -1 ? undefined : imageOf(number);
    },
    /** Whether the record has this image, by hashes: 44 bits of the id, and 64 of the image. Nothing is read. */
    isSame(id: string, image: Buffer): boolean {
      const { hash, tag } = hashesOf(id);
      let halves: readonly [low: number, high: number] | null = null;
      const isIt = (number: number) => {
        if (!isOf(number, tag)) return false;
        halves ??= hashOfImage(image);
        return lows.get(number) === halves[0] && highs.get(number) === halves[1];
      };
      return index.find(hash, isIt) !== -1;
    },
    /**
     * Copies the image. From then on the record is shown.
     * @throws HighwaterError STATE_TOO_LARGE; the store is as it was
     */
    set(id: string, image: Buffer, sight: ImageAge & { readonly seenAt?: number | null } = {}): void {
      if (slabs.left <= FULL) throw stateTooLarge(`The feed has ${size} records.`);
      const known = find(id);
      const number = known === -1 ? nextNumber() : known;
      const before = places.get(number);
      places.set(number, slabs.append(number, id, image));
      const { hash, tag } = hashesOf(id);
      flags.set(number, aged((tag << TAG_SHIFT) | TAKEN | WITNESSED, sight));
      const [low, high] = hashOfImage(image);
      lows.set(number, low);
      highs.set(number, high);
      setSeen(number, sight.seenAt ?? null);
      count(image, 1);
      if (known === -1) {
        index.add(hash, number);
        size++;
      } else {
        count(slabs.release(before), -1);
      }
      slabs.tidy();
    },
    delete(id: string): void {
      const number = find(id);
      if (number === -1) return;
      index.remove(hashesOf(id).hash, number);
      const place = places.get(number);
      flags.set(number, 0);
      places.set(number, vacant);
      vacant = number + 1;
      size--;
      count(slabs.release(place), -1);
      slabs.tidy();
    },
    idOf: (number: number): string => slabs.idAt(places.get(number)),
    /** A copy of the image. */
    imageOf,
    /** The API shows the record at this second. If it was shown at a later second before, neither answer is believed. */
    see(id: string, updated: number): void {
      const number = findKnown(id);
      if (number !== -1) setSeen(number, updated < (seenAt(number) ?? 0) ? null : updated);
    },
    /** Unix seconds; null if unknown. */
    seenAt,
    /** Notes that the API has shown the record. */
    witness(id: string): void {
      const number = findKnown(id);
      if (number !== -1) flags.set(number, flags.get(number) | WITNESSED);
    },
    /** Whether the API has shown the record since `forgetWitnessed`. */
    isWitnessed: (number: number): boolean => has(number, WITNESSED),
    forgetWitnessed: (): void => flags.update((flag) => flag & ~WITNESSED),
    isUnshown: (id: string): boolean => has(findKnown(id), UNSHOWN),
    isOutOfScope: (number: number): boolean => has(number, OUT_OF_SCOPE),
    setAges: (age: ImageAge): void => flags.update((flag) => aged(flag, age)),
    /** From a number on, in ascending order. A number that exists from beginning to end comes once, whatever else comes and goes. */
    *numbers(from = 0): IterableIterator<number> {
      for (let number = from; number < used; number++) if (has(number, TAKEN)) yield number;
    },
    /** About this many of them, spread evenly, from the last to the first. */
    *sample(count: number): IterableIterator<number> {
      const step = Math.max(1, Math.floor(used / count));
      for (let number = used - 1; number >= 0; number -= step) if (has(number, TAKEN)) yield number;
    },
    /** In the order in which images lie, which is the quickest to read. Nothing may come or go meanwhile. */
    stored: (): IterableIterator<number> => slabs.numbers(),
    /**
     * All that the store has in memory, except what the API has shown: read back, all records are witnessed, and it is unknown when they
     * were seen.
     */
    columns: [places, flags, lows, highs, ...index.columns],
    /** What belongs to the columns. Writes all slabs to the file; null: there is no file, or it could not be written. */
    facts(): StoreFacts | null {
      const settled = slabs.settle();
      if (settled === null) return null;
      return { used, size, vacant, bytes, writers: [...writers], index: index.facts(), slabs: settled };
    },
    /** Call it when the columns have been read. */
    restored(facts: StoreFacts): void {
      ({ used, size, vacant, bytes } = facts);
      for (const [writer, images] of facts.writers) writers.set(writer, images);
      index.restored(facts.index);
      slabs.restored(facts.slabs);
      flags.update((flag) => (flag & TAKEN ? flag | WITNESSED : flag));
    },
    keep: options.keep ?? (async () => undefined),
    /** Gives up the file. Methods that read from it throw after it. May be called again. */
    close: () => slabs.close(),
  };
}

export function stateTooLarge(records: string): HighwaterError {
  return new HighwaterError(
    'STATE_TOO_LARGE',
    `${records} Their images take nearly all of the pieces of memory that there can be.`,
  );
}

function aged(flags: number, { isUnshown, isOutOfScope }: ImageAge): number {
  return withFlag(withFlag(flags, UNSHOWN, isUnshown), OUT_OF_SCOPE, isOutOfScope);
}

/** @param isOn undefined: as before */
function withFlag(flags: number, flag: number, isOn: boolean | undefined): number {
  if (isOn === undefined) return flags;
  return isOn ? flags | flag : flags & ~flag;
}

/** The hashes of the latest id: several methods are called for one id, one after the other. */
let last = { id: '', hash: hashOf(''), tag: hashOf('', TAG_SEED) & 0xfff };

/** 32 and 12 bits. */
function hashesOf(id: string): { readonly hash: number; readonly tag: number } {
  if (last.id !== id) last = { id, hash: hashOf(id), tag: hashOf(id, TAG_SEED) & 0xfff };
  return last;
}

const both = Buffer.alloc(8);

/** 64 bits of a hash that nobody can aim at: a wrong "same" would lose a change. */
function hashOfImage(image: Buffer): readonly [low: number, high: number] {
  both.write(hash('sha256', image, 'binary'), 0, 8, 'latin1');
  return [both.readUInt32LE(0), both.readUInt32LE(4)];
}
