import Big from 'big.js';
import type { AvroSchema } from '../../avro/registry/registry';
import { type PlainType, shapeOf } from '../../avro/value-shape';

/** The value cannot be brought to the field's type without a loss: it goes into `extra` as it came. */
export const DRIFTED = Symbol('drifted');

/** From a vendor's value, neither undefined nor null, to the field's type, to null for unknown, or DRIFTED. */
export type Coercion = (raw: unknown) => unknown;

/** The coercion for a field's type. Only what loses nothing is coerced: `"12"` for 12. Records, and lists and maps of them: `decode.ts`. */
export function coercionOf(type: AvroSchema | undefined, emptyIsUnknown: boolean): Coercion {
  const shape = shapeOf(type);
  if (shape.kind === 'plain') return plainCoercion(shape.type, emptyIsUnknown);
  if (shape.kind === 'enum') {
    const symbols = new Set<unknown>(shape.symbols);
    return (raw) => (raw === '' ? null : symbols.has(raw) ? raw : DRIFTED);
  }
  return isArrayOfText(type) ? (raw) => (raw === '' ? null : texts(raw)) : () => DRIFTED;
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
  // A longer number has lost digits in JSON already: at least it is not passed off as text.
  return typeof raw === 'number' && (Number.isSafeInteger(raw) || !Number.isInteger(raw))
    ? String(raw)
    : DRIFTED;
}

/** avsc doubles a long to encode its sign: above this it would lose the last bit and read back as another number. */
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

/** A decimal number, as the vendor may write one. Its exponent is kept short: comparing must stay cheap. */
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

/** A list with nothing but texts in it. */
export function isArrayOfText(type: AvroSchema | undefined): boolean {
  const shape = shapeOf(type);
  return shape.kind === 'array' && shape.items === 'string';
}
