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
  return fingerprint(whole);
}

/** Identifies how pages are asked for: names of parameters, paging, and the form of times. @returns sha256 in hex */
export function requestFingerprint(feed: FeedDefinition): string {
  const { parameters, paging, method, updatedField, updatedFormat, updatedSinceFormat, windowSeconds } = feed;
  const roles = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1));
  const style = Object.entries(paging).sort(([a], [b]) => (a < b ? -1 : 1));
  return fingerprint([roles, style, method, updatedField, updatedFormat, updatedSinceFormat, windowSeconds]);
}

function fingerprint(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
