import { z } from 'zod';

/**
 * The types of settings, as schemas that take what flags, variables and YAML give: text mostly. The message of each is
 * what an error says was expected.
 */
const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const bytes: Readonly<Record<string, number>> = { KB: 1_000, MB: 1_000_000, KiB: 1_024, MiB: 1_048_576 };

/** `500ms`, `60s`, `5m`, `1h` as milliseconds. */
export function duration(atLeastMs: number, example = '500ms, 60s or 5m') {
  const error = `a duration such as ${example}, at least ${atLeastMs} ms and at most 24 h`;
  return z.string({ error }).transform((text, context) => {
    const value = withUnit(text, milliseconds);
    if (value !== null && value >= atLeastMs && value <= 86_400_000) return Math.round(value);
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** A duration of whole seconds, since that is as fine as the vendor's clock is. */
export function wholeSeconds() {
  const error = 'a duration of whole seconds such as 5s, 2m or 1h, at most 24 h';
  return z.string({ error }).transform((text, context) => {
    const value = withUnit(text, milliseconds);
    if (value !== null && value % 1_000 === 0 && value <= 86_400_000) return value / 1_000;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** `64MB`, `512KiB` as bytes. */
export function byteSize(atLeast: number, atMost: number) {
  const error = `a size such as 64MB or 512KiB, from ${atLeast} to ${atMost} bytes`;
  return z.string({ error }).transform((text, context) => {
    const value = withUnit(text, bytes);
    if (value !== null && value >= atLeast && value <= atMost) return Math.floor(value);
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

export function numberBetween(least: number, greatest: number) {
  const error = `a number from ${least} to ${greatest}`;
  return z
    .union([z.number(), z.string().regex(/^\d+(\.\d+)?$/, { error })], { error })
    .transform(Number)
    .pipe(z.number({ error }).min(least, { error }).max(greatest, { error }));
}

export function wholeNumber(least: number, greatest: number) {
  const error = `a whole number from ${least} to ${greatest}`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/, { error })], { error })
    .transform(Number)
    .pipe(z.int({ error }).min(least, { error }).max(greatest, { error }));
}

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

/** Text that is not blank; numbers and booleans are taken as they were written, for YAML reads `12` as one. */
export function text(error = 'a text') {
  return z
    .union([z.string(), z.number(), z.boolean()], { error })
    .transform(String)
    .pipe(z.string().regex(/\S/, { error }));
}

export function matching(pattern: RegExp, error: string) {
  return text(error).pipe(z.string().regex(pattern, { error }));
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

/** `yes` or `no`, or as YAML and other programs have it: `true`, `false`. */
export function yesOrNo() {
  const error = 'yes or no';
  return z.union([z.boolean(), z.string()], { error }).transform((value, context) => {
    const word = String(value).trim().toLowerCase();
    if (['yes', 'true', '1', 'on'].includes(word)) return true;
    if (['no', 'false', '0', 'off'].includes(word)) return false;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** An http or https address that carries nothing but a place, without its closing slashes. */
export function bareUrl() {
  const error =
    'an address such as https://api.example.com, of http or https, without user, query or fragment';
  return z.string({ error }).transform((value, context) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    const bare = url !== null && !/[?#]/.test(value) && url.username === '' && url.password === '';
    if (bare && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href.replace(/\/+$/, '');
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

function withUnit(text: string, units: Readonly<Record<string, number>>): number | null {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$/.exec(text) ?? [];
  const factor = unit === undefined ? undefined : units[unit];
  return factor === undefined ? null : Number(amount) * factor;
}
