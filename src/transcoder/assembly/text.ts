import { SLACK } from './layout';

const QUOTE: u8 = 0x22;
const BACKSLASH: u8 = 0x5c;

/** Set by `endOfText`. */
export let hasEscapes: bool = false;
/** Set by `writeUnescaped`: half a surrogate pair came without the other half. The caller decides how to treat it. */
export let isBroken: bool = false;

/** The first byte that is not white space. */
export function skipSpace(from: i32): i32 {
  let at = from;
  while (true) {
    const byte = load<u8>(at);
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/**
 * @param from behind the opening quote
 * @returns where the closing quote stands; 0 if there is none, or the text is not JSON
 */
export function endOfText(from: i32, limit: i32): i32 {
  hasEscapes = false;
  let at = from;
  while (at < limit) {
    const bytes = v128.load(at);
    const special = v128.or(
      i8x16.lt_u(bytes, i8x16.splat(0x20)),
      v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH))),
    );
    const places = i8x16.bitmask(special);
    if (places === 0) {
      at += 16;
      continue;
    }
    at += ctz(places);
    const byte = load<u8>(at);
    if (byte === QUOTE) return at < limit ? at : 0;
    if (byte !== BACKSLASH) return 0;
    hasEscapes = true;
    const length = escapeLength(at);
    if (length === 0) return 0;
    at += length;
  }
  return 0;
}

function escapeLength(at: i32): i32 {
  switch (load<u8>(at, 1)) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return 2;
    case 0x75: // u
      return hexDigit(at + 2) < 0 || hexDigit(at + 3) < 0 || hexDigit(at + 4) < 0 || hexDigit(at + 5) < 0
        ? 0
        : 6;
    default:
      return 0;
  }
}

function hexDigit(at: i32): i32 {
  const byte = <i32>load<u8>(at);
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** @returns where the copy ends */
export function copyText(to: i32, from: i32, length: i32): i32 {
  // A call of memory.copy takes longer than all of a short text.
  if (length > SLACK) memory.copy(to, from, length);
  else for (let i: i32 = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i));
  return to + length;
}

/** Writes what the text between `from` and `end`, which `endOfText` has looked at, stands for. @returns where it ends */
export function writeUnescaped(to: i32, from: i32, end: i32): i32 {
  isBroken = false;
  let at = from;
  let out = to;
  while (at < end) {
    const byte = load<u8>(at);
    if (byte !== BACKSLASH) {
      store<u8>(out++, byte);
      at++;
      continue;
    }
    const letter = load<u8>(at, 1);
    if (letter !== 0x75) {
      store<u8>(out++, unescaped(letter));
      at += 2;
      continue;
    }
    const unit =
      (hexDigit(at + 2) << 12) | (hexDigit(at + 3) << 8) | (hexDigit(at + 4) << 4) | hexDigit(at + 5);
    // Pairs of halves are rare in what is escaped: they are left, like halves without the other half.
    if (unit >= 0xd800 && unit < 0xe000) {
      isBroken = true;
      return out;
    }
    out = writeCharacter(out, unit);
    at += 6;
  }
  return out;
}

function unescaped(letter: u8): u8 {
  switch (letter) {
    case 0x62:
      return 0x08;
    case 0x66:
      return 0x0c;
    case 0x6e:
      return 0x0a;
    case 0x72:
      return 0x0d;
    case 0x74:
      return 0x09;
    default:
      return letter; // quote, backslash, slash
  }
}

function writeCharacter(out: i32, unit: i32): i32 {
  if (unit < 0x80) {
    store<u8>(out, unit);
    return out + 1;
  }
  if (unit < 0x800) {
    store<u8>(out, 0xc0 | (unit >> 6));
    store<u8>(out, 0x80 | (unit & 0x3f), 1);
    return out + 2;
  }
  store<u8>(out, 0xe0 | (unit >> 12));
  store<u8>(out, 0x80 | ((unit >> 6) & 0x3f), 1);
  store<u8>(out, 0x80 | (unit & 0x3f), 2);
  return out + 3;
}

/** Whether the same bytes stand at both places; looks up to 15 bytes further. */
export function isSame(a: i32, b: i32, length: i32): bool {
  for (let i: i32 = 0; i < length; i += 16) {
    const same = i8x16.bitmask(i8x16.eq(v128.load(a + i), v128.load(b + i)));
    const left = length - i;
    const needed = left >= 16 ? 0xffff : (1 << left) - 1;
    if ((same & needed) !== needed) return false;
  }
  return true;
}
