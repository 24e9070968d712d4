import {
  EMPTY_IS_UNKNOWN,
  IS_OMITTED,
  IS_SYMBOL,
  MEMBER_BYTES,
  MEMBER_NEEDS,
  MEMBER_NULL_BRANCH,
  MEMBER_RULES,
  MEMBER_TYPE,
  MEMBER_VALUE_BRANCH,
  MEMBER_WITHIN,
  PLAN_COUNT,
  PLAN_MEMBERS,
  PLAN_SLOTS,
  SLOT_BYTES,
  SLOT_DIGITS,
  SLOT_END,
  SLOT_KIND,
  SLOT_MANTISSA,
  SLOT_POWER,
  SLOT_START,
  TYPE_BOOLEAN,
  TYPE_DOUBLE,
  TYPE_EXTRA,
  TYPE_ID,
  TYPE_INT,
  TYPE_LONG,
  TYPE_RECORD,
  TYPE_TEXT,
  TYPE_TEXTS,
  TYPE_UPDATED,
  ZERO_IS_UNKNOWN,
} from './layout';
import { asDouble, digits, endOfNumber, isExact, isWhole, mantissa, power } from './number';
import { ARRAY, ESCAPED_TEXT, FALSE, NULL, NUMBER, OBJECT, TEXT, TRUE } from './object';
import { copyText, endOfText, hasEscapes, isBroken, skipSpace, writeUnescaped } from './text';

/** Addresses of the id and the symbol in the image written last. 0: it has no symbol. */
export let idAt: i32 = 0;
export let idEnd: i32 = 0;
export let symbolAt: i32 = 0;
export let symbolEnd: i32 = 0;
/** Unix seconds. */
export let updated: u32 = 0;

/** In the year 2106. Above 1e11 a time stamp is in milliseconds (`row.ts`). */
const GREATEST_SECONDS: i64 = 0xffff_ffff;
const GREATEST_INT: i64 = 2_147_483_647;

/** Where the text written last begins. */
let textAt: i32 = 0;

export function beginImage(): void {
  symbolAt = 0;
  symbolEnd = 0;
}

/**
 * Writes the record that the plan's slots hold: the rules of `decode.ts` and `coerce.ts`, for values of the kinds that the
 * vendor's specification names.
 * @returns where it ends; 0 for any other value, by which the row is left to them
 */
export function writeRecord(plan: i32, to: i32, limit: i32): i32 {
  const count = load<i32>(plan, PLAN_COUNT);
  const members = load<i32>(plan, PLAN_MEMBERS);
  const slots = load<i32>(plan, PLAN_SLOTS);
  let out = to;
  for (let i: i32 = 0; i < count; i++) {
    const member = members + i * MEMBER_BYTES;
    const slot = slots + i * SLOT_BYTES;
    const type = load<i32>(member, MEMBER_TYPE);
    if (type > TYPE_EXTRA) {
      if (isUnknown(member, slot, members, slots)) {
        store<u8>(out++, load<u8>(member, MEMBER_NULL_BRANCH));
        continue;
      }
      store<u8>(out++, load<u8>(member, MEMBER_VALUE_BRANCH));
    }
    out = writeValue(type, member, slot, out, limit);
    if (out === 0) return 0;
  }
  return out;
}

/** The value says "unknown", by itself or by what else is unknown in its record. */
function isUnknown(member: i32, slot: i32, members: i32, slots: i32): bool {
  if (saysUnknown(member, slot)) return true;
  const needs = load<i32>(member, MEMBER_NEEDS);
  return (
    needs >= 0 && isZero(slot) && saysUnknown(members + needs * MEMBER_BYTES, slots + needs * SLOT_BYTES)
  );
}

function saysUnknown(member: i32, slot: i32): bool {
  const kind = load<i32>(slot, SLOT_KIND);
  const rules = load<i32>(member, MEMBER_RULES);
  if (kind <= NULL || (rules & IS_OMITTED) !== 0) return true;
  if (kind === TEXT && load<i32>(slot, SLOT_START) === load<i32>(slot, SLOT_END)) {
    const type = load<i32>(member, MEMBER_TYPE);
    return type === TYPE_TEXT ? (rules & EMPTY_IS_UNKNOWN) !== 0 : type !== TYPE_RECORD;
  }
  return (rules & ZERO_IS_UNKNOWN) !== 0 && isZero(slot);
}

function isZero(slot: i32): bool {
  return load<i32>(slot, SLOT_KIND) === NUMBER && load<i32>(slot, SLOT_DIGITS) === 0;
}

function writeValue(type: i32, member: i32, slot: i32, out: i32, limit: i32): i32 {
  switch (type) {
    case TYPE_TEXT: {
      const end = writeText(slot, out);
      if (end !== 0 && (load<i32>(member, MEMBER_RULES) & IS_SYMBOL) !== 0) {
        symbolAt = textAt;
        symbolEnd = end;
      }
      return end;
    }
    case TYPE_DOUBLE:
      return writeDouble(slot, out);
    case TYPE_LONG:
      return writeWhole(slot, out, i64.MAX_VALUE);
    case TYPE_INT:
      return writeWhole(slot, out, GREATEST_INT);
    case TYPE_BOOLEAN:
      return writeBoolean(slot, out);
    case TYPE_TEXTS:
      return writeTexts(slot, out, limit);
    case TYPE_RECORD:
      return load<i32>(slot, SLOT_KIND) === OBJECT
        ? writeRecord(load<i32>(member, MEMBER_WITHIN), out, limit)
        : 0;
    case TYPE_ID:
      return writeId(slot, out);
    case TYPE_UPDATED:
      return writeUpdated(slot, out);
    default:
      store<u8>(out, 0); // extra: a map of nothing
      return out + 1;
  }
}

function writeText(slot: i32, out: i32): i32 {
  const start = load<i32>(slot, SLOT_START);
  const end = load<i32>(slot, SLOT_END);
  const kind = load<i32>(slot, SLOT_KIND);
  if (kind === ESCAPED_TEXT) return writeEscaped(start, end, out);
  // A whole number is written as it stands.
  if (kind === NUMBER && !isWhole(load<i32>(slot, SLOT_DIGITS), load<i32>(slot, SLOT_POWER))) return 0;
  if (kind !== NUMBER && kind !== TEXT) return 0;
  textAt = writeLong(out, end - start);
  return copyText(textAt, start, end - start);
}

/** How long it is shows once it is written: first it stands further on. */
function writeEscaped(start: i32, end: i32, out: i32): i32 {
  const first = out + MOST_LENGTH_BYTES;
  const length = writeUnescaped(first, start, end) - first;
  if (isBroken) return 0;
  textAt = writeLong(out, length);
  memory.copy(textAt, first, length);
  return textAt + length;
}

const MOST_LENGTH_BYTES = 8;

function writeId(slot: i32, out: i32): i32 {
  const isEmpty = load<i32>(slot, SLOT_START) === load<i32>(slot, SLOT_END);
  const kind = load<i32>(slot, SLOT_KIND);
  if (isEmpty || (kind !== TEXT && kind !== NUMBER)) return 0;
  const end = writeText(slot, out);
  idAt = textAt;
  idEnd = end;
  return end;
}

function writeUpdated(slot: i32, out: i32): i32 {
  const seconds = load<i64>(slot, SLOT_MANTISSA);
  if (load<i32>(slot, SLOT_KIND) !== NUMBER || seconds < 0) return 0;
  updated = <u32>seconds;
  return writeWhole(slot, out, GREATEST_SECONDS);
}

function writeWhole(slot: i32, out: i32, greatest: i64): i32 {
  if (!readNumber(slot) || !isWhole(digits, power) || mantissa > greatest || mantissa < -greatest) return 0;
  return writeLong(out, mantissa);
}

function writeDouble(slot: i32, out: i32): i32 {
  if (!readNumber(slot) || !isExact(digits, power)) return 0;
  store<f64>(out, asDouble(mantissa, power));
  return out + 8;
}

/** Reads a number, or text that is one. Zero as text is left: only numbers were asked whether they are unknown. */
function readNumber(slot: i32): bool {
  const kind = load<i32>(slot, SLOT_KIND);
  if (kind !== NUMBER && kind !== TEXT) return false;
  const end = endOfNumber(load<i32>(slot, SLOT_START), false);
  return end === load<i32>(slot, SLOT_END) && (kind === NUMBER || digits !== 0);
}

function writeBoolean(slot: i32, out: i32): i32 {
  const kind = load<i32>(slot, SLOT_KIND);
  if (kind !== TRUE && kind !== FALSE) return 0;
  store<u8>(out, kind === TRUE ? 1 : 0);
  return out + 1;
}

/** An array of texts without escapes: one block, and its end. */
function writeTexts(slot: i32, to: i32, limit: i32): i32 {
  if (load<i32>(slot, SLOT_KIND) !== ARRAY) return 0;
  const first = skipSpace(load<i32>(slot, SLOT_START) + 1);
  let count = 0;
  for (let at = first; load<u8>(at) !== 0x5d; count++) {
    if (load<u8>(at) !== 0x22) return 0;
    const end = endOfText(at + 1, limit);
    if (hasEscapes) return 0;
    at = nextItem(end + 1);
  }
  let out = to;
  if (count > 0) {
    out = writeLong(out, count);
    for (let at = first; load<u8>(at) !== 0x5d; ) {
      const end = endOfText(at + 1, limit);
      out = copyText(writeLong(out, end - at - 1), at + 1, end - at - 1);
      at = nextItem(end + 1);
    }
  }
  store<u8>(out, 0);
  return out + 1;
}

/** The next item of an array that has been read before. */
function nextItem(from: i32): i32 {
  const at = skipSpace(from);
  return load<u8>(at) === 0x2c ? skipSpace(at + 1) : at;
}

/** Zigzag. */
function writeLong(to: i32, value: i64): i32 {
  let out = to;
  let rest = <u64>((value << 1) ^ (value >> 63));
  while (rest >= 0x80) {
    store<u8>(out++, <u8>(rest | 0x80));
    rest >>= 7;
  }
  store<u8>(out, <u8>rest);
  return out + 1;
}
