import { HighwaterError } from '../../errors';

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
