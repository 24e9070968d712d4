import { createHash } from 'node:crypto';
import type { FeedDefinition } from './definition';

/**
 * Identifies the part of the vendor's data that a feed watches: address, filters, body, headers, response key, beginning, and members that
 * are left out. If it changes, the feed may no longer see records that are not deleted. How the data is read (page size, intervals,
 * parameter names) does not matter.
 * @returns sha256 in hex
 */
export function scopeFingerprint(feed: FeedDefinition, baseUrl: string): string {
  const base = new URL(baseUrl);
  const path = `${base.pathname.replace(/\/+$/, '')}/${feed.path.replace(/^\/+/, '')}`;
  const query = Object.entries(feed.query).sort(([a], [b]) => (a < b ? -1 : 1));
  const headers = Object.entries(feed.headers).sort(([a], [b]) => (a < b ? -1 : 1));
  const beginning = feed.beginAt ? [feed.beginAt] : [];
  const leftOut = [feed.omit, feed.ignore].map((paths) => [...paths].sort());
  const whole = [
    base.origin,
    path,
    query,
    feed.responseKey,
    ...(headers.length === 0 ? [] : [headers]),
    ...beginning,
    ...(feed.body === undefined ? [] : [{ body: feed.body }]),
    ...(leftOut.flat().length === 0 ? [] : leftOut),
  ];
  const scope = JSON.stringify(whole);
  return createHash('sha256').update(scope).digest('hex');
}
