import Big from 'big.js';
import { isListOfTexts, type PlainType, type Shape } from '../../avro/record-shape';

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
      return (raw) => (raw === '' ? null : integer(raw, GREATEST_LONG));
    case 'int':
      return (raw) => (raw === '' ? null : integer(raw, GREATEST_INT));
    case 'double':
    case 'float':
      return (raw) => (raw === '' ? null : decimal(raw));
    case 'boolean':
      return (raw) => (raw === '' ? null : boolean(raw));
  }
}

function text(raw: unknown): unknown {
  if (typeof raw === 'string') return raw.toWellFormed();
  // JSON.parse has already lost digits of a longer integer, so it must not pass for the vendor's text.
  return typeof raw === 'number' && (Number.isSafeInteger(raw) || !Number.isInteger(raw))
    ? String(raw)
    : DRIFTED;
}

/** avsc doubles a long to encode its sign. A greater number would lose its last bit and be read back as another number. */
const GREATEST_LONG = 2 ** 52;
const GREATEST_INT = 2 ** 31 - 1;

function integer(raw: unknown, greatest: number): unknown {
  const value = typeof raw === 'string' && /^-?\d+(\.0+)?$/.test(raw) ? Number(raw) : raw;
  return Number.isInteger(value) && Math.abs(value as number) <= greatest ? value : DRIFTED;
}

function decimal(raw: unknown): unknown {
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw : DRIFTED;
  if (typeof raw !== 'string' || !NUMERIC.test(raw)) return DRIFTED;
  const value = Number(raw);
  return Number.isFinite(value) && new Big(raw).eq(value) ? value : DRIFTED;
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
