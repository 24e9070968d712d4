import { ExactNumber } from '../json/exact-number';
import type { FilterFormat, TimeFormat } from './definition';

/**
 * A time as the endpoint's filter takes it. A part that the format does not have is left out: for the begin of a range downwards, for
 * its end upwards. A date stays that of the time, because a range of dates includes both.
 * @param seconds Unix seconds
 */
export function writeTime(seconds: number, format: FilterFormat, edge: 'since' | 'until' = 'since'): string {
  const whole = edge === 'since' ? Math.floor : Math.ceil;
  // 1700000000.123 * 1000 is not a whole number.
  if (format === 'milliseconds') return String(whole(Number((seconds * 1000).toFixed(3))));
  if (format === 'seconds') return String(whole(seconds));
  const text = new Date((format === 'date' ? Math.floor(seconds) : whole(seconds)) * 1000).toISOString();
  const [date, time] = [text.slice(0, -14), text.slice(-13, -5)];
  switch (format) {
    case 'date':
      return date;
    case 'datetime':
      return `${date} ${time}`;
    case 'iso8601-ms':
      return text;
    case 'iso8601-offset':
      return `${date}T${time}+00:00`;
    case 'iso8601':
      return `${date}T${time}Z`;
  }
}

/** For people: what each format takes. */
export const expectedTime: Readonly<Record<TimeFormat, string>> = {
  seconds: 'Unix seconds',
  milliseconds: 'Unix milliseconds as a whole number',
  iso8601: 'an ISO 8601 time such as 2026-01-31T09:30:00Z',
};

/**
 * Unix seconds of a time as a record has it, with a fraction if the format has one; null for anything else. An ISO time before 1970 is 0:
 * some APIs write the first moment that they know, such as 0001-01-01, for a record that was never updated. So is MySQL's zero date.
 */
export type TimeReader = (raw: unknown) => number | null;

export function timeReader(format: TimeFormat): TimeReader {
  if (format === 'seconds') return readSeconds;
  if (format === 'milliseconds') return readMilliseconds;
  return (raw) => {
    const seconds = typeof raw === 'string' && ZERO_DATE.test(raw) ? 0 : readIso8601(raw);
    return seconds === null ? null : Math.max(0, seconds);
  };
}

/** MySQL's value for a time that was never set. It is not a calendar date. */
const ZERO_DATE = /^0000-00-00(?:[Tt ]00:00:00(?:\.0+)?[Zz]?)?$/;

/** Above this a time stamp is in milliseconds: as seconds it would lie in the year 5138. */
const GREATEST_SECONDS = 1e11;
/** The end of the year 9999. A number of microseconds lies behind it, even if it is taken for milliseconds. */
const LAST_SECOND = 253_402_300_799;

/** Whole seconds. APIs that write them differ in details, so text, fractions and milliseconds are taken as well. */
export function readSeconds(raw: unknown): number | null {
  const isText = raw instanceof ExactNumber || (typeof raw === 'string' && /^\d+(\.\d+)?$/.test(raw));
  const value = isText ? Number(raw) : raw;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null;
  const seconds = Math.floor(value > GREATEST_SECONDS ? value / 1000 : value);
  return seconds <= LAST_SECOND ? seconds : null;
}

function readMilliseconds(raw: unknown): number | null {
  const value = typeof raw === 'string' && /^\d+$/.test(raw) ? Number(raw) : raw;
  if (!Number.isInteger(value) || (value as number) < 0) return null;
  return (value as number) / 1000 <= LAST_SECOND ? (value as number) / 1000 : null;
}

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)? ?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/** A date without a time is its midnight, and a time without an offset is UTC. Before 1970, seconds are negative. */
export function readIso8601(raw: unknown): number | null {
  const parts = typeof raw === 'string' ? ISO_8601.exec(raw) : null;
  if (parts === null) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as [
    ...[number, number, number],
    ...[number, number, number],
  ];
  const [offsetHours, offsetMinutes] = [Number(parts[10] ?? 0), Number(parts[11] ?? 0)];
  // A leap second counts as the second after it, as in Unix time.
  if (hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return null;
  if (!isDay(year, month, day)) return null;
  const offset = (parts[9] === '-' ? -1 : 1) * (offsetHours * 3600 + offsetMinutes * 60);
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const whole = new Date(0).setUTCFullYear(year, month - 1, day) / 1000 + hour * 3600 + minute * 60 + second;
  return whole - offset + Number(`0.${parts[7] ?? 0}`);
}

/** Date takes 30 February for 2 March. */
function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(new Date(0).setUTCFullYear(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
