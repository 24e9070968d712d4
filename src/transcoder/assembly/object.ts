import {
  MEMBER_BYTES,
  MEMBER_NAME,
  MEMBER_NAME_BYTES,
  MEMBER_WITHIN,
  NO_MEMBER,
  ORDER_LENGTH,
  PLAN_COUNT,
  PLAN_MEMBERS,
  PLAN_ORDER,
  PLAN_SLOTS,
  SLOT_BYTES,
  SLOT_DIGITS,
  SLOT_END,
  SLOT_KIND,
  SLOT_MANTISSA,
  SLOT_POWER,
  SLOT_START,
} from './layout';
import { digits, endOfNumber, mantissa, power } from './number';
import { endOfText, hasEscapes, isSame, skipSpace } from './text';

/** What a slot has. */
export const ABSENT = 0;
export const NULL = 1;
export const TEXT = 2;
export const ESCAPED_TEXT = 3;
export const NUMBER = 4;
export const TRUE = 5;
export const FALSE = 6;
export const OBJECT = 7;
export const ARRAY = 8;

/** False once an object had a member that its plan does not know. Whoever reads the next row sets it back. */
export let isKnown: bool = true;
export function beginRow(): void {
  isKnown = true;
}

/** Deeper ones are left to whoever parses JSON: each level takes its part of a small stack. */
const MOST_DEPTH = 64;
/** Four letters at once. */
const NULL_WORD: u32 = 0x6c6c756e;
const TRUE_WORD: u32 = 0x65757274;
const FALS_WORD: u32 = 0x736c6166;

/**
 * Reads an object: where the value of each member stands goes into the slots of the plan. If a member comes twice, the
 * later one counts, as in JSON.parse.
 * @param from at its opening brace
 * @returns where it ends; 0 if it is not JSON
 */
export function readObject(plan: i32, from: i32, limit: i32): i32 {
  const count = load<i32>(plan, PLAN_COUNT);
  const slots = load<i32>(plan, PLAN_SLOTS);
  for (let i: i32 = 0; i < count; i++) store<i32>(slots + i * SLOT_BYTES, ABSENT, SLOT_KIND);
  let at = skipSpace(from + 1);
  if (load<u8>(at) === 0x7d) return at + 1;
  let place = 0;
  while (true) {
    if (load<u8>(at) !== 0x22) return 0;
    at++;
    let member = expectedMember(plan, place, at, limit);
    if (member !== NO_MEMBER) {
      at += load<i32>(memberAt(plan, member), MEMBER_NAME_BYTES);
    } else {
      const end = endOfText(at, limit);
      if (end === 0) return 0;
      member = hasEscapes ? NO_MEMBER : findMember(plan, place, at, end - at);
      at = end;
    }
    place++;
    at = skipSpace(at + 1);
    if (load<u8>(at) !== 0x3a) return 0;
    at = skipSpace(at + 1);
    if (member === NO_MEMBER) {
      isKnown = false;
      at = endOfValue(at, limit, 0);
    } else {
      at = readValue(memberAt(plan, member), slots + member * SLOT_BYTES, at, limit);
    }
    if (at === 0) return 0;
    at = skipSpace(at);
    const next = load<u8>(at);
    if (next === 0x7d) return at + 1;
    if (next !== 0x2c) return 0;
    at = skipSpace(at + 1);
  }
}

function memberAt(plan: i32, member: i32): i32 {
  return load<i32>(plan, PLAN_MEMBERS) + member * MEMBER_BYTES;
}

/** The member that came at this place before, if its name and a quote stand there again. */
function expectedMember(plan: i32, place: i32, at: i32, limit: i32): i32 {
  if (place >= ORDER_LENGTH) return NO_MEMBER;
  const member = <i32>load<u16>(load<i32>(plan, PLAN_ORDER) + 2 * place);
  if (member === NO_MEMBER) return NO_MEMBER;
  const entry = memberAt(plan, member);
  const length = load<i32>(entry, MEMBER_NAME_BYTES);
  if (at + length >= limit) return NO_MEMBER;
  return load<u8>(at + length) === 0x22 && isSame(load<i32>(entry, MEMBER_NAME), at, length)
    ? member
    : NO_MEMBER;
}

function findMember(plan: i32, place: i32, at: i32, length: i32): i32 {
  const count = load<i32>(plan, PLAN_COUNT);
  for (let member: i32 = 0; member < count; member++) {
    const entry = memberAt(plan, member);
    if (load<i32>(entry, MEMBER_NAME_BYTES) !== length || !isSame(load<i32>(entry, MEMBER_NAME), at, length))
      continue;
    if (place < ORDER_LENGTH) store<u16>(load<i32>(plan, PLAN_ORDER) + 2 * place, <u16>member);
    return member;
  }
  return NO_MEMBER;
}

function readValue(member: i32, slot: i32, from: i32, limit: i32): i32 {
  const first = load<u8>(from);
  if (first === 0x22) {
    const end = endOfText(from + 1, limit);
    if (end === 0) return 0;
    take(slot, hasEscapes ? ESCAPED_TEXT : TEXT, from + 1, end);
    return end + 1;
  }
  if (first === 0x7b && load<i32>(member, MEMBER_WITHIN) !== 0) {
    const end = readObject(load<i32>(member, MEMBER_WITHIN), from, limit);
    take(slot, OBJECT, from, end);
    return end;
  }
  if (first === 0x7b || first === 0x5b) {
    const end = endOfValue(from, limit, 0);
    // An object that has no plan is nothing that can be encoded.
    if (first === 0x7b) isKnown = false;
    take(slot, ARRAY, from, end);
    return end;
  }
  const kind = kindOfWord(from);
  if (kind !== ABSENT) {
    const end = from + (kind === FALSE ? 5 : 4);
    take(slot, kind, from, end);
    return end;
  }
  const end = endOfNumber(from, true);
  if (end === 0) return 0;
  take(slot, NUMBER, from, end);
  store<i64>(slot, mantissa, SLOT_MANTISSA);
  store<i32>(slot, power, SLOT_POWER);
  store<i32>(slot, digits, SLOT_DIGITS);
  return end;
}

function take(slot: i32, kind: i32, start: i32, end: i32): void {
  store<i32>(slot, kind, SLOT_KIND);
  store<i32>(slot, start, SLOT_START);
  store<i32>(slot, end, SLOT_END);
}

/** Null, true or false; ABSENT for anything else. */
function kindOfWord(at: i32): i32 {
  const word = load<u32>(at);
  if (word === NULL_WORD) return NULL;
  if (word === TRUE_WORD) return TRUE;
  return word === FALS_WORD && load<u8>(at, 4) === 0x65 ? FALSE : ABSENT;
}

/** Where a value of any kind ends; 0 if it is not JSON, or too deep. */
export function endOfValue(from: i32, limit: i32, depth: i32): i32 {
  const first = load<u8>(from);
  if (first === 0x22) {
    const end = endOfText(from + 1, limit);
    return end === 0 ? 0 : end + 1;
  }
  if (first !== 0x7b && first !== 0x5b) {
    const kind = kindOfWord(from);
    return kind === ABSENT ? endOfNumber(from, true) : from + (kind === FALSE ? 5 : 4);
  }
  if (depth === MOST_DEPTH) return 0;
  const close: u8 = first === 0x7b ? 0x7d : 0x5d;
  let at = skipSpace(from + 1);
  if (load<u8>(at) === close) return at + 1;
  while (true) {
    if (first === 0x7b) {
      if (load<u8>(at) !== 0x22) return 0;
      at = endOfText(at + 1, limit);
      if (at === 0) return 0;
      at = skipSpace(at + 1);
      if (load<u8>(at) !== 0x3a) return 0;
      at = skipSpace(at + 1);
    }
    at = endOfValue(at, limit, depth + 1);
    if (at === 0) return 0;
    at = skipSpace(at);
    const next = load<u8>(at);
    if (next === close) return at + 1;
    if (next !== 0x2c) return 0;
    at = skipSpace(at + 1);
  }
}
