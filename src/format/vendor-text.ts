import { shortText } from './short-text';

const MOST_CHARACTERS = 200;

/** A value of a record as text for people, whole but for very long ones; null where there is none. */
export function vendorText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return shortText(shorterDecimal(value), MOST_CHARACTERS);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value))
    return shortText(value.map((one) => vendorText(one) ?? '–').join(', '), MOST_CHARACTERS);
  return shortText(typeof value === 'object' ? JSON.stringify(value) : String(value), MOST_CHARACTERS);
}

/** Two decimals are enough to look at: `193.0000` → `193.00`. */
export function shorterDecimal(text: string): string {
  return text.replace(/^(-?\d+\.\d\d)0+$/, '$1');
}
