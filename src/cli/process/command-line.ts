import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { duration, pastMoment, wholeNumber } from '../../config/value-types';
import { HighwaterError } from '../../errors';

/** Parsers for commander, for options that are not settings. A wrong value is a usage error that names the expected form. */
function checked<Schema extends z.ZodType>(schema: Schema): (text: string) => z.output<Schema> {
  return (text) => {
    const parsed = schema.safeParse(text);
    if (!parsed.success) throw new InvalidArgumentError(`Expected ${parsed.error.issues[0]?.message}.`);
    return parsed.data;
  };
}

export const durationValue = checked(duration(10));

export function wholeNumberValue(least: number, greatest: number): (text: string) => number {
  return checked(wholeNumber(least, greatest));
}

export const pastMomentValue = checked(pastMoment());

/** A calendar date, as it is written. */
export const dateValue = checked(z.iso.date({ error: 'a date such as 2026-03-31' }));

/** A place in each partition of a log. */
export function placeValue(text: string): 'beginning' | 'committed' | { readonly sinceMs: number } {
  if (text === 'beginning') return text;
  if (text === 'end') return 'committed';
  const error = 'beginning, end or a time such as 2026-03-31T09:00:00Z';
  return { sinceMs: Date.parse(checked(z.iso.datetime({ offset: true, error }))(text)) };
}

const ops = ['c', 'u', 'd', 'r'];

/** `c,u` as a set. */
export function opsValue(text: string): ReadonlySet<string> {
  const chosen = text.split(',').map((op) => op.trim());
  const wrong = chosen.find((op) => !ops.includes(op));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(
      `Expected some of c (created), u (updated), d (deleted), r (read), found "${wrong}".`,
    );
  }
  return new Set(chosen);
}

/** A wrong command line, in the three parts of every error. */
export function usageError(what: string, now: string, remedy: string): HighwaterError {
  return new HighwaterError('USAGE_INVALID', what, { now, remedy });
}

/** The feed of that name. @throws HighwaterError USAGE_INVALID */
export function feedNamed<Feed extends { readonly name: string }>(
  name: string,
  feeds: readonly Feed[],
  now: string,
): Feed {
  const found = feeds.find((feed) => feed.name === name);
  if (found !== undefined) return found;
  const names = feeds.map((feed) => feed.name).join(', ');
  throw usageError(
    `there is no feed ${name}; there are ${names}`,
    now,
    'Name one of these feeds, or enable the feed (HIGHWATER_FEEDS).',
  );
}
