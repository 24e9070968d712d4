const numbers = new Intl.NumberFormat('en');
const rounded = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dateAndClock = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export const number = (value: number): string => numbers.format(value);

/** `1,204`, or `1.2M` if there is no room for more. */
export const shortNumber = (value: number): string =>
  Math.abs(value) >= 1_000_000 ? rounded.format(value) : numbers.format(value);

/** `1 feed`, `3 feeds` */
export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : several}`;

const steps = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const;

/** In the largest unit that it fills: `850 ms`, `12 s`, `4 min`, `3 h`, `12 d`. Never negative. */
export function duration(ms: number): string {
  for (const [size, unit] of steps) if (ms >= size) return `${number(Math.floor(ms / size))} ${unit}`;
  return ms > 0 && ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.max(0, Math.floor(ms / 1_000))} s`;
}

/** `just now`, `12 s ago`, `4 min ago` */
export function ago(ms: number): string {
  return ms < 1_000 ? 'just now' : `${duration(ms)} ago`;
}

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
