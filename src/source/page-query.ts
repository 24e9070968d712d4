import type { FeedDefinition } from '../feeds/definition';
import { writeTime } from '../feeds/time-format';
import { type ApiAccess, tokenParameter } from './api-access';
import { linkQuery } from './next-page';
import type { PageRequest } from './source';

/** The whole address of a page's request. */
export function pageUrl(feed: FeedDefinition, request: PageRequest, access: ApiAccess): string {
  const { continuation } = request;
  if (feed.paging.style === 'link' && continuation !== undefined) return linkedPage(continuation, access);
  const query = pageQuery(feed, request, access).toString();
  return `${endpointUrl(access.baseUrl, feed.path)}${query === '' ? '' : `?${query}`}`;
}

/**
 * The feed's fixed parameters, then paging, then the token. Brackets go percent-encoded (`parameters%5Bupdated%5D`),
 * which every server must read like the plain form; the plain form is not valid in a query.
 */
function pageQuery(feed: FeedDefinition, request: PageRequest, access: ApiAccess): URLSearchParams {
  const { paging, parameters } = feed;
  const query = new URLSearchParams(feed.query);
  const isNumbered = paging.style === 'page' || paging.style === 'offset';
  if (isNumbered && parameters.page !== null) query.set(parameters.page, String(request.pageOffset));
  if (parameters.pageSize !== null) query.set(parameters.pageSize, String(request.pageSize));
  const { updatedSinceFormat: format = feed.updatedFormat, beginAt = 0 } = feed;
  if (parameters.updatedSince !== null)
    query.set(parameters.updatedSince, writeTime(Math.max(request.updatedSince, beginAt), format));
  if (parameters.updatedUntil && request.updatedUntil !== undefined)
    query.set(parameters.updatedUntil, writeTime(request.updatedUntil, format, 'until'));
  if (request.dates !== undefined && parameters.dateFrom && parameters.dateTo) {
    query.set(parameters.dateFrom, request.dates.from);
    query.set(parameters.dateTo, request.dates.to);
  }
  const cursor = paging.style === 'cursor' ? (request.continuation ?? paging.start) : undefined;
  if (paging.style === 'cursor' && cursor !== undefined) query.set(paging.parameter, cursor);
  const parameter = tokenParameter(access.auth);
  if (parameter !== null) query.set(parameter, access.token);
  return query;
}

/** The link's own query as the API has written it, with our token. */
function linkedPage(link: string, access: ApiAccess): string {
  const url = new URL(link);
  const parameter = tokenParameter(access.auth);
  const token = parameter === null ? '' : new URLSearchParams({ [parameter]: access.token }).toString();
  const query = [linkQuery(url, parameter), token].filter((part) => part !== '').join('&');
  return `${url.origin}${url.pathname}${query === '' ? '' : `?${query}`}`;
}

/** The address of a feed's endpoint, without query. The base may have a path of its own. */
export function endpointUrl(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
  return `${url.origin}${url.pathname}`;
}
