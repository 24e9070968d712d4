import type { ErrorCode } from '../errors';
import { excerpt } from '../excerpt';
import type { Redact } from '../redaction';
import type { Body } from './body';
import type { EchoedToken } from './echoed-token';
import { retryAfterMs } from './retry-after';
import type { RowReader } from './source';
import { vendorMessage } from './vendor-message';

/** One answer, its body complete and decompressed. Header names are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Body;
}

export interface SourceFailure {
  readonly kind: 'failure';
  readonly code: ErrorCode;
  /** What happened, with the values, secrets already removed. */
  readonly what: string;
  /** How long the API asks to wait, ms; absent when it does not say. */
  readonly retryAfterMs?: number;
}

export interface ReadRows {
  readonly kind: 'page';
  readonly rows: readonly unknown[];
}

export interface PolicyContext {
  readonly responseKey: string;
  /** How the request is called in errors: `GET https://host/path`, never with its query. */
  readonly request: string;
  readonly redact: Redact;
  /** For a whole page, of which records are published. */
  readonly echoedToken: EchoedToken;
  readonly readRows?: RowReader | undefined;
  readonly nowMs: number;
}

type Members = Readonly<Record<string, unknown>>;

/** What an answer means: a page (perhaps an empty one) or a named failure. Whatever is not known to be a page is none. */
export function interpretResponse(response: RawResponse, context: PolicyContext): ReadRows | SourceFailure {
  const { body, status } = response;
  if (context.readRows !== undefined && mayHoldPage(status)) {
    const rows = context.readRows(body, (text) => !context.echoedToken.isIn(text));
    if (rows !== null) return page(rows);
  }
  const text = new TextDecoder().decode(body.shared());
  if (status === 404 && saysNoData(text)) return page([]);
  if (!mayHoldPage(status)) return failureOfStatus(response, text, context);
  if (text.trim() === '') return failure('SOURCE_BODY_EMPTY', `${answered(status, context)} an empty body`);
  const parsed = parseJson(context.echoedToken.remove(text));
  if (parsed === undefined) return failureOfText(response, text, context);
  return rowsOf(parsed.value, status, text, context);
}

/** 203 is a 200 that a proxy touched. Every other status is an error, or the 404 that means an empty page. */
export function mayHoldPage(status: number): boolean {
  return status === 200 || status === 203;
}

function rowsOf(
  value: unknown,
  status: number,
  text: string,
  context: PolicyContext,
): ReadRows | SourceFailure {
  if (Array.isArray(value)) return page(value);
  const message = vendorMessage(value, context.redact);
  const reported = () =>
    failure(
      'SOURCE_REPORTED_ERROR',
      `${answered(status, context)} an error: ${message ?? excerpt(text, context.redact)}`,
    );
  if (typeof value === 'string') return reported();
  if (!isObject(value)) {
    return failure(
      'SOURCE_WRONG_SHAPE',
      `${answered(status, context)} ${excerpt(text, context.redact)}, not an object`,
    );
  }
  if (value.ok === false || (Array.isArray(value.errors) && value.errors.length > 0)) return reported();
  if (Object.hasOwn(value, context.responseKey))
    return rowsUnderKey(value, status, message, context) ?? reported();
  if (Object.keys(value).length === 0) return page([]);
  return message === null ? wrongKey(value, status, context) : reported();
}

/** Null when `null` stands under the key together with a message: that is an error, not an empty page. */
function rowsUnderKey(
  value: Members,
  status: number,
  message: string | null,
  context: PolicyContext,
): ReadRows | SourceFailure | null {
  const rows = value[context.responseKey];
  if (Array.isArray(rows)) return page(rows);
  if (rows === null) return message === null ? page([]) : null;
  return failure(
    'SOURCE_WRONG_SHAPE',
    `${answered(status, context)} a ${typeof rows} under "${context.responseKey}", not an array`,
  );
}

function wrongKey(value: Members, status: number, context: PolicyContext): SourceFailure {
  const keys = Object.keys(value);
  const named = keys.slice(0, 10).map((key) => `"${excerpt(key, context.redact)}"`);
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return failure(
    'SOURCE_WRONG_SHAPE',
    `${answered(status, context)} an object without "${context.responseKey}"; its keys are ${named.join(', ')}${more}`,
  );
}

function failureOfStatus(response: RawResponse, text: string, context: PolicyContext): SourceFailure {
  const { status, headers } = response;
  const value = parseJson(text)?.value;
  const said =
    vendorMessage(value, context.redact) ?? describeBody(text, headers['content-type'], context.redact);
  const code = codeOfStatus(status);
  if (code === 'SOURCE_REDIRECTED') {
    return failure(code, `${answered(status, context)} a redirect to ${target(headers.location, context)}`);
  }
  const wait = retryAfterMs(headers['retry-after'], headers.date, context.nowMs);
  const asked = wait === null ? '' : ` (Retry-After: ${Math.ceil(wait / 1000)} s)`;
  return {
    ...failure(code, `${answered(status, context)} ${said}${asked}`),
    ...(wait === null ? {} : { retryAfterMs: wait }),
  };
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'SOURCE_UNAUTHORIZED';
  if (status === 402 || status === 403) return 'SOURCE_FORBIDDEN';
  if (status === 404) return 'SOURCE_NOT_FOUND';
  if (status === 429) return 'SOURCE_RATE_LIMITED';
  // The vendor sends 424 and 499 for faults of its own; 408 and 425 ask for the same request again by definition.
  if (status >= 500 || [408, 424, 425, 499].includes(status)) return 'SOURCE_UNAVAILABLE';
  if (status >= 400) return 'SOURCE_REQUEST_REFUSED';
  if (status === 204 || status === 205) return 'SOURCE_BODY_EMPTY';
  if (status >= 300 && status !== 304) return 'SOURCE_REDIRECTED';
  return 'SOURCE_UNEXPECTED_STATUS';
}

function failureOfText(response: RawResponse, text: string, context: PolicyContext): SourceFailure {
  const type = response.headers['content-type'];
  // What begins like JSON was meant as JSON: the rest of it is missing.
  const code = /^\s*[[{]/.test(text) ? 'SOURCE_BODY_TRUNCATED' : 'SOURCE_NOT_JSON';
  const size =
    code === 'SOURCE_BODY_TRUNCATED'
      ? `JSON that breaks off or is damaged (${response.body.length} bytes), `
      : '';
  return failure(
    code,
    `${answered(response.status, context)} ${size}${describeBody(text, type, context.redact)}`,
  );
}

function describeBody(text: string, contentType: string | undefined, redact: Redact): string {
  if (text.trim() === '') return 'an empty body';
  const type = contentType === undefined ? 'no content type' : excerpt(contentType, redact);
  return `${type}: ${excerpt(text, redact)}`;
}

/** Where a redirect leads, without query: vendors put the token of the refused request there. */
function target(location: string | undefined, context: PolicyContext): string {
  if (location === undefined) return 'nowhere (no Location)';
  const base = context.request.slice(context.request.indexOf('http'));
  if (!URL.canParse(location, base)) return 'something that is no address';
  const url = new URL(location, base);
  return excerpt(`${url.origin}${url.pathname}`, context.redact);
}

function saysNoData(text: string): boolean {
  const value = parseJson(text)?.value;
  if (!isObject(value)) return false;
  const entries = Array.isArray(value.errors) ? value.errors : [value];
  return entries.length > 0 && entries.every((entry) => isObject(entry) && entry.code === 'no_data_found');
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function answered(status: number, context: PolicyContext): string {
  return `${context.request} answered ${status} with`;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function page(rows: readonly unknown[]): ReadRows {
  return { kind: 'page', rows };
}

export function failure(code: ErrorCode, what: string): SourceFailure {
  return { kind: 'failure', code, what };
}
