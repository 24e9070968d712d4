import { isUtf8 } from 'node:buffer';
import { createBreather } from '../async/slices';
import type { ErrorCode } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import { idPaths } from '../feeds/row-keys';
import { isListOrObject, type ScannedAnswer, scanAnswer, type Unread } from '../json/answer-scan';
import { valueAtPath } from '../json/dotted-path';
import { type AnswerLimits, SMALL_ANSWER_BYTES } from '../json/limits';
import { parseJson } from '../json/parse-json';
import { withoutMembers } from '../json/remove-members';
import type { EchoedToken } from '../secrets/echoed-token';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';
import { carriedAs, isUsual } from './api-access';
import { aroundByte } from './around-byte';
import { type AskedPause, askedPause } from './asked-pause';
import type { Body } from './body';
import { brokenUtf8, inUtf8 } from './charset';
import { partialBy, reportedCode, reportsError, saysFailure, vendorMessage } from './error-report';
import { type Following, isNextInBody, type NextPageContext, nextPage } from './next-page';
import { failure, type RowReader, type SourceFailure, type SourcePage } from './source';

/** One answer, its body complete and decompressed. Header names are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Body;
}

export interface ReadRows extends Following, Pick<SourcePage, 'rows' | 'omitted' | 'isVague' | 'partialBy'> {
  readonly kind: 'page';
}

export interface PolicyContext extends NextPageContext {
  readonly responseKey: string;
  readonly idField: FeedDefinition['idField'];
  readonly updatedField: string | null;
  readonly omit: readonly string[];
  readonly echoedToken: EchoedToken;
  readonly readRows?: RowReader | undefined;
  /** The request asks for rows since a moment, so 304 (which it did not provoke by a condition) means that there are none. */
  readonly mayBeUnmodified?: boolean;
  /** The request carries a cursor. Some APIs call it a token, too. */
  readonly hasCursor?: boolean;
  readonly limits: AnswerLimits;
  /** Reading ends when it aborts. */
  readonly signal: AbortSignal;
  readonly nowMs: number;
}

/** Enough of a large body to describe it in an error. */
const HEAD_BYTES = 256 * 1024;

type Members = Readonly<Record<string, unknown>>;

/** Interprets an answer as a page, which may be empty, or as a named failure. An unknown answer is a failure. */
export async function interpretResponse(
  response: RawResponse,
  context: PolicyContext,
): Promise<ReadRows | SourceFailure> {
  const { status } = response;
  if (status === 204 || (status === 304 && context.mayBeUnmodified))
    return { kind: 'page', rows: [], next: null };
  const decoded = inUtf8(response.body, response.headers['content-type'], mayHoldPage(status));
  if (decoded.body === null) return failure('SOURCE_CHARSET', `${answered(status, context)} ${decoded.why}`);
  const { body } = decoded;
  if (context.readRows !== undefined && mayHoldPage(status) && !isNextInBody(context.paging)) {
    const rows = context.readRows(body, (text) => !context.echoedToken.isIn(text), context.limits.rows);
    if (rows !== null) return page(rows, undefined, response, context);
  }
  const isSmall = body.length <= SMALL_ANSWER_BYTES;
  // A large body is read with pauses, in which other bodies are read.
  const bytes = isSmall ? body.shared() : body.kept();
  if (mayHoldPage(status) && isListOrObject(bytes) && !isUtf8(bytes)) {
    const what = `bytes that are not UTF-8, ${brokenUtf8(bytes, quoting(context))}`;
    return failure('SOURCE_CHARSET', `${answered(status, context)} ${what}`);
  }
  const text = new TextDecoder().decode(isSmall ? bytes : bytes.subarray(0, HEAD_BYTES));
  if (status === 404 && saysNoData(text)) return { kind: 'page', rows: [], next: null };
  if (!mayHoldPage(status)) return failureOfStatus(response, text, context);
  if (text.trim() === '') return failure('SOURCE_BODY_EMPTY', `${answered(status, context)} an empty body`);
  const parsed = isSmall ? parsedJson(context.echoedToken.remove(text)) : undefined;
  if (parsed !== undefined) {
    const rows = rowsOf(parsed.value, status, text, context);
    const isTooMuch = Array.isArray(rows) && rows.length > context.limits.rows;
    if (isTooMuch) return failureOfAnswer({ why: 'rows', at: 0 }, response, bytes, context);
    return page(rows, parsed.value, response, context);
  }
  if (!isListOrObject(bytes)) {
    const what = describeBody(text, response, context);
    return failure('SOURCE_NOT_JSON', `${answered(status, context)} ${what}`);
  }
  // Another body may overwrite shared memory meanwhile.
  const kept = body.kept();
  const scanned = await scan(kept, isSmall, context);
  if (scanned.kind === 'unread') return failureOfAnswer(scanned, response, kept, context);
  return page(rowsOf(scanned.value, status, text, context), scanned.value, response, context);
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

function rowsOf(value: unknown, status: number, text: string, context: PolicyContext): Rows | SourceFailure {
  if (Array.isArray(value)) return value;
  const message = messageIn(value, context);
  const reported = () =>
    failure(
      reportedCode(value, context) ?? 'SOURCE_REPORTED_ERROR',
      `${answered(status, context)} an error: ${message ?? excerpt(text, quoting(context))}`,
    );
  if (typeof value === 'string') return reported();
  if (!isObject(value)) {
    return failure(
      'SOURCE_WRONG_SHAPE',
      `${answered(status, context)} ${excerpt(text, quoting(context))}, not an object`,
    );
  }
  if (saysFailure(value)) return reported();
  const { responseKey } = context;
  // Without a key, an object holds no rows.
  const found = responseKey === '' ? undefined : valueAtPath(value, responseKey);
  if (found !== undefined) {
    const rows = rowsUnderKey(found, status, message, context) ?? reported();
    return Array.isArray(rows) && rows.length === 0 && reportsError(value, responseKey) ? reported() : rows;
  }
  if (responseKey !== '' && Object.keys(value).length === 0) return noList;
  return message === null ? wrongKey(value, status, context) : reported();
}

/** Null if the value under the key is `null` and there is a message: that is an error, not an empty page. */
function rowsUnderKey(
  rows: unknown,
  status: number,
  message: string | null,
  context: PolicyContext,
): Rows | SourceFailure | null {
  if (Array.isArray(rows)) return rows;
  if (rows === null) return message === null ? noList : null;
  return failure(
    'SOURCE_WRONG_SHAPE',
    `${answered(status, context)} a ${typeof rows} under "${context.responseKey}", not an array`,
  );
}

function wrongKey(value: Members, status: number, context: PolicyContext): SourceFailure {
  const { responseKey, redact } = context;
  const { members, path } = deepest(value, responseKey);
  const keys = Object.keys(members);
  const named = keys.slice(0, 10).map((key) => `"${excerpt(key, redact)}"`);
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  const found = responseKey === '' ? 'an object, not an array' : `an object without "${responseKey}"`;
  const whose = path === '' ? 'its keys' : `the keys of "${path}"`;
  const list = keys.length === 0 ? 'it has none' : `${whose} are ${named.join(', ')}${more}`;
  return failure('SOURCE_WRONG_SHAPE', `${answered(status, context)} ${found}; ${list}`);
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

function failureOfStatus(response: RawResponse, text: string, context: PolicyContext): SourceFailure {
  const { status, headers } = response;
  const value = parsedJson(text)?.value;
  const said = messageIn(value, context) ?? describeBody(text, response, context);
  const pause = askedPause(status, headers, context.nowMs);
  const named = status === 400 ? reportedCode(value, context) : null;
  const code = isRateLimit(status, pause, said) ? 'SOURCE_RATE_LIMITED' : (named ?? codeOfStatus(status));
  if (code === 'SOURCE_REDIRECTED') {
    return failure(code, `${answered(status, context)} a redirect to ${target(headers.location, context)}`);
  }
  const carried =
    code !== 'SOURCE_UNAUTHORIZED' || isUsual(context.auth)
      ? ''
      : `; the token was sent ${carriedAs(context.auth)}`;
  const asked = pause === null ? '' : ` (${pause.by}: ${Math.ceil(pause.ms / 1000)} s)`;
  return {
    ...failure(code, `${answered(status, context)} ${said}${asked}${carried}`),
    ...(pause === null ? {} : { retryAfterMs: pause.ms }),
  };
}

/** Some APIs answer 403 where others answer 429, and some of them say so only in words (`rateLimitExceeded`). */
function isRateLimit(status: number, pause: AskedPause | null, said: string): boolean {
  return status === 403 && (pause !== null || /rate.?limit|too many requests/i.test(said));
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'SOURCE_UNAUTHORIZED';
  if (status === 402 || status === 403) return 'SOURCE_FORBIDDEN';
  if (status === 404) return 'SOURCE_NOT_FOUND';
  if (status === 429) return 'SOURCE_RATE_LIMITED';
  // The vendor sends 424 and 499 for its own faults. 408 and 425 mean by definition that the request may be repeated.
  if (status >= 500 || [408, 424, 425, 499].includes(status)) return 'SOURCE_UNAVAILABLE';
  if (status >= 400) return 'SOURCE_REQUEST_REFUSED';
  if (status === 205) return 'SOURCE_BODY_EMPTY';
  if (status >= 300 && status !== 304) return 'SOURCE_REDIRECTED';
  return 'SOURCE_UNEXPECTED_STATUS';
}

/** For an answer that is a list or an object. */
function failureOfAnswer(
  { why, at }: { readonly why: Unread; readonly at: number },
  response: RawResponse,
  bytes: Buffer,
  context: PolicyContext,
): SourceFailure {
  const { limits, responseKey } = context;
  const said = answered(response.status, context);
  const place = () => `${typeOf(response, context.redact)}: ${aroundByte(bytes, at, quoting(context))}`;
  const size = `(${response.body.length} bytes)`;
  switch (why) {
    case 'truncated':
      return failure('SOURCE_BODY_TRUNCATED', `${said} JSON that breaks off ${size}, ${place()}`);
    case 'damaged':
      return failure('SOURCE_BODY_DAMAGED', `${said} JSON that is damaged ${size}, ${place()}`);
    case 'rows':
      return failure('SOURCE_TOO_MANY_ROWS', `${said} more than ${limits.rows} rows`);
    case 'nodes':
      return failure(
        'SOURCE_BODY_TOO_LARGE',
        `${said} more than ${limits.nodes} lists and objects in its rows ${size}`,
      );
    case 'beside':
      return failure(
        'SOURCE_WRONG_SHAPE',
        `${said} an object with more than a megabyte of members beside "${responseKey}"`,
      );
  }
}

/** The message of an error report. Beside rows, it may be a member of one of them. */
function messageIn(value: unknown, context: PolicyContext): string | null {
  const holdsRows = Array.isArray(value) || valueAtPath(value, context.responseKey) !== undefined;
  return vendorMessage(value, holdsRows ? quoting(context) : context.redact);
}

/** For the text of a body that may hold rows. Where a member begins and ends is not known there, so none of it is shown. */
function quoting({ omit, redact }: PolicyContext): Redact {
  return omit.length === 0 ? redact : () => '(a text that is not shown: the feed has omit)';
}

function describeBody(text: string, response: RawResponse, context: PolicyContext): string {
  if (text.trim() === '') return 'an empty body';
  return `${typeOf(response, context.redact)}: ${excerpt(text, quoting(context))}`;
}

function typeOf({ headers }: RawResponse, redact: Redact): string {
  const type = headers['content-type'];
  return type === undefined ? 'no content type' : excerpt(type, redact);
}

/** The target of a redirect, without query, because vendors put the token of the refused request there. */
function target(location: string | undefined, context: PolicyContext): string {
  if (location === undefined) return 'nowhere (no Location)';
  const base = context.request.slice(context.request.indexOf('http'));
  if (!URL.canParse(location, base)) return 'something that is not an address';
  const url = new URL(location, base);
  return excerpt(`${url.origin}${url.pathname}`, context.redact);
}

function saysNoData(text: string): boolean {
  const value = parsedJson(text)?.value;
  if (!isObject(value)) return false;
  const entries = Array.isArray(value.errors) ? value.errors : [value];
  return entries.length > 0 && entries.every((entry) => isObject(entry) && entry.code === 'no_data_found');
}

export function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}

function answered(status: number, context: PolicyContext): string {
  return `${context.request} answered ${status} with`;
}

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function page(
  rows: Rows | SourceFailure,
  answer: unknown,
  { headers }: RawResponse,
  context: PolicyContext,
): ReadRows | SourceFailure {
  if ('kind' in rows) return rows;
  const next = nextPage(rows, answer, headers.link, context);
  if (next.kind === 'failure') return next;
  const kept = context.omit.length === 0 ? { rows } : withoutMembers(rows, context.omit);
  const partial = isObject(answer) ? partialBy(answer) : null;
  return {
    ...{ ...next, kind: 'page', ...kept },
    ...(rows === noList && { isVague: true }),
    ...(partial !== null && { partialBy: partial }),
  };
}
