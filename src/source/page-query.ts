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

/** The body of a page's request, JSON; undefined: it has none. */
export function pageBody(feed: FeedDefinition, request: PageRequest): string | undefined {
  if (feed.body === undefined) return undefined;
  const body: Members = structuredClone(feed.body);
  for (const [path, value] of pageParts(feed, request)) put(body, path, value);
  return JSON.stringify(body);
}

/**
 * The feed's fixed parameters, then paging, then the token. Brackets go percent-encoded (`parameters%5Bupdated%5D`),
 * which every server must read like the plain form; the plain form is not valid in a query.
 */
function pageQuery(feed: FeedDefinition, request: PageRequest, access: ApiAccess): URLSearchParams {
  const query = new URLSearchParams(feed.query);
  if (feed.body === undefined)
    for (const [name, value] of pageParts(feed, request)) query.set(name, String(value));
  const parameter = tokenParameter(access.auth);
  if (parameter !== null) query.set(parameter, access.token);
  return query;
}

/** What differs from page to page and from poll to poll, by the names that the feed gives. */
function* pageParts(
  feed: FeedDefinition,
  request: PageRequest,
): Generator<readonly [name: string, value: string | number]> {
  const { paging, parameters } = feed;
  const isNumbered = paging.style === 'page' || paging.style === 'offset';
  if (isNumbered && parameters.page !== null) yield [parameters.page, request.pageOffset];
  if (parameters.pageSize !== null) yield [parameters.pageSize, request.pageSize];
  const { updatedSinceFormat: format = feed.updatedFormat, beginAt = 0, windowSeconds } = feed;
  const isNumber = format === 'seconds' || format === 'milliseconds';
  const time = (text: string) => (isNumber ? Number(text) : text);
  // A beginning before 1970 stands for no time at all.
  const isBegin = request.updatedSince === 0 && windowSeconds === undefined;
  const since = isBegin ? beginAt : Math.max(request.updatedSince, beginAt);
  if (parameters.updatedSince !== null) yield [parameters.updatedSince, time(writeTime(since, format))];
  if (parameters.updatedUntil && request.updatedUntil !== undefined)
    yield [parameters.updatedUntil, time(writeTime(request.updatedUntil, format, 'until'))];
  if (request.dates !== undefined && parameters.dateFrom && parameters.dateTo) {
    yield [parameters.dateFrom, request.dates.from];
    yield [parameters.dateTo, request.dates.to];
  }
  const cursor = paging.style === 'cursor' ? (request.continuation ?? paging.start) : undefined;
  if (paging.style === 'cursor' && cursor !== undefined) yield [paging.parameter, cursor];
}

type Members = { [name: string]: unknown };

/** A number or a text that the body already has there says how the API wants the value. */
function put(body: Members, path: string, value: string | number): void {
  const names = path.split('.');
  const last = names.pop()!;
  let holder = body;
  for (const [i, name] of names.entries()) {
    holder[name] ??= /^\d{1,2}$/.test(names[i + 1] ?? last) ? [] : {};
    holder = holder[name] as Members;
  }
  const sample = holder[last];
  const isNumeric = typeof sample === 'number' && Number.isSafeInteger(Number(value));
  holder[last] = typeof sample === 'string' ? String(value) : isNumeric ? Number(value) : value;
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
