/**
 * Numbers as a mantissa and a power of ten. With at most 15 digits, and a power whose magnitude is at most 22, both are exact as
 * floating point, and one multiplication or division gives the number that every correct parser gives (Clinger, 1990).
 * All other numbers, the negative zero, and those with an exponent count as too long: they are left.
 */

/** Set by `endOfNumber`. Without those in front that are 0: none is zero. The mantissa is only good with few of them. */
export let mantissa: i64 = 0;
export let power: i32 = 0;
export let digits: i32 = 0;

const MOST_DIGITS = 15;
const MOST_POWER = 22;
const TOO_LONG = 99;

const POWERS_OF_TEN = memory.data<f64>([
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
  1e20, 1e21, 1e22,
]);

/**
 * @param isJson whether a zero in front is forbidden
 * @returns where the number ends; 0 where there is none
 */
export function endOfNumber(from: i32, isJson: bool): i32 {
  let at = from;
  const isNegative = load<u8>(at) === 0x2d;
  if (isNegative) at++;
  if (!isDigit(at)) return 0;
  if (isJson && load<u8>(at) === 0x30 && isDigit(at + 1)) return 0;
  let value: i64 = 0;
  let count = 0;
  let scale = 0;
  while (isDigit(at)) {
    value = value * 10 + load<u8>(at) - 0x30;
    if (count > 0 || value !== 0) count++;
    at++;
  }
  if (load<u8>(at) === 0x2e) {
    at++;
    if (!isDigit(at)) return 0;
    while (isDigit(at)) {
      value = value * 10 + load<u8>(at) - 0x30;
      if (count > 0 || value !== 0) count++;
      scale--;
      at++;
    }
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    at++;
    const sign = load<u8>(at);
    if (sign === 0x2b || sign === 0x2d) at++;
    if (!isDigit(at)) return 0;
    while (isDigit(at)) at++;
    count = TOO_LONG;
  }
  if (isNegative && value === 0) count = TOO_LONG;
  mantissa = isNegative ? -value : value;
  power = scale;
  digits = count;
  return at;
}

export function isExact(digits: i32, power: i32): bool {
  return digits <= MOST_DIGITS && power >= -MOST_POWER;
}

/** As its text: then the text is as good as the number. */
export function isWhole(digits: i32, power: i32): bool {
  return digits <= MOST_DIGITS && power === 0;
}

export function asDouble(mantissa: i64, power: i32): f64 {
  return <f64>mantissa / load<f64>(POWERS_OF_TEN + (-power << 3));
}

function isDigit(at: i32): bool {
  return <u32>load<u8>(at) - 0x30 < 10;
}
