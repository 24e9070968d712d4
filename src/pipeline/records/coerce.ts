import Big from 'big.js';
import { isListOfTexts, type PlainType, type Shape } from '../../avro/record-shape';
import { ExactNumber } from '../../json/exact-number';

/** The value cannot be converted to the field's type without a loss. It goes into `extra` as it came. */
export const DRIFTED = Symbol('drifted');

/** Converts a vendor's value, neither undefined nor null, to the field's type. Returns null for an unknown value, or DRIFTED. */
export type Coercion = (raw: unknown) => unknown;

/** Coerces only without a loss: `"12"` to 12. Records and maps, and lists of anything but text, are left to `decode.ts`. */
export function coercionOf(shape: Shape, emptyIsUnknown: boolean): Coercion {
  if (shape.kind === 'plain') return plainCoercion(shape.type, emptyIsUnknown);
  if (shape.kind === 'enum') {
    const symbols = new Set<unknown>(shape.symbols);
    return (raw) => (raw === '' ? null : symbols.has(raw) ? raw : DRIFTED);
  }
  return isListOfTexts(shape) ? (raw) => (raw === '' ? null : texts(raw)) : () => DRIFTED;
}

function plainCoercion(type: PlainType, emptyIsUnknown: boolean): Coercion {
  switch (type) {
    case 'string':
      return emptyIsUnknown ? (raw) => (raw === '' ? null : text(raw)) : text;
    case 'long':
      return (raw) => (raw === '' ? null : integer(raw, LONG_BITS));
    case 'int':
      return (raw) => (raw === '' ? null : integer(raw, INT_BITS));
    case 'double':
      return (raw) => (raw === '' ? null : decimal(raw));
    case 'float':
      return (raw) => (raw === '' ? null : float(raw));
    case 'boolean':
      return (raw) => (raw === '' ? null : boolean(raw));
  }
}

function text(raw: unknown): unknown {
  if (typeof raw === 'string') return raw.toWellFormed();
  if (raw instanceof ExactNumber) return raw.toString();
  return typeof raw === 'number' && !isRounded(raw) ? String(raw) : DRIFTED;
}

/** `parseJson` gives no such number. Whoever made it may have lost digits. */
function isRounded(value: number): boolean {
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

const INT_BITS = 32;
const LONG_BITS = 64;

/** A number, or a `bigint` if the number would be rounded. */
function integer(raw: unknown, bits: number): unknown {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) ? fitting(raw, raw, bits) : DRIFTED;
  if (raw instanceof ExactNumber) return fitting(Number(raw), raw.toLong(), bits);
  if (typeof raw !== 'string' || !/^-?\d+(\.0+)?$/.test(raw)) return DRIFTED;
  const value = Number(raw);
  return Number.isSafeInteger(value)
    ? fitting(value, value, bits)
    : fitting(value, new ExactNumber(raw.replace(/^(-?)0+(?=\d)/, '$1')).toLong(), bits);
}

/** @param exact the same number; null if it is not an integer of 64 bits */
function fitting(value: number, exact: number | bigint | null, bits: number): unknown {
  if (exact === null || (bits === INT_BITS && value !== (value | 0))) return DRIFTED;
  return Number.isSafeInteger(value) ? value : exact;
}

function decimal(raw: unknown): unknown {
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw : DRIFTED;
  if (raw instanceof ExactNumber) return raw.toDouble() ?? DRIFTED;
  if (typeof raw !== 'string' || !NUMERIC.test(raw)) return DRIFTED;
  const value = Number(raw);
  return Number.isFinite(value) && new Big(raw).eq(value) ? value : DRIFTED;
}

/** The nearest number of 32 bits is what the type means, but a large number would become infinite. */
function float(raw: unknown): unknown {
  const value = decimal(raw);
  return typeof value === 'number' && Number.isFinite(Math.fround(value)) ? value : DRIFTED;
}

/** A decimal number as the vendor may write it. The exponent is short, so that comparing stays cheap. */
export const NUMERIC = /^-?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/;

function boolean(raw: unknown): unknown {
  if (typeof raw === 'boolean') return raw;
  return raw === 'true' ? true : raw === 'false' ? false : DRIFTED;
}

function texts(raw: unknown): unknown {
  if (!Array.isArray(raw)) return DRIFTED;
  const items = raw.map(text);
  return items.includes(DRIFTED) ? DRIFTED : items;
}
