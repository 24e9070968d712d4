import { type Type, types } from 'avsc';
import { readWideLong } from './long-type';
import { WIRE_HEADER_BYTES } from './wire';

/**
 * Reads one value in the wire format, to its end.
 * @throws RangeError that names the place where the bytes are not a value of the type
 */
export type CompiledReader = (value: Buffer) => unknown;

/** Levels of records within records, which a schema that holds itself allows. avsc calls itself for each level. */
const MOST_DEPTH = 500;
/** Most items and records of a value that take no byte, such as nulls. A few bytes can claim any number of them. */
const MOST_EMPTY = 65_536;
/** An Avro long has 64 bits, and each byte holds seven of them. */
const MOST_VARINT_BYTES = 10;
const MOST_INT = 2 ** 31 - 1;
/** JavaScript counts no further. */
const MOST_COUNT = Number.MAX_SAFE_INTEGER - 1;

/**
 * Generates one function that reads values written by the schema. It makes the same objects as `type.fromBuffer`, in less than half the
 * time, and refuses a value at its first false claim: avsc makes as many items as a value claims before it looks for their bytes, and
 * a few bytes can claim billions. Its time and memory depend only on the number of bytes.
 */
export function compileReader(type: Type): CompiledReader {
  const code = createCode();
  const root = code.expression(type);
  const source = `${STATE}\n${code.functions.join('\n')}\n${reading(root)}`;
  return new Function('constants', 'wideLong', source)(code.constants, wideLong) as CompiledReader;
}

/** A long of several bytes that is beyond JavaScript's numbers, or none. @returns it, and the place behind it */
function wideLong(bytes: Buffer, from: number, what: string): { value: number | bigint; end: number } {
  let end = from;
  do {
    if (end >= bytes.length) refuse(bytes, from, `${what} is cut off`);
    if (end - from === MOST_VARINT_BYTES) refuse(bytes, from, `${what} has no end`);
  } while (bytes[end++]! >= 0x80);
  // The tenth byte has one bit of 64.
  if (end - from === MOST_VARINT_BYTES && bytes[end - 1]! > 1)
    refuse(bytes, from, `${what} has more than 64 bits`);
  return { value: readWideLong(bytes, from), end };
}

function refuse(bytes: Buffer, at: number, what: string): never {
  throw new RangeError(`at byte ${at} of ${bytes.length}, ${what}`);
}

/**
 * V8 copies a substring up to this length, and a longer substring keeps the whole string alive. Without substrings, each short text is a
 * call into C++, which costs more than the rest of a record.
 */
const LONGEST_COPY = 12;

/** `toString` calls these after its checks of the arguments. Called directly, they take a tenth of the time. */
const [utf8, latin1] =
  'utf8Slice' in Buffer.prototype
    ? ['utf8Slice(', 'latin1Slice(']
    : ["toString('utf8', ", "toString('latin1', "];

/** A byte past the end is undefined, which is not less than any number. */
const STATE = `'use strict';
let bytes, characters, at, depth, empty;
function refuse(what, from = at) {
  throw new RangeError('at byte ' + from + ' of ' + bytes.length + ', ' + what);
}
function long(what) {
  const from = at;
  let byte = bytes[at++];
  if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
  let sum = byte & 0x7f;
  let factor = 0x80;
  do {
    byte = bytes[at++];
    sum += (byte & 0x7f) * factor;
    factor *= 0x80;
  } while (byte >= 0x80);
  // Past the end, the last byte counted as 0.
  if (at <= bytes.length && sum <= ${Number.MAX_SAFE_INTEGER} && factor <= 2 ** 70)
    return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
  const { value, end } = wideLong(bytes, from, what);
  at = end;
  return value;
}
function bounded(what, least, most) {
  const from = at;
  const value = long(what);
  // A bigint compares with numbers, too.
  if (value >= least && value <= most) return value;
  refuse(what + ' is ' + Number(value) + ', not ' + least + ' to ' + most, from);
}
function int() {
  return bounded('an int', ${-MOST_INT - 1}, ${MOST_INT});
}
function pass(length, what) {
  if (length > bytes.length - at) refuse(what + ' of ' + length + ' bytes goes beyond the end');
  at += length;
}
function string() {
  const length = bounded('the length of a string', 0, ${MOST_COUNT});
  const from = at;
  pass(length, 'a string');
  if (length <= ${LONGEST_COPY}) {
    let bits = 0;
    for (let i = from; i < at; i++) bits |= bytes[i];
    if (bits < 0x80) return characters.substring(from, at);
  }
  return bytes.${utf8}from, at);
}
function copied(length, what) {
  pass(length, what);
  return Buffer.from(bytes.subarray(at - length, at));
}
// Assigning to __proto__ would make no member.
function put(map, key, value) {
  if (key === '__proto__') Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  else map[key] = value;
}
function boolean() {
  pass(1, 'a boolean');
  return bytes[at - 1] !== 0;
}
function double() {
  pass(8, 'a double');
  return bytes.readDoubleLE(at - 8);
}
function float() {
  pass(4, 'a float');
  return bytes.readFloatLE(at - 4);
}
function countEmpty() {
  if (++empty > ${MOST_EMPTY}) refuse('more than ${MOST_EMPTY} items and records take no byte');
}
function deeper() {
  if (++depth > ${MOST_DEPTH}) refuse('records lie within each other more than ${MOST_DEPTH} deep');
}`;

function reading(root: string): string {
  return `return function read(value) {
  bytes = value;
  characters = value.${latin1}0, value.length);
  at = ${WIRE_HEADER_BYTES};
  depth = 0;
  empty = 0;
  const read = ${root};
  if (at < bytes.length) refuse('the value has ended already');
  return read;
};`;
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: 'boolean()',
  int: 'int()',
  long: "long('a long')",
  float: 'float()',
  double: 'double()',
  string: 'string()',
  bytes: `copied(bounded('the length of bytes', 0, ${MOST_COUNT}), 'bytes')`,
};

/** Whether a value of the type can take no byte at all. */
function mayBeEmpty(type: Type, known: Map<Type, boolean>): boolean {
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

/** Only the structure and the field names of a schema go into the code. Constructors and symbols are passed to it. */
function createCode() {
  const functions: string[] = [];
  const constants: unknown[] = [];
  const named = new Map<Type, string>();
  const empty = new Map<Type, boolean>();
  /** Records that are being compiled. A record that comes up while it is here holds itself. */
  const open = new Set<Type>();
  let isRecursive = false;
  /** Code of the cases → function: most fields are null or a string. */
  const unions = new Map<string, string>();

  function declare(body: string): string {
    const name = `f${functions.length}`;
    functions.push(`function ${name}() {\n${body}\n}`);
    return `${name}()`;
  }

  function constant(value: unknown): string {
    return `constants[${constants.push(value) - 1}]`;
  }

  /** Reads a value of the type. */
  function expression(type: Type): string {
    if (type instanceof types.RecordType) {
      isRecursive ||= open.has(type);
      return named.get(type) ?? ofRecord(type);
    }
    if (type instanceof types.UnwrappedUnionType) return ofUnion(type.types.map(expression));
    if (type instanceof types.WrappedUnionType) return ofUnion(type.types.map(wrapped));
    if (type instanceof types.ArrayType) return ofArray(type.itemsType);
    if (type instanceof types.MapType)
      return ofBlocks('map', '{}', `put(all, string(), ${expression(type.valuesType)});`, false);
    if (type instanceof types.EnumType) {
      const last = type.symbols.length - 1;
      return `${constant(type.symbols)}[bounded('the index of an enum', 0, ${last})]`;
    }
    if (type instanceof types.FixedType) return `copied(${type.size}, 'a fixed')`;
    return PRIMITIVES[type.typeName]!;
  }

  function ofRecord(type: types.RecordType): string {
    const index = constants.push(type.recordConstructor.prototype) - 1;
    named.set(type, `record${index}()`);
    open.add(type);
    const fields = type.fields.map((field) => expression(field.type));
    open.delete(type);
    const parameters = type.fields.map((_, i) => `v${i}`).join(', ');
    const members = type.fields.map(({ name }, i) => `this.${name} = v${i};`).join(' ');
    const made = `new Record${index}(${fields.join(', ')})`;
    const isEmpty = mayBeEmpty(type, empty);
    functions.push(`function Record${index}(${parameters}) { ${members} }
Record${index}.prototype = constants[${index}];
function record${index}() {
  ${isRecursive ? 'deeper();' : ''}
  const made = ${made};
  ${isRecursive ? 'depth--;' : ''}
  ${isEmpty ? 'countEmpty();' : ''}
  return made;
}`);
    return `record${index}()`;
  }

  /** avsc wraps the values of a union in which JavaScript cannot tell the branches apart. */
  function wrapped(branch: Type): string {
    const { _branchConstructor: Branch } = branch as unknown as { readonly _branchConstructor: unknown };
    const value = expression(branch);
    return Branch === null ? value : `new (${constant(Branch)})(${value})`;
  }

  /** The index of a branch is nearly always one byte, doubled by the zigzag code. */
  function ofUnion(branches: readonly string[]): string {
    const cases = branches.map((one, i) => `case ${i * 2}: return ${one};`).join('\n');
    const index = `2 * bounded('the index of a union', 0, ${branches.length - 1})`;
    const ofOneByte = Math.min(branches.length * 2 - 1, 0x80);
    const body = `switch (bytes[at] < ${ofOneByte} && (bytes[at] & 1) === 0 ? bytes[at++] : ${index}) {\n${cases}\n}`;
    const name = unions.get(body) ?? declare(body);
    unions.set(body, name);
    return name;
  }

  function ofArray(items: Type): string {
    const item = expression(items);
    return mayBeEmpty(items, empty)
      ? ofBlocks(
          'array',
          '[]',
          `const before = at;\nall.push(${item});\nif (at === before) countEmpty();`,
          true,
        )
      : ofBlocks('array', '[]', `all.push(${item});`, false);
  }

  /** A negative count announces the size of the block. */
  function ofBlocks(what: 'array' | 'map', all: string, entry: string, entryMayBeEmpty: boolean): string {
    return declare(`const all = ${all};
for (;;) {
  const from = at;
  const claimed = bounded('the number of items', ${-MOST_COUNT}, ${MOST_COUNT});
  if (claimed === 0) return all;
  const size = claimed < 0 ? bounded('the size of a block', 0, ${MOST_COUNT}) : -1;
  const begin = at;
  const count = Math.abs(claimed);
  ${
    entryMayBeEmpty
      ? ''
      : `if (count > bytes.length - at) refuse('the ${what} claims ' + count + ' items in ' + (bytes.length - at) + ' bytes', from);`
  }
  for (let i = 0; i < count; i++) {
    ${entry}
  }
  if (size >= 0 && at - begin !== size) refuse('a block of ' + (at - begin) + ' bytes claims ' + size, from);
}`);
  }

  return { expression, functions, constants };
}
