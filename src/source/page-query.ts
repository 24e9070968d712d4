import type { FeedDefinition } from '../feeds/definition';
import type { PageRequest } from './source';

/**
 * The feed's fixed parameters, then paging, then the token. Brackets go percent-encoded (`parameters%5Bupdated%5D`),
 * which every server must read like the plain form; the plain form is not valid in a query.
 */
export function pageQuery(feed: FeedDefinition, request: PageRequest, token: string): URLSearchParams {
  const { parameters } = feed;
  const query = new URLSearchParams(feed.query);
  query.set(parameters.page, String(request.pageOffset));
  query.set(parameters.pageSize, String(request.pageSize));
  query.set(parameters.updatedSince, String(request.updatedSince));
  if (request.dates !== undefined && parameters.dateFrom && parameters.dateTo) {
    query.set(parameters.dateFrom, request.dates.from);
    query.set(parameters.dateTo, request.dates.to);
  }
  query.set('token', token);
  return query;
}

/** The address of a feed's endpoint, without query. The base may have a path of its own. */
export function endpointUrl(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
  return `${url.origin}${url.pathname}`;
}
