const numbers = new Intl.NumberFormat('en');
const rounded = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dateAndClock = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export const number = (value: number): string => numbers.format(value);

/** `1,204`, or `1.2M` if there is no room for more. */
export const shortNumber = (value: number): string =>
  Math.abs(value) >= 1_000_000 ? rounded.format(value) : numbers.format(value);

/** `12:31:05`, in the reader's zone. */
export const timeOfDay = (ms: number): string => (isTime(ms) ? clock.format(ms) : '–');

/** `22 Nov 2026, 12:31:05`, in the reader's zone. */
export const dateAndTime = (ms: number): string => (isTime(ms) ? dateAndClock.format(ms) : '–');

/** `Intl` rejects dates beyond it, and a vendor may send any number. */
const isTime = (ms: number) => Math.abs(ms) <= 8.64e15;

/** `RatingChanged` as words: `Rating changed`. */
export function typeText(type: string): string {
  const words = type.replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A sentence as a part of another: without its stop and its capital. */
export function asClause(sentence: string): string {
  const text = sentence.trim().replace(/\.$/, '');
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
