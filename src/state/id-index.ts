/**
 * A number for each id of a feed, which stays the same as long as the id is there. The ids themselves lie elsewhere, and the index
 * is a few arrays of numbers: a `Map` with a million ids is a million objects that the collector looks through, and moves, with
 * the event loop standing still for up to 400 ms.
 */
export interface IdIndex {
  readonly size: number;
  /** @returns -1: it is not there */
  find(id: string): number;
  /** Adds an id that is not there yet. @returns its number */
  add(id: string): number;
  /** Its number is given to another id later. */
  remove(id: string): void;
  /** All numbers. Ids may come and go during the iteration: a number that exists from beginning to end comes exactly once. */
  numbers(from?: number): IterableIterator<number>;
}

/** A power of two. At most half of the slots are in use, so that a search ends soon. */
const FIRST_SLOTS = 1024;
const EMPTY = -1;

/** @param isAt whether the id with this number is this one */
export function idIndex(isAt: (number: number, id: string) => boolean): IdIndex {
  /** Slot → number. An id is in the slot of its hash, or in one of the next ones, without an empty one in between. */
  let slots = new Int32Array(FIRST_SLOTS).fill(EMPTY);
  /** Number → hash of its id. */
  let hashes = new Int32Array(FIRST_SLOTS / 2);
  /** Number → 1: an id has it. */
  let taken = new Uint8Array(FIRST_SLOTS / 2);
  /** Numbers below `used` that no id has. */
  const vacant: number[] = [];
  let used = 0;

  function slotOf(id: string, hash: number): number {
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let number = slots[slot]!; number !== EMPTY; number = slots[slot]!) {
      if (hashes[number] === hash && isAt(number, id)) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  function grow(): void {
    hashes = enlarged(hashes, new Int32Array(slots.length));
    taken = enlarged(taken, new Uint8Array(slots.length));
    slots = new Int32Array(slots.length * 2).fill(EMPTY);
    const mask = slots.length - 1;
    for (let number = 0; number < used; number++) {
      if (taken[number] === 0) continue;
      let slot = hashes[number]! & mask;
      while (slots[slot] !== EMPTY) slot = (slot + 1) & mask;
      slots[slot] = number;
    }
  }

  return {
    get size() {
      return used - vacant.length;
    },
    find: (id) => slots[slotOf(id, hashOf(id))]!,
    add(id) {
      if (used - vacant.length === slots.length / 2) grow();
      const number = vacant.pop() ?? used++;
      taken[number] = 1;
      const hash = hashOf(id);
      hashes[number] = hash;
      slots[slotOf(id, hash)] = number;
      return number;
    },
    remove(id) {
      const mask = slots.length - 1;
      let gap = slotOf(id, hashOf(id));
      const number = slots[gap]!;
      vacant.push(number);
      taken[number] = 0;
      // Ids behind it move up, unless an id would then be before the slot of its hash.
      for (let slot = (gap + 1) & mask; slots[slot] !== EMPTY; slot = (slot + 1) & mask) {
        const home = hashes[slots[slot]!]! & mask;
        if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
        slots[gap] = slots[slot]!;
        gap = slot;
      }
      slots[gap] = EMPTY;
    },
    *numbers(from = 0) {
      for (let number = from; number < used; number++) if (taken[number] === 1) yield number;
    },
  };
}

function enlarged<Numbers extends Int32Array | Uint8Array>(before: Numbers, after: Numbers): Numbers {
  after.set(before);
  return after;
}

/** FNV-1a over the UTF-16 units, then mixed: ids that differ in their last digit only shall not be neighbours. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
