import { recordJson } from '../json/json-text';
import { shortText } from './short-text';

const MOST_CHARACTERS = 200;
/** Number of letters that are shown before the first difference of two long texts. */
const COMMON_CHARACTERS = 40;

/** A value of a record as text for people, cut if it is long; null if there is none. */
export function vendorText(value: unknown): string | null {
  const text = wholeText(value);
  return text === null ? null : shortText(text, MOST_CHARACTERS);
}

/** Two values of a field. Long texts are cut to the part where they begin to differ. */
export function vendorTexts(before: unknown, after: unknown): [before: string | null, after: string | null] {
  const texts = [wholeText(before), wholeText(after)] as const;
  const common = commonLength(texts[0] ?? '', texts[1] ?? '');
  const left = common <= MOST_CHARACTERS / 2 ? 0 : common - COMMON_CHARACTERS;
  const [from, to] = texts.map((text) => {
    if (text === null) return null;
    return shortText(left === 0 ? text : `…${text.slice(left)}`, MOST_CHARACTERS);
  });
  return [from!, to!];
}

/** Two decimals are enough to look at: `193.0000` → `193.00`. */
export function shorterDecimal(text: string): string {
  return text.replace(/^(-?\d+\.\d\d)0+$/, '$1');
}

function wholeText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return shorterDecimal(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((one) => wholeText(one) ?? '–').join(', ');
  return typeof value === 'object' ? recordJson(value) : String(value);
}

function commonLength(a: string, b: string): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}
