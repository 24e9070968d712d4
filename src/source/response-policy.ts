import { isUtf8 } from 'node:buffer';
import { createBreather } from '../async/slices';
import type { ErrorCode } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import { idPaths, rowKeys } from '../feeds/row-keys';
import { isListOrObject, type ScannedAnswer, scanAnswer, type Unread } from '../json/answer-scan';
import type { AnswerShape } from '../json/answer-shape';
import { isObject, type Members, valueAtPath } from '../json/dotted-path';
import { type AnswerLimits, SMALL_ANSWER_BYTES } from '../json/limits';
import { parseJson } from '../json/parse-json';
import { withoutMembers } from '../json/remove-members';
import type { EchoedToken } from '../secrets/echoed-token';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';
import { carriedAs, isUsual } from './api-access';
import { type AskedPause, askedPause } from './asked-pause';
import type { Body } from './body';
import { aroundByte, brokenUtf8, inUtf8 } from './charset';
import {
  isSomething,
  partialBy,
  quoted,
  reportedCode,
  reportsError,
  saysFailure,
  sentenceIn,
  vendorMessage,
} from './error-report';
import { saidOfNext } from './more-rows';
import {
  type Following,
  isEndUnsaid,
  isNextInBody,
  type NextPageContext,
  nextLink,
  nextPage,
} from './next-page';
import { failure, type RowReader, type SourceFailure, type SourcePage } from './source';

/** One answer, its body complete and decompressed. Header names are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Body;
}

export interface ReadRows
  extends Following,
    Pick<SourcePage, 'rows' | 'omitted' | 'isVague' | 'partialBy' | 'moreBy'> {
  readonly kind: 'page';
}

export interface PolicyContext
  extends NextPageContext,
    Pick<FeedDefinition, 'omit' | 'responseKey' | 'updatedField' | 'updatedFormat'> {
  readonly echoedToken: EchoedToken;
  readonly readRows?: RowReader | undefined;
  /** The feed's own. */
  readonly shape: AnswerShape;
  /** The request has a filter, so 304 (which it did not provoke by a condition) means that there are no rows. */
  readonly mayBeUnmodified?: boolean;
  /** The request has a page number that cannot be the first one. */
  readonly isNumberBehind?: boolean;
  /** The request carries a cursor. Some APIs call it a token, too. */
  readonly hasCursor?: boolean;
  readonly limits: AnswerLimits;
  /** Reading ends when it aborts. */
  readonly signal: AbortSignal;
  readonly nowMs: number;
}

/** The answer, and what is known of its request. */
interface Answer extends RawResponse, PolicyContext {}

/** Enough of a large body to describe it in an error. */
const HEAD_BYTES = 256 * 1024;

/** Interprets an answer as a page, which may be empty, or as a named failure. An unknown answer is a failure. */
export async function interpretResponse(
  response: RawResponse,
  context: PolicyContext,
): Promise<ReadRows | SourceFailure> {
  const answer: Answer = { ...context, ...response };
  const { status, headers, readRows, echoedToken, limits, responseKey, shape } = answer;
  if (status === 204) return { kind: 'page', rows: [], next: null };
  if (status === 304 && answer.mayBeUnmodified) return { kind: 'page', rows: [], next: null, isVague: true };
  const decoded = inUtf8(answer.body, headers['content-type'], mayHoldPage(status));
  if (decoded.body === null) return answered('SOURCE_CHARSET', decoded.why, answer);
  const { body } = decoded;
  // A reader of rows teaches nothing of what stands beside them.
  const isShapeWanted = !shape.isKnown && responseKey !== '';
  if (readRows !== undefined && mayHoldPage(status) && !isNextInBody(answer.paging) && !isShapeWanted) {
    const rows = readRows(body, (text) => !echoedToken.isIn(text), limits.rows);
    if (rows !== null) return page(rows, undefined, answer);
  }
  const isSmall = body.length <= SMALL_ANSWER_BYTES;
  // A large body is read with pauses, in which other bodies are read.
  const bytes = isSmall ? body.shared() : body.kept();
  if (mayHoldPage(status) && isListOrObject(bytes) && !isUtf8(bytes)) {
    const what = `bytes that are not UTF-8, ${brokenUtf8(bytes, quoting(answer))}`;
    return answered('SOURCE_CHARSET', what, answer);
  }
  const text = new TextDecoder().decode(isSmall ? bytes : bytes.subarray(0, HEAD_BYTES));
  if (status === 404 && saysNoData(text, answer.isNumberBehind === true))
    return { kind: 'page', rows: [], next: null };
  if (!mayHoldPage(status)) return failureOfStatus(text, answer);
  if (text.trim() === '') return answered('SOURCE_BODY_EMPTY', 'an empty body', answer);
  const parsed = isSmall ? parsedJson(echoedToken.remove(text)) : undefined;
  if (parsed !== undefined) {
    const rows = rowsOf(parsed.value, text, answer);
    const isTooMuch = Array.isArray(rows) && rows.length > limits.rows;
    return isTooMuch ? failureOfAnswer('rows', 0, bytes, answer) : page(rows, parsed.value, answer);
  }
  if (!isListOrObject(bytes)) return answered('SOURCE_NOT_JSON', describeBody(text, answer), answer);
  // Another body may overwrite shared memory meanwhile.
  const kept = body.kept();
  const scanned = await scan(kept, isSmall, answer);
  if (scanned.kind === 'unread') return failureOfAnswer(scanned.why, scanned.at, kept, answer);
  return page(rowsOf(scanned.value, text, answer), scanned.value, answer);
}

async function scan(
  bytes: Buffer,
  isSmall: boolean,
  { echoedToken, limits, responseKey: key, signal, omit, ...feed }: PolicyContext,
): Promise<ScannedAnswer> {
  const keys = { idPaths: idPaths(feed), updatedPath: feed.updatedField ?? '' };
  const hiding = { clean: echoedToken.remove, hidesText: omit.length > 0 };
  const steps = scanAnswer(bytes, { key, ...keys, limits, ...hiding });
  const breather = createBreather(1);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (isSmall || !breather.isDue()) continue;
    await breather.breathe();
    signal.throwIfAborted();
  }
}

/** 203 is a 200 that a proxy touched. Every other status is an error, or the 404 that means an empty page. */
export function mayHoldPage(status: number): boolean {
  return status === 200 || status === 203;
}

type Rows = readonly unknown[];

/** The rows of an answer that has no list of them. */
const noList: Rows = [];

function rowsOf(value: unknown, text: string, answer: Answer): Rows | SourceFailure {
  if (Array.isArray(value)) return value;
  const said = messageIn(value, answer);
  const message = isSomething(said) ? said : null;
  const shown = () => quoted(text, quoting(answer));
  const reported = () => {
    const code = reportedCode(value, answer) ?? 'SOURCE_REPORTED_ERROR';
    return answered(code, `an error: ${message ?? shown()}`, answer);
  };
  if (typeof value === 'string') return reported();
  if (!isObject(value)) return answered('SOURCE_WRONG_SHAPE', `${shown()}, not an object`, answer);
  if (saysFailure(value)) return reported();
  const { responseKey, shape } = answer;
  // Without a key, an object holds no rows.
  const found = responseKey === '' ? undefined : valueAtPath(value, responseKey);
  if (found !== undefined) {
    if (message === null && isOnlyRow(found, answer) && !reportsError(value, responseKey)) return [found];
    const rows = rowsUnderKey(found, message, answer) ?? reported();
    if (!Array.isArray(rows)) return rows;
    if (rows.length === 0 && reportsError(value, responseKey)) return reported();
    if (rows.length > 0 || !shape.isKnown) shape.note(value);
    return rows;
  }
  if (message !== null) return reported();
  // Some APIs leave a list without rows out.
  const isBare = Object.keys(deepest(value, responseKey).members).length === 0;
  if (responseKey !== '' && (isBare || shape.isLike(value, responseKey)))
    return reportsError(value, responseKey) ? reported() : noList;
  return wrongKey(value, answer);
}

/**
 * Programs that make JSON of XML write a list of one row as that row. An error has no time of a record, so feeds without
 * `updatedField` get no such row. An object with a list of rows is what holds them.
 */
function isOnlyRow(found: unknown, feed: Answer): boolean {
  const keys = rowKeys(feed);
  const isRow = (value: unknown) =>
    isObject(value) && keys.id(value) !== null && keys.updated(value) !== null;
  if (feed.updatedField === null || !isObject(found) || !isRow(found)) return false;
  return !Object.values(found).some((value) => Array.isArray(value) && value.some(isRow));
}

/** Null if the value under the key is `null` and there is a message: that is an error, not an empty page. */
function rowsUnderKey(rows: unknown, message: string | null, answer: Answer): Rows | SourceFailure | null {
  if (Array.isArray(rows)) return rows;
  if (rows === null) return message === null ? noList : null;
  const what = `${isObject(rows) ? 'an object' : `a ${typeof rows}`} under "${answer.responseKey}", not an array`;
  return answered('SOURCE_WRONG_SHAPE', what, answer);
}

function wrongKey(value: Members, answer: Answer): SourceFailure {
  const { responseKey, redact } = answer;
  const { members, path } = deepest(value, responseKey);
  const keys = Object.keys(members);
  const named = keys.slice(0, 10).map((key) => `"${excerpt(key, redact)}"`);
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  const found = responseKey === '' ? 'an object, not an array' : `an object without "${responseKey}"`;
  const whose = path === '' ? 'its keys' : `the keys of "${path}"`;
  const list = keys.length === 0 ? 'it has none' : `${whose} are ${named.join(', ')}${more}`;
  // The object may be a record, with members that `omit` keeps out of sight.
  const said = sentenceIn(value, quoting(answer));
  const quote = said === null ? '' : `; it says: ${said}`;
  return answered('SOURCE_WRONG_SHAPE', `${found}; ${list}${quote}`, answer);
}

/** The last object on the way along a dotted path, and the part of the path that leads to it. */
function deepest(value: Members, responseKey: string): { readonly members: Members; readonly path: string } {
  const names = responseKey.split('.');
  for (let length = names.length - 1; length > 0; length--) {
    const path = names.slice(0, length).join('.');
    const members = valueAtPath(value, path);
    if (isObject(members)) return { members, path };
  }
  return { members: value, path: '' };
}

function failureOfStatus(text: string, answer: Answer): SourceFailure {
  const { status, headers, auth } = answer;
  const value = parsedJson(text)?.value;
  const said = messageIn(value, answer) ?? describeBody(text, answer);
  const pause = askedPause(status, headers, answer.nowMs);
  const named = status === 400 ? reportedCode(value, answer) : null;
  const code = isRateLimit(status, pause, `${said} ${codesIn(text)}`)
    ? 'SOURCE_RATE_LIMITED'
    : (named ?? codeOfStatus(status));
  if (code === 'SOURCE_REDIRECTED') return answered(code, `a redirect to ${target(answer)}`, answer);
  const isNamed = code === 'SOURCE_UNAUTHORIZED' && !isUsual(auth);
  const carried = isNamed ? `; the token was sent ${carriedAs(auth)}` : '';
  const asked = pause === null ? '' : ` (${pause.by}: ${Math.ceil(pause.ms / 1000)} s)`;
  const found = answered(code, `${said}${asked}${carried}`, answer);
  return pause === null ? found : { ...found, retryAfterMs: pause.ms };
}

/** Some APIs answer 403 where others answer 429, and some of them say so only in words (`rateLimitExceeded`). */
function isRateLimit(status: number, pause: AskedPause | null, said: string): boolean {
  const words =
    /rate.?limit|too many requests|(limit|quota).{0,3}exceeded|exceeded.{0,30}quota|resource_exhausted/i;
  const others = /unreg|unauthenticated|revoked|denied|licen[cs]e|seat/i;
  return status === 403 && (pause !== null || (words.test(said) && !others.test(said)));
}

/** Values by which an error report names its kind. */
function codesIn(text: string): string {
  const codes = text.slice(0, HEAD_BYTES).matchAll(/"(?:code|reason|status|error_?code)"\s*:\s*"([^"]*)"/gi);
  return [...codes].map(([, code]) => code).join(' ');
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'SOURCE_UNAUTHORIZED';
  if (status === 402 || status === 403) return 'SOURCE_FORBIDDEN';
  if (status === 404) return 'SOURCE_NOT_FOUND';
  // 420 and 430 have been used by some vendors.
  if ([420, 429, 430].includes(status)) return 'SOURCE_RATE_LIMITED';
  // The vendor sends 424 and 499 for its own faults. 408 and 425 mean by definition that the request may be repeated.
  if (status >= 500 || [408, 424, 425, 499].includes(status)) return 'SOURCE_UNAVAILABLE';
  if (status >= 400) return 'SOURCE_REQUEST_REFUSED';
  if (status === 205) return 'SOURCE_BODY_EMPTY';
  if (status >= 300 && status !== 304) return 'SOURCE_REDIRECTED';
  return 'SOURCE_UNEXPECTED_STATUS';
}

/** For an answer that is a list or an object. */
function failureOfAnswer(why: Unread, at: number, bytes: Buffer, answer: Answer): SourceFailure {
  const { limits, responseKey } = answer;
  const place = () => `${typeOf(answer)}: ${aroundByte(bytes, at, quoting(answer))}`;
  const size = `(${answer.body.length} bytes)`;
  switch (why) {
    case 'truncated':
      return answered('SOURCE_BODY_TRUNCATED', `JSON that breaks off ${size}, ${place()}`, answer);
    case 'damaged':
      return answered('SOURCE_BODY_DAMAGED', `JSON that is damaged ${size}, ${place()}`, answer);
    case 'rows':
      return answered('SOURCE_TOO_MANY_ROWS', `more than ${limits.rows} rows`, answer);
    case 'nodes': {
      const what = `more than ${limits.nodes} lists and objects in its rows ${size}`;
      return answered('SOURCE_BODY_TOO_LARGE', what, answer);
    }
    case 'beside': {
      const what = `an object with more than a megabyte of members beside "${responseKey}"`;
      return answered('SOURCE_WRONG_SHAPE', what, answer);
    }
  }
}

/** The message of an error report. Beside rows, it may be a member of one of them. */
function messageIn(value: unknown, answer: Answer): string | null {
  const holdsRows = Array.isArray(value) || valueAtPath(value, answer.responseKey) !== undefined;
  return vendorMessage(value, holdsRows ? quoting(answer) : answer.redact);
}

/** For the text of a body that may hold rows. Where a member begins and ends is not known there, so none of it is shown. */
function quoting({ omit, redact }: Answer): Redact {
  return omit.length === 0 ? redact : () => '(a text that is not shown: the feed has omit)';
}

function describeBody(text: string, answer: Answer): string {
  if (text.trim() === '') return 'an empty body';
  const encoding = answer.headers['content-encoding'];
  if (encoding !== undefined && text.includes('\ufffd'))
    return `a body in the encoding "${excerpt(encoding, answer.redact)}", not gzip or deflate as asked for`;
  return `${typeOf(answer)}: ${quoted(text, quoting(answer))}`;
}

function typeOf({ headers, redact }: Answer): string {
  const type = headers['content-type'];
  return type === undefined ? 'no content type' : excerpt(type, redact);
}

/** The target of a redirect, without query, because vendors put the token of the refused request there. */
function target({ headers: { location }, request, redact }: Answer): string {
  if (location === undefined) return 'nowhere (no Location)';
  const base = request.slice(request.indexOf('http'));
  if (!URL.canParse(location, base)) return 'something that is not an address';
  const url = new URL(location, base);
  const address = `${url.origin}${url.pathname}`;
  return excerpt(address, redact) + (address === base ? ', the address that was asked' : '');
}

/** Whether a 404 says that the page has no rows: by its code, or, for a number behind the first pages, as Django REST framework does. */
function saysNoData(text: string, isNumberBehind: boolean): boolean {
  const value = parsedJson(text)?.value;
  if (!isObject(value)) return false;
  const entries = Array.isArray(value.errors) ? value.errors : [value];
  const says = (entry: unknown) =>
    isObject(entry) &&
    (entry.code === 'no_data_found' ||
      (isNumberBehind && /^invalid page(\.$| "\d+": )/i.test(String(entry.detail))));
  return entries.length > 0 && entries.every(says);
}

export function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}

function answered(code: ErrorCode, what: string, { request, status }: Answer): SourceFailure {
  return failure(code, `${request} answered ${status} with ${what}`);
}

/** As `saidOfNext`, for the whole answer. */
function saidElsewhere(parsed: unknown, { headers, paging, responseKey }: Answer) {
  if (!isEndUnsaid(paging)) return { moreBy: null, isEnd: null };
  if (nextLink(headers.link) !== null) return { moreBy: 'Link', isEnd: null };
  return saidOfNext(parsed, responseKey);
}

function page(rows: Rows | SourceFailure, parsed: unknown, answer: Answer): ReadRows | SourceFailure {
  if ('kind' in rows) return rows;
  const found = nextPage(rows, parsed, answer.headers.link, answer);
  if (found.kind === 'failure') return found;
  const { isEndSaid = false, ...next } = found;
  const kept = answer.omit.length === 0 ? { rows } : withoutMembers(rows, answer.omit);
  const partial = isObject(parsed)
    ? partialBy(parsed, answer.responseKey, answer.paging.style === 'none')
    : null;
  const said = rows.length > 0 && next.next === null ? saidElsewhere(parsed, answer) : null;
  const more = said?.moreBy ?? null;
  return {
    ...{ ...next, kind: 'page', ...kept },
    ...(rows === noList && { isVague: true }),
    ...(partial !== null && { partialBy: partial }),
    ...(more !== null ? { moreBy: more } : (said?.isEnd ?? isEndSaid) && { isEndSaid: true }),
  };
}
