import { z } from 'zod';
import { readIso8601 } from '../feeds/time-format';

/**
 * The types of settings, as schemas that take the text of flags, variables and the file. The message of each schema names the
 * expected form.
 */
const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const longTimes: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };
const bytes: Readonly<Record<string, number>> = {
  KB: 1_000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
};

/** A text that `read` converts. `error` names the expected form if `read` returns null. */
function read<Value>(error: string, parse: (text: string) => Value | null) {
  return z.string({ error }).transform((text, context): Value => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** An amount with a unit, within limits. @param convert returns null for an amount that cannot be taken */
function amount(
  error: string,
  units: Readonly<Record<string, number>>,
  [least, most]: readonly [number, number],
  convert: (value: number) => number | null,
) {
  return read(error, (text) => {
    const value = withUnit(text, units);
    return value !== null && value >= least && value <= most ? convert(value) : null;
  });
}

const DAY = 86_400_000;
const toSeconds = (ms: number) => (ms % 1_000 === 0 ? ms / 1_000 : null);

/** `12h`, `30d` as milliseconds. */
export function age() {
  const error = 'an age such as 12h or 30d, from 1h to 36500d';
  return amount(error, longTimes, [3_600_000, 36_500 * DAY], Math.round);
}

/** `500ms`, `60s`, `5m`, `1h` as milliseconds. */
export function duration(atLeastMs: number, example = '500ms, 60s or 5m') {
  const error = `a duration such as ${example}, at least ${atLeastMs} ms and at most 24 h`;
  return amount(error, milliseconds, [atLeastMs, DAY], Math.round);
}

/** A duration in whole seconds, like the vendor's clock. */
export function wholeSeconds() {
  const error = 'a duration of whole seconds such as 5s, 2m or 1h, at most 24 h';
  return amount(error, milliseconds, [0, DAY], toSeconds);
}

/** `12h`, `30d` in whole seconds. */
export function longSeconds() {
  const error = 'a duration such as 12h or 30d, at least 1m and at most 36500d';
  return amount(error, { ...milliseconds, ...longTimes }, [60_000, 36_500 * DAY], toSeconds);
}

const YEAR_1 = -62_135_596_800;

/** A date, which is its midnight, or a time, in UTC if it names no offset. Unix seconds. */
export function moment() {
  return read('a date or a time, such as 2020-01-31 or 2020-01-31T09:30:00Z', (text) => {
    const seconds = readIso8601(text.trim());
    return seconds === null || seconds < YEAR_1 ? null : Math.floor(seconds);
  });
}

/** As `moment`, or so long ago (`2h`, `30d`), or `now`. Unix ms. */
export function pastMoment() {
  return read('a time such as 2020-01-31, 2020-01-31T09:30:00Z, 2h (ago) or now', (text) => {
    const agoMs = text === 'now' ? 0 : withUnit(text, { ...milliseconds, ...longTimes });
    if (agoMs !== null) return Date.now() - agoMs;
    const seconds = readIso8601(text.trim());
    return seconds === null || seconds < 0 ? null : Math.round(seconds * 1_000);
  });
}

/** `64MB`, `512KiB` as bytes. */
export function byteSize(atLeast: number, atMost: number) {
  const error = `a size such as 64MB or 512KiB, from ${atLeast} to ${atMost} bytes`;
  return amount(error, bytes, [atLeast, atMost], Math.floor);
}

/** `12`, `0.5`, `1e3`, `0x1F`: what YAML calls a number. */
const numberText = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$|^0x[\dA-Fa-f]+$|^0o[0-7]+$/;

const number = (error: string) =>
  z.union([z.number(), z.string().regex(numberText, { error })], { error }).transform(Number);

export function numberBetween(least: number, greatest: number) {
  const error = `a number from ${least} to ${greatest}`;
  return number(error).pipe(z.number({ error }).min(least, { error }).max(greatest, { error }));
}

export function wholeNumber(least: number, greatest: number) {
  const error = `a whole number from ${least} to ${greatest}`;
  return number(error).pipe(z.int({ error }).min(least, { error }).max(greatest, { error }));
}

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

/** Text that is not blank. */
export function text(error = 'a text') {
  return z.string({ error }).regex(/\S/, { error });
}

export function matching(pattern: RegExp, error: string) {
  return text(error).pipe(z.string().regex(pattern, { error }));
}

/** A shorter secret can be a part of ordinary words, which redaction would then remove from the output. */
export const leastSecretCharacters = 4;
const tooShort = 'a shorter one is a part of ordinary words, which would be hidden with it';

export function password() {
  return matching(/^.{4,}$/s, `a password of at least ${leastSecretCharacters} characters; ${tooShort}`);
}

/** @param what `characters without blanks` */
export function token(pattern: RegExp, what: string) {
  return matching(pattern, `a token of at least ${leastSecretCharacters} ${what}; ${tooShort}`);
}

/** A line for the shell, or a YAML list of a program and its arguments. */
export function command() {
  const error = 'a command: a line for /bin/sh, or a list of a program and its arguments';
  const part = z.string().min(1);
  return z.union([part, z.array(part).min(1)], { error });
}

/** `a,b` or a YAML list. */
export function list(error: string) {
  return z
    .union([z.string(), z.array(z.string())], { error })
    .transform((value) => (typeof value === 'string' ? value.split(',') : value))
    .transform((names) => [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))])
    .pipe(z.array(z.string()).min(1, { error }));
}

/** `host:port` of servers, separated by commas or as a YAML list. */
export function addresses(error: string) {
  return list(error).pipe(
    z.array(z.string().regex(/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, { error })),
  );
}

/** `yes` or `no`; also `true` or `false`, as in YAML and other programs. */
export function yesOrNo(error = 'yes or no') {
  return z.union([z.boolean(), z.string()], { error }).transform((value, context) => {
    const word = String(value).trim().toLowerCase();
    if (['yes', 'true', '1', 'on'].includes(word)) return true;
    if (['no', 'false', '0', 'off'].includes(word)) return false;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** An http or https address without user, query or fragment. */
export function httpUrl() {
  const error =
    'an address such as https://api.example.com, of http or https, without user, query or fragment';
  return read(error, (text) => {
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null || /[?#]/.test(text) || url.username !== '' || url.password !== '') return null;
    return /^https?:$/.test(url.protocol) ? url.href : null;
  });
}

/** The same, and closing slashes are removed. */
export function bareUrl() {
  return httpUrl().transform((url) => url.replace(/\/+$/, ''));
}

function withUnit(text: string, units: Readonly<Record<string, number>>): number | null {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$/.exec(text) ?? [];
  const factor = unit === undefined ? undefined : units[unit];
  return factor === undefined ? null : Number(amount) * factor;
}
