import { type Type, types } from 'avsc';
import { readWideLong } from './long-type';
import { MOST_DEPTH, mayBeEmpty } from './value-check';
import { WIRE_HEADER_BYTES } from './wire';

/** Reads a value in the wire format. Undefined if avsc has to read the value, or to report its fault. */
export type CompiledReader = (value: Buffer) => unknown;

/**
 * Generates one function that reads values written by the same schema. It makes the same objects as `type.fromBuffer`, in less than half
 * the time. Null for a type that it does not cover, such as a type with enums or logical types.
 */
export function compileReader(type: Type): CompiledReader | null {
  const code = createCode();
  const root = code.expression(type);
  if (root === null) return null;
  const source = `${STATE}\n${code.functions.join('\n')}\n${reading(root)}`;
  return new Function('records', 'giveUp', 'readWideLong', source)(
    code.records,
    giveUp,
    readWideLong,
  ) as CompiledReader;
}

function giveUp(): never {
  throw new RangeError('not read this way');
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

/** A byte past the end is undefined, which counts as 0 here. The position is checked when everything is read. */
const STATE = `'use strict';
let bytes, characters, at, depth;
function long() {
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
  // The sum of a number that breaks off is NaN.
  if (!(sum <= ${Number.MAX_SAFE_INTEGER})) return sum < ${2 ** 64} ? readWideLong(bytes, from) : giveUp();
  return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
}
function int() {
  const value = long();
  if (value !== (value | 0)) giveUp();
  return value;
}
function string() {
  const length = long();
  if (length < 0) giveUp();
  const from = at;
  at += length;
  if (length <= ${LONGEST_COPY}) {
    let bits = 0;
    for (let i = from; i < at; i++) bits |= bytes[i];
    if (bits < 0x80) return characters.substring(from, at);
  }
  return bytes.${utf8}from, at);
}
// Assigning to __proto__ would make no member.
function put(map, key, value) {
  if (key === '__proto__') Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  else map[key] = value;
}
function double() {
  at += 8;
  return bytes.readDoubleLE(at - 8);
}
function float() {
  at += 4;
  return bytes.readFloatLE(at - 4);
}
// A negative count announces the size of the block. Few writers do that, and avsc reads it.
function blockCount() {
  const count = long();
  if (count < 0) giveUp();
  return count;
}
function inBounds() {
  if (at > bytes.length) giveUp();
}`;

function reading(root: string): string {
  return `return function read(value) {
  bytes = value;
  characters = value.${latin1}0, value.length);
  at = ${WIRE_HEADER_BYTES};
  depth = 0;
  try {
    const read = ${root};
    return at === bytes.length ? read : undefined;
  } catch {
    return undefined;
  }
};`;
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: '(bytes[at++] !== 0)',
  int: 'int()',
  long: 'long()',
  float: 'float()',
  double: 'double()',
  string: 'string()',
};

function counted(made: string): string {
  return `if (++depth > ${MOST_DEPTH}) giveUp();
  const made = ${made};
  depth--;
  return made;`;
}

/** Only the structure and the field names of a schema go into the code. Constructors are passed to it. */
function createCode() {
  const functions: string[] = [];
  const records: unknown[] = [];
  const named = new Map<Type, string>();
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

  /** Reads a value of the type; null when it is not covered. */
  function expression(type: Type): string | null {
    if (type instanceof types.RecordType) {
      isRecursive ||= open.has(type);
      return named.get(type) ?? ofRecord(type);
    }
    if (type instanceof types.UnwrappedUnionType) return ofUnion(type.types);
    if (type instanceof types.ArrayType) return ofBlocks(type.itemsType, 'const all = [];', 'all.push(', ')');
    if (type instanceof types.MapType)
      return ofBlocks(type.valuesType, 'const all = {};', 'put(all, string(), ', ')');
    return PRIMITIVES[type.typeName] ?? null;
  }

  /** Covers records of at least one byte. Each checks the bounds first, so a claim without bytes is noticed soon. */
  function ofRecord(type: types.RecordType): string | null {
    if (mayBeEmpty(type)) return null;
    const index = records.push(type.recordConstructor.prototype) - 1;
    named.set(type, `record${index}()`);
    open.add(type);
    const fields = type.fields.map((field) => expression(field.type));
    open.delete(type);
    if (fields.includes(null)) return null;
    const parameters = type.fields.map((_, i) => `v${i}`).join(', ');
    const members = type.fields.map(({ name }, i) => `this.${name} = v${i};`).join(' ');
    const made = `new Record${index}(${fields.join(', ')})`;
    functions.push(`function Record${index}(${parameters}) { ${members} }
Record${index}.prototype = records[${index}];
function record${index}() {
  inBounds();
  ${isRecursive ? counted(made) : `return ${made};`}
}`);
    return `record${index}()`;
  }

  function ofUnion(branches: readonly Type[]): string | null {
    const all = branches.map(expression);
    // An index that takes one byte: zigzag.
    if (all.includes(null) || all.length > 64) return null;
    const cases = all.map((one, i) => `case ${i * 2}: return ${one};`).join('\n');
    const name =
      unions.get(cases) ?? declare(`switch (bytes[at++]) {\n${cases}\ndefault: return giveUp();\n}`);
    unions.set(cases, name);
    return name;
  }

  /** Does not cover nulls. They take no bytes, so a wrong count of them would go unnoticed. */
  function ofBlocks(items: Type, first: string, before: string, after: string): string | null {
    const item = expression(items);
    if (item === null || item === 'null') return null;
    return declare(`${first}
for (let count = blockCount(); count !== 0; count = blockCount()) {
  for (; count > 0; count--) {
    ${before}${item}${after};
    inBounds();
  }
}
return all;`);
  }

  return { expression, functions, records };
}
