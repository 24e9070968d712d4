import { type Type, types } from 'avsc';

/**
 * Walks through the bytes of one value, from `start` to the end, without decoding it.
 * @throws RangeError that names the place where the bytes are not a value of the type
 */
export type ValueCheck = (bytes: Buffer, start: number) => void;

/** Levels of records within records, which a schema that holds itself allows. avsc calls itself for each level. */
export const MOST_DEPTH = 500;
/** Most items and records of a value that take no byte, such as nulls. A few bytes can claim any number of them. */
const MOST_EMPTY = 65_536;
/** An Avro long has 64 bits, and each byte holds seven of them. */
const MOST_VARINT_BYTES = 10;
const MOST_INT = 2 ** 31 - 1;
/** JavaScript counts no further. */
const MOST_COUNT = Number.MAX_SAFE_INTEGER - 1;

/**
 * avsc makes as many items as a value claims before it looks for their bytes, and a few bytes can claim billions. So each value is
 * checked before avsc gets it. The check fails at the first false claim. Its time, and the time and memory of avsc after it, therefore
 * depend only on the number of bytes.
 */
export function compileCheck(type: Type): ValueCheck {
  const walk = walkOf(type, { walks: new Map(), empty: new Map() });
  return (bytes, start) => {
    const cursor = new Cursor(bytes, start);
    walk(cursor);
    if (cursor.left > 0) cursor.refuse('the value has ended already');
  };
}

/** Whether a value of the type can take no byte at all. */
export function mayBeEmpty(type: Type, known: Map<Type, boolean> = new Map()): boolean {
  if (type instanceof types.FixedType) return type.size === 0;
  if (!(type instanceof types.RecordType)) return type.typeName === 'null';
  const found = known.get(type);
  if (found !== undefined) return found;
  // A record adds no byte to itself by holding itself.
  known.set(type, true);
  const isEmpty = type.fields.every((field) => mayBeEmpty(field.type, known));
  known.set(type, isEmpty);
  return isEmpty;
}

class Cursor {
  /** How many records the current one lies in. */
  depth = 0;
  private empty = 0;

  constructor(
    readonly bytes: Buffer,
    public at: number,
  ) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  refuse(what: string, at = this.at): never {
    throw new RangeError(`at byte ${at} of ${this.bytes.length}, ${what}`);
  }

  pass(length: number, what: string): void {
    if (length > this.left) this.refuse(`${what} of ${length} bytes goes beyond the end`);
    this.at += length;
  }

  /** Reads a whole number, which must lie within bounds. */
  long(what: string, least: number, most: number): number {
    const from = this.at;
    const first = this.bytes[from];
    const isShort = first !== undefined && first < 0x80;
    if (isShort) this.at++;
    const value = isShort ? (first >>> 1) ^ -(first & 1) : this.longOfSeveral(what);
    if (value < least || value > most) this.refuse(`${what} is ${value}, not ${least} to ${most}`, from);
    return value;
  }

  private longOfSeveral(what: string): number {
    const from = this.at;
    let sum = 0;
    let factor = 1;
    for (let byte = 0x80; byte >= 0x80; factor *= 0x80) {
      if (this.left === 0) this.refuse(`${what} is cut off`, from);
      if (this.at - from === MOST_VARINT_BYTES) this.refuse(`${what} has no end`, from);
      byte = this.bytes[this.at++]!;
      sum += (byte & 0x7f) * factor;
    }
    return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
  }

  /** Passes a whole number of any 64 bits. */
  wideLong(): void {
    const from = this.at;
    this.longOfSeveral('a long');
    // The tenth byte has one bit of 64.
    if (this.at - from === MOST_VARINT_BYTES && this.bytes[this.at - 1]! > 1)
      this.refuse('a long has more than 64 bits', from);
  }

  /** @param from where the item or record began */
  countIfEmpty(from: number): void {
    if (this.at === from && ++this.empty > MOST_EMPTY)
      this.refuse(`more than ${MOST_EMPTY} items and records take no byte`);
  }
}

type Walk = (cursor: Cursor) => void;

/** The types that are compiled so far: a record may hold itself, and may be used in several places. */
interface Compiled {
  readonly walks: Map<Type, Walk>;
  readonly empty: Map<Type, boolean>;
}

function walkOf(type: Type, compiled: Compiled): Walk {
  if (type instanceof types.RecordType) return compiled.walks.get(type) ?? ofRecord(type, compiled);
  if (type instanceof types.UnwrappedUnionType || type instanceof types.WrappedUnionType)
    return ofUnion(type.types, compiled);
  if (type instanceof types.ArrayType) return ofArray(type.itemsType, compiled);
  if (type instanceof types.MapType) return ofMap(type.valuesType, compiled);
  if (type instanceof types.EnumType) {
    const last = type.symbols.length - 1;
    return (cursor) => void cursor.long('the index of an enum', 0, last);
  }
  if (type instanceof types.FixedType) {
    const { size } = type;
    return (cursor) => cursor.pass(size, 'a fixed');
  }
  return PRIMITIVES[type.typeName]!;
}

const string: Walk = (cursor) =>
  cursor.pass(cursor.long('the length of a string', 0, MOST_COUNT), 'a string');

const PRIMITIVES: Readonly<Record<string, Walk>> = {
  null: () => undefined,
  boolean: (cursor) => cursor.pass(1, 'a boolean'),
  int: (cursor) => void cursor.long('an int', -MOST_INT - 1, MOST_INT),
  long: (cursor) => cursor.wideLong(),
  float: (cursor) => cursor.pass(4, 'a float'),
  double: (cursor) => cursor.pass(8, 'a double'),
  string,
  bytes: (cursor) => cursor.pass(cursor.long('the length of bytes', 0, MOST_COUNT), 'bytes'),
};

function ofRecord(type: types.RecordType, compiled: Compiled): Walk {
  const fields: Walk[] = [];
  const walk: Walk = (cursor) => {
    const from = cursor.at;
    if (++cursor.depth > MOST_DEPTH)
      cursor.refuse(`records lie within each other more than ${MOST_DEPTH} deep`);
    for (const field of fields) field(cursor);
    cursor.depth--;
    cursor.countIfEmpty(from);
  };
  compiled.walks.set(type, walk);
  for (const field of type.fields) fields.push(walkOf(field.type, compiled));
  return walk;
}

function ofUnion(branches: readonly Type[], compiled: Compiled): Walk {
  const walks = branches.map((branch) => walkOf(branch, compiled));
  const last = walks.length - 1;
  return (cursor) => walks[cursor.long('the index of a union', 0, last)]!(cursor);
}

function ofArray(items: Type, compiled: Compiled): Walk {
  return ofBlocks('array', walkOf(items, compiled), mayBeEmpty(items, compiled.empty));
}

function ofMap(values: Type, compiled: Compiled): Walk {
  const value = walkOf(values, compiled);
  const entry: Walk = (cursor) => {
    string(cursor);
    value(cursor);
  };
  return ofBlocks('map', entry, false);
}

function ofBlocks(what: 'array' | 'map', item: Walk, itemMayBeEmpty: boolean): Walk {
  return (cursor) => {
    for (;;) {
      const from = cursor.at;
      const claimed = cursor.long('the number of items', -MOST_COUNT, MOST_COUNT);
      if (claimed === 0) return;
      const count = Math.abs(claimed);
      // To skip a block, avsc jumps by its size. A wrong size could lead it back again and again.
      const size = claimed < 0 ? cursor.long('the size of a block', 0, MOST_COUNT) : null;
      const begin = cursor.at;
      if (!itemMayBeEmpty && count > cursor.left)
        cursor.refuse(`the ${what} claims ${count} items in ${cursor.left} bytes`, from);
      for (let i = 0; i < count; i++) {
        const itemFrom = cursor.at;
        item(cursor);
        cursor.countIfEmpty(itemFrom);
      }
      const taken = cursor.at - begin;
      if (size !== null && size !== taken) cursor.refuse(`a block of ${taken} bytes claims ${size}`, from);
    }
  };
}
