import type {
  AuthScheme,
  CountedPaging,
  CursorPaging,
  FeedDefinition,
  PagingStyle,
} from '../feeds/definition';
import { idPaths } from '../feeds/row-keys';
import { valueAtPath } from '../json/dotted-path';
import { ExactNumber } from '../json/exact-number';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';
import { tokenParameter } from './api-access';
import { failure, type SourceFailure, type SourcePage } from './source';

/** The facts needed to find out how the next page is asked for. */
export interface NextPageContext extends Pick<FeedDefinition, 'idField'> {
  readonly paging: PagingStyle;
  readonly auth: AuthScheme;
  /** Address of the request, without query. */
  readonly url: string;
  /** How the request is called in errors. */
  readonly request: string;
  readonly redact: Redact;
}

export type NextPage = ({ readonly kind: 'next' } & Following) | SourceFailure;

/** What an answer says about the pages behind it. */
export type Following = Pick<SourcePage, 'next' | 'isLast' | 'total' | 'isEndSaid'>;

const none = { kind: 'next', next: null } as const;
const noneSaid = { ...none, isEndSaid: true } as const;

/** Whether the body of an answer has to be parsed to find the next page. */
export function isNextInBody(paging: PagingStyle): boolean {
  switch (paging.style) {
    case 'cursor':
      return true;
    case 'link':
      return paging.from !== null;
    case 'page':
    case 'offset':
      return paging.hasMore !== undefined || paging.total !== undefined;
    case 'none':
      return false;
  }
}

/** Whether an answer ends the pages by naming no next one. It may have named it at another member. */
export function isEndUnsaid(paging: PagingStyle): boolean {
  if (paging.style === 'link') return paging.from !== null;
  if (paging.style === 'none') return true;
  return paging.style === 'cursor' && paging.hasMore === undefined && paging.lastRow === undefined;
}

/** @param answer the parsed body, when `isNextInBody` */
export function nextPage(
  rows: readonly unknown[],
  answer: unknown,
  linkHeader: string | undefined,
  context: NextPageContext,
): NextPage {
  const { paging } = context;
  if (paging.style === 'cursor') {
    const { from, lastRow, hasMore } = paging;
    if (lastRow !== undefined) return behindLastRow(rows, answer, { ...paging, lastRow }, context);
    const more = moreAt(answer, hasMore);
    if (more === false) return noneSaid;
    const found = cursorAt(answer, from!, context);
    const isLost = found.kind === 'next' && found.next === null && more === true;
    return isLost ? { ...none, isLast: false } : found;
  }
  if (paging.style === 'page' || paging.style === 'offset') return counted(answer, paging);
  if (paging.style !== 'link') return none;
  if (paging.from === null) {
    const link = nextLink(linkHeader);
    return link === null && /\brel="?prev/i.test(linkHeader ?? '') ? noneSaid : ownLink(link, context);
  }
  const found = textAt(answer, paging.from, context);
  return found.kind === 'failure' || found.next === null ? found : ownLink(found.next, context);
}

/** What the flag says; undefined: nothing. With an exclamation mark before its path, it is true on the last page. */
function moreAt(answer: unknown, hasMore: string | undefined): boolean | undefined {
  if (hasMore === undefined) return undefined;
  const isEnd = hasMore.startsWith('!');
  const said = truthOf(valueAtPath(answer, isEnd ? hasMore.slice(1) : hasMore));
  return said === undefined ? undefined : said !== isEnd;
}

/** As APIs write a flag: also in words, as a number, or as a list that is empty on the last page. */
function truthOf(flag: unknown): boolean | undefined {
  if (Array.isArray(flag)) return flag.length > 0;
  const word = String(flag).toLowerCase();
  if (['true', 'yes'].includes(word) || Number(flag ?? Number.NaN) > 0) return true;
  return ['false', 'no', '0'].includes(word) ? false : undefined;
}

function counted(answer: unknown, { hasMore, total }: CountedPaging<'page' | 'offset'>): NextPage {
  const all = total === undefined ? null : valueAtPath(answer, total);
  const more = moreAt(answer, hasMore);
  // Some APIs write it as text.
  const count = typeof all === 'number' || (typeof all === 'string' && /^\d+$/.test(all)) ? Number(all) : -1;
  return {
    kind: 'next',
    next: null,
    ...(more !== undefined && { isLast: !more }),
    ...(total !== undefined && { total: Number.isSafeInteger(count) && count >= 0 ? count : null }),
  };
}

function behindLastRow(
  rows: readonly unknown[],
  answer: unknown,
  { lastRow, hasMore }: CursorPaging & { readonly lastRow: string },
  context: NextPageContext,
): NextPage {
  const more = moreAt(answer, hasMore);
  if (more === false) return noneSaid;
  if (rows.length === 0 && more !== true) return none;
  const found = textAt(rows.at(-1), lastRow, context);
  if (found.kind === 'next' && found.next !== null && isShared(rows, found.next, lastRow, context))
    return failure(
      'SOURCE_WRONG_SHAPE',
      `${context.request} answered with two rows of the value ${excerpt(found.next, context.redact)} at "${lastRow}", so it is no place between rows: others of this value would be left out. Name a member that tells all rows apart in paging.lastRow`,
    );
  if (found.kind === 'failure' || found.next !== null) return found;
  const what = rows.length === 0 ? 'no rows' : `nothing at "${lastRow}" of the last row`;
  return failure(
    'SOURCE_WRONG_SHAPE',
    `${context.request} answered with ${what}, so the next page is unknown`,
  );
}

/** Whether the last two rows, which are of two records, have the value. */
function isShared(rows: readonly unknown[], value: string, path: string, context: NextPageContext): boolean {
  const [before, last] = rows.slice(-2);
  // By a part of its id, an API may keep the rows of one value together.
  if (rows.length < 2 || idPaths(context).includes(path)) return false;
  const isOther = idPaths(context).some(
    (of) => String(valueAtPath(before, of)) !== String(valueAtPath(last, of)),
  );
  const shared = textAt(before, path, context);
  return isOther && shared.kind === 'next' && shared.next === value;
}

/** Some APIs name it on the last page. Others name 0, which elsewhere is the cursor of a page, so that only `hasMore` tells. */
const NONE = '-1';

function cursorAt(answer: unknown, path: string, context: NextPageContext): NextPage {
  const found = textAt(answer, path, context);
  return found.kind === 'next' && found.next === NONE ? noneSaid : found;
}

/** @param path its end may be the place of an item in a list */
function textAt(holder: unknown, path: string, { request }: NextPageContext): NextPage {
  const found = valueAtPath(holder, path);
  const value = found ?? itemAt(holder, path) ?? '';
  // Some APIs give these values on the last page.
  if (value === '' || value === false) return found === undefined ? none : noneSaid;
  if (typeof value === 'string') return { kind: 'next', next: value };
  if (typeof value === 'number' || value instanceof ExactNumber) return { kind: 'next', next: String(value) };
  const within = ['href', 'url'].find((name) => typeof valueAtPath(value, name) === 'string');
  const better =
    within === undefined ? '' : `; there is a text at "${path}.${within}": set paging.from to it`;
  return failure(
    'SOURCE_WRONG_SHAPE',
    `${request} answered with ${kindOf(value)} at "${path}", not a text or a number that leads to the next page${better}`,
  );
}

function itemAt(holder: unknown, path: string): unknown {
  const [, list = '', place] = /^(.+)\.(\d+)$/.exec(path) ?? [];
  const items = valueAtPath(holder, list);
  return Array.isArray(items) ? items[Number(place)] : undefined;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : 'true';
}

/**
 * A link to the API itself, complete and without the token that the API may have repeated in it. With `followPath`, also its path and
 * query at the API's own address, if it names another one.
 * @returns a failure if it leads elsewhere, because no token must be sent there
 */
export function ownLink(link: string | null, context: Omit<NextPageContext, 'idField'>): NextPage {
  if (link === null || link === '') return none;
  const { paging, url, request, redact, auth } = context;
  const target = URL.canParse(link, url) ? new URL(link, url) : null;
  const isAddress = target !== null && /^https?:$/.test(target.protocol);
  const { origin } = new URL(url);
  if (target?.origin === origin || (isAddress && paging.style === 'link' && paging.followPath)) {
    const query = linkQuery(target, tokenParameter(auth));
    return { kind: 'next', next: `${origin}${target.pathname}${query === '' ? '' : `?${query}`}` };
  }
  const where = isAddress
    ? excerpt(`${target.origin}${target.pathname}`, redact)
    : 'something that is not an address';
  return failure('SOURCE_LINK_ELSEWHERE', `${request} answered with a link to the next page at ${where}`);
}

/** A link's address between angle brackets, and the parameters behind it. */
const linkPattern = /<([^<>]*)>((?:\s*;\s*[^\s"=;,<>]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;<>]*))?)*)/g;
const parameterPattern = /;\s*([^\s"=;,<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;<>]*)))?/g;

/** The target of `rel="next"` in a `Link` header (RFC 8288), as it is written there; null if there is none. */
export function nextLink(header: string | undefined): string | null {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(linkPattern)) {
    const all = [...parameters.matchAll(parameterPattern)];
    // Only the first parameter of a name counts.
    const parameter = (wanted: string) => {
      const [, , quoted, bare] = all.find(([, name]) => name?.toLowerCase() === wanted) ?? [];
      return (quoted ?? bare ?? '').toLowerCase();
    };
    // Some APIs name a next page behind their last one, and say there that it has no rows (`results="false"`).
    if (parameter('results') === 'false') continue;
    if (parameter('rel').split(/\s+/).includes('next')) return target.trim();
  }
  return null;
}

/** Whether two addresses of the API are the same, however they are spelled. @param parameter carries the token, and does not count */
export function isSameAddress(one: string, other: string, parameter: string | null): boolean {
  const [a, b] = [new URL(one), new URL(other)];
  const query = ({ searchParams }: URL) =>
    [...searchParams]
      .filter(([name]) => name !== parameter)
      .map(String)
      .sort()
      .join('\n');
  return a.origin === b.origin && a.pathname === b.pathname && query(a) === query(b);
}

/** The query of a link without its `?`, and without the parameter that carries the token. */
export function linkQuery(url: URL, parameter: string | null): string {
  const parts = url.search.slice(1).split('&');
  return parts.filter((part) => part !== '' && nameOf(part) !== parameter).join('&');
}

/** As servers read it. */
function nameOf(part: string): string | undefined {
  return [...new URLSearchParams(part).keys()][0];
}
