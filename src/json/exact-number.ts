import Big from 'big.js';

/**
 * A number of the vendor that JavaScript's numbers do not hold: `653247040368672769`, `12345678.123456789012`, `1e400`. It keeps its
 * source text. Smaller integers and ordinary decimals stay numbers.
 */
export class ExactNumber {
  // Private, so that nothing takes the number for an object with members.
  readonly #text: string;

  /** @param text as JSON has it */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** JSON.stringify cannot write a number of any length, so it writes the text. `jsonText` writes the number. */
  toJSON(): string {
    return this.#text;
  }

  /** The digits of the integer that this is, of any length, or of at most 64 bits if it is written as `1e18`; null if it is none. */
  toInteger(): string | null {
    return /^-?\d+$/.test(this.#text) ? this.#text : (this.toLong()?.toString() ?? null);
  }

  /** The integer of at most 64 bits that this is, however it is written (`1e18`); null if it is none. */
  toLong(): bigint | null {
    const value = new Big(this.#text);
    // The exponent of 2^63 is 18. A text of few letters can say billions of digits.
    if (value.e > 18 || !value.round(0, Big.roundDown).eq(value)) return null;
    const long = BigInt(value.toFixed(0));
    return BigInt.asIntN(64, long) === long ? long : null;
  }

  /**
   * The double that was written out, with as many digits as one likes (`0.10000000000000001`, as C and PHP write 0.1); null if it is
   * another number.
   */
  toDouble(): number | null {
    const value = Number(this.#text);
    if (!Number.isFinite(value)) return null;
    const exact = new Big(this.#text);
    const digits = Math.min(Math.max(exact.c.length, SHORTEST_EXACT), MOST_DIGITS);
    return exact.eq(value) || exact.eq(value.toPrecision(digits)) ? value : null;
  }
}

/** So many digits tell every double from its neighbours. */
const SHORTEST_EXACT = 17;
/** `toPrecision` takes no more. */
const MOST_DIGITS = 100;

/** Whether JavaScript's number is the number of the text: then it writes the same digits. */
export function isPlainNumber(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false;
  return String(value) === text || new Big(text).eq(value);
}

/** @param value of a row, not nested too deeply */
export function holdsExactNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof ExactNumber) return true;
  for (const name in value) if (holdsExactNumber((value as Record<string, unknown>)[name])) return true;
  return false;
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}
