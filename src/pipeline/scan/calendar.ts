/** Calendar dates (2026-01-31) as whole days since 1970, and the seconds of a day in UTC. */
const DAY_SECONDS = 86_400;

/** Of 9999-12-31: what follows has no name of this form. */
const LAST_DAY = 2_932_896;

/** @throws RangeError when the text is no date of the calendar */
export function dayOf(date: string): number {
  if (!isDate(date)) throw new RangeError(`${date} is no calendar date`);
  return Date.parse(date) / (DAY_SECONDS * 1000);
}

export function dateOf(day: number): string {
  return new Date(Math.min(day, LAST_DAY) * DAY_SECONDS * 1000).toISOString().slice(0, 10);
}

export function isDate(text: string): boolean {
  // The name of a year before 0 is longer, and a month of it as long as a date.
  if (!/^\d{4}-/.test(text)) return false;
  const ms = Date.parse(text);
  // February has no 30th, though some parsers take it for the 2nd of March.
  return !Number.isNaN(ms) && dateOf(ms / (DAY_SECONDS * 1000)) === text;
}

/** Unix seconds. */
export function firstSecondOf(day: number): number {
  return day * DAY_SECONDS;
}

/** Unix seconds. */
export function lastSecondOf(day: number): number {
  return (day + 1) * DAY_SECONDS - 1;
}
