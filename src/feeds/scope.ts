import { createHash } from 'node:crypto';
import type { FeedDefinition } from './definition';

/**
 * Names what part of the vendor's data a feed watches: address, filters, headers and response key. When it changes, records may
 * vanish from the feed's sight without being deleted. How it is read (page size, intervals, parameter names) is no part
 * of it.
 * @returns sha256 in hex
 */
export function scopeFingerprint(feed: FeedDefinition, baseUrl: string): string {
  const base = new URL(baseUrl);
  const path = `${base.pathname.replace(/\/+$/, '')}/${feed.path.replace(/^\/+/, '')}`;
  const query = Object.entries(feed.query).sort(([a], [b]) => (a < b ? -1 : 1));
  const headers = Object.entries(feed.headers).sort(([a], [b]) => (a < b ? -1 : 1));
  const whole = [base.origin, path, query, feed.responseKey, ...(headers.length === 0 ? [] : [headers])];
  const scope = JSON.stringify(whole);
  return createHash('sha256').update(scope).digest('hex');
}
