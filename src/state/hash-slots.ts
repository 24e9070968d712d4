/** Ids and groups are spread over small tables, since a large one would block the event loop for a second when it grows. */
const TABLES = 2 ** 10;
const TABLE_SHIFT = 22;
const FIRST_SLOTS = 4;
/** A table with a greater part of its slots in use grows. */
const FULLEST = 0.87;
const GROWTH = 1.15;

/**
 * Finds the number that a key has been given. The keys lie elsewhere, and the tables are arrays of numbers outside the heap: a `Map` with a
 * million keys is a million objects that the collector looks through and moves.
 */
export class HashSlots {
  /**
   * Two entries for each slot: the hash of the key, and its number plus one; 0: the slot is empty. A key is in the slot of its hash or in
   * one of the next ones, without an empty one in between.
   */
  private readonly tables = new Array<Int32Array | undefined>(TABLES);
  private readonly counts = new Uint32Array(TABLES);

  /**
   * @param isIt tells whether the key of a number, which has this hash, is the one that is looked for
   * @returns -1: it is not there
   */
  find(hash: number, isIt: (number: number) => boolean): number {
    const table = this.tables[hash >>> TABLE_SHIFT];
    if (table === undefined) return -1;
    let at = homeOf(hash, table);
    for (let number = table[at + 1]!; number !== 0; number = table[at + 1]!) {
      if (table[at] === hash && isIt(number - 1)) return number - 1;
      at = after(at, table);
    }
    return -1;
  }

  /** Adds the number of a key that is not there yet. */
  add(hash: number, number: number): void {
    const which = hash >>> TABLE_SHIFT;
    let table = this.tables[which] ?? new Int32Array(FIRST_SLOTS * 2);
    this.counts[which]!++;
    if (this.counts[which]! > (table.length / 2) * FULLEST) table = grown(table);
    this.tables[which] = table;
    put(table, hash, number + 1);
  }

  /** Gives the key of a number another number. */
  replace(hash: number, number: number, other: number): void {
    const table = this.tables[hash >>> TABLE_SHIFT]!;
    table[slotOf(table, hash, number) + 1] = other + 1;
  }

  remove(hash: number, number: number): void {
    const table = this.tables[hash >>> TABLE_SHIFT]!;
    const slots = table.length / 2;
    const distance = (from: number, to: number) => ((to - from) / 2 + slots) % slots;
    let gap = slotOf(table, hash, number);
    this.counts[hash >>> TABLE_SHIFT]!--;
    // Keys behind it move up, unless a key would then be before the slot of its hash.
    for (let at = after(gap, table); table[at + 1] !== 0; at = after(at, table)) {
      if (distance(homeOf(table[at]!, table), at) < distance(gap, at)) continue;
      table.copyWithin(gap, at, at + 2);
      gap = at;
    }
    table.fill(0, gap, gap + 2);
  }
}

/**
 * FNV-1a over the UTF-16 units, then mixed: texts that differ in their last digit only shall not be neighbours.
 * @param seed another one gives another hash, but for texts that have the same hash by every seed
 */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Where the slot of a hash begins. The upper bits have chosen the table. */
function homeOf(hash: number, table: Int32Array): number {
  const part = (hash & (2 ** TABLE_SHIFT - 1)) / 2 ** TABLE_SHIFT;
  return Math.floor(part * (table.length / 2)) * 2;
}

function after(at: number, table: Int32Array): number {
  return at + 2 === table.length ? 0 : at + 2;
}

function slotOf(table: Int32Array, hash: number, number: number): number {
  let at = homeOf(hash, table);
  while (table[at + 1] !== number + 1) at = after(at, table);
  return at;
}

function put(table: Int32Array, hash: number, entry: number): void {
  let at = homeOf(hash, table);
  while (table[at + 1] !== 0) at = after(at, table);
  table[at] = hash;
  table[at + 1] = entry;
}

function grown(table: Int32Array): Int32Array {
  const larger = new Int32Array(Math.ceil((table.length / 2) * GROWTH) * 2);
  for (let at = 0; at < table.length; at += 2)
    if (table[at + 1] !== 0) put(larger, table[at]!, table[at + 1]!);
  return larger;
}
