import type { ErrorCode } from '../errors';
import { isObject, type Members, valueAtPath } from '../json/dotted-path';
import { ExactNumber } from '../json/exact-number';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';

/** Members that say whether the request was carried out. Names are compared in small letters, without `_` and `-`. */
const VERDICTS = new Set(['ok', 'success', 'succeeded', 'issuccess', 'issuccessful']);
/** Members that are there, and not empty, when something went wrong. */
const ERRORS = new Set([
  ...['error', 'errors', 'err', 'errormessage', 'errormsg', 'errmsg', 'errordescription'],
  ...['errordetail', 'errordetails', 'errorcode', 'errcode', 'errno', 'fault', 'exception'],
  ...['haserror', 'haserrors', 'iserror'],
]);
const CODES = new Set(['code', 'status', 'statuscode', 'httpcode', 'httpstatus', 'result', 'stat', 'type']);
/** Objects that hold such members beside the rows. */
const HOLDERS = new Set(['status', 'meta', 'header']);

/** Whether an answer says that the request failed. It then holds no page, even if there are rows: nobody knows which are missing. */
export function saysFailure(answer: Members): boolean {
  const { errors } = answer;
  if (Array.isArray(errors) && errors.length > 0) return true;
  return Object.entries(answer).some(([name, value]) => VERDICTS.has(plainName(name)) && isFalse(value));
}

/** Members that are true when rows may be missing from an answer. */
const PARTIAL = new Set([
  ...['incomplete', 'isincomplete', 'incompleteresults', 'incompletesearch'],
  ...['partial', 'ispartial', 'partialresults', 'timedout', 'terminatedearly'],
]);
/** The same without paging; else it may say that a next page follows. */
const CUT = new Set(['truncated', 'istruncated', 'resulttruncated']);
/** Members that name places whose rows are missing, as Google Cloud does. */
const MISSING = new Set(['unreachablelocations', 'missingzones', 'failedlocations']);
/** Where a search server counts its parts. */
const SHARDS = ['_shards.failed', '_clusters.failed', '_clusters.skipped'];
/** Objects beside the rows that tell about them. */
const ABOUT = new Set(['meta', 'metadata', 'responseheader', 'header', 'info']);

/**
 * The path of the member by which an answer says that it has left out rows, beside them or around them; null: it does not say so.
 * @param key dotted path of the rows @param isOne the feed has no paging
 */
export function partialBy(answer: Members, key: string, isOne: boolean): string | null {
  if (valueAtPath(answer, 'meta.status') === 'timeout') return 'meta.status';
  const names = key.split('.');
  const around = names.slice(1).map((_, i) => names.slice(0, i + 1).join('.'));
  const beside = Object.keys(answer).filter((name) => ABOUT.has(plainName(name)));
  for (const path of ['', ...around, ...beside]) {
    const members = path === '' ? answer : valueAtPath(answer, path);
    if (!isObject(members)) continue;
    const said = Object.entries(members).find(([name, value]) => saysPartial(plainName(name), value, isOne));
    const found = said?.[0] ?? SHARDS.find((shards) => Number(valueAtPath(members, shards) ?? 0) > 0);
    if (found !== undefined) return path === '' ? found : `${path}.${found}`;
  }
  return null;
}

function saysPartial(name: string, value: unknown, isOne: boolean): boolean {
  if (name === 'warning') return isObject(value) && value.code === 'UNREACHABLE';
  // Texts without a slash may be names of hosts, which are the subject of the answer.
  if (name === 'unreachable') return Array.isArray(value) && value.some((one) => String(one).includes('/'));
  if (MISSING.has(name)) return Array.isArray(value) && value.length > 0;
  return (PARTIAL.has(name) || (isOne && CUT.has(name))) && /^true$/i.test(String(value));
}

/**
 * Whether an answer without rows reports an error beside them. A message by itself is none: it may say that there are no records.
 * Beside rows, such a report may be a warning, so it is not looked for there.
 * @param key dotted path of the rows
 */
export function reportsError(answer: Members, key: string): boolean {
  const names = key.split('.');
  if (isReport(answer, [key, names[0]!])) return true;
  return names.slice(1).some((name, i) => {
    const within = valueAtPath(answer, names.slice(0, i + 1).join('.'));
    return isObject(within) && (saysFailure(within) || isReport(within, [name]));
  });
}

/** @param rows names of the members that hold the rows */
function isReport(members: Members, rows: readonly string[]): boolean {
  const hasMessage = Object.entries(members).some(
    ([name, value]) => MESSAGES.has(plainName(name)) && isSomething(value),
  );
  return Object.entries(members).some(([name, value]) => {
    if (rows.includes(name)) return false;
    const plain = plainName(name);
    if (ERRORS.has(plain)) return isSomething(value);
    // Beside rows, a number may count something.
    if (VERDICTS.has(plain) && isNo(value)) return true;
    if (CODES.has(plain) && isErrorCode(value, hasMessage)) return true;
    return HOLDERS.has(plain) && isObject(value) && (saysFailure(value) || isReport(value, []));
  });
}

/** Texts that APIs write if there is no error. */
const NOTHING = /^(|0|200|null|nil|none|no|false|ok|okay|success|successful|no[ _-]?errors?)[.!]?$/i;

/** An error has some content: not only members such as `"code": 0` and `"message": "OK"`. */
export function isSomething(value: unknown, levels = 5): boolean {
  if (typeof value === 'string') return !NOTHING.test(value.trim());
  if (typeof value === 'number') return value !== 0 && value !== 200;
  if (typeof value !== 'object' || value === null || levels === 0) return value === true;
  return Object.values(value).some((one) => isSomething(one, levels - 1));
}

const MESSAGES = new Set(['message', 'msg', 'detail', 'details', 'description', 'reason', 'info']);
const ERROR_WORDS =
  /error|fail|invalid|denied|unauthori[sz]ed|forbidden|exceeded|rate.?limit|unavailable|time.?out/i;

/**
 * A status of HTTP for errors, a negative number (no API gives one for success), or a plain word. Other words and longer codes need a
 * message beside them: they may be the filter of the request, which some APIs repeat.
 */
function isErrorCode(value: unknown, hasMessage: boolean): boolean {
  if (typeof value === 'string' && !/^-?\d+$/.test(value))
    return (
      /^(error|err|fail|ko|nok)$/i.test(value) ||
      (hasMessage && ERROR_WORDS.test(value) && isSomething(value))
    );
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  const code = Number(value);
  return code < 0 || (code >= 400 && code < 600) || (hasMessage && code >= 40_000 && code < 60_000);
}

function isFalse(value: unknown): boolean {
  return value === false || (typeof value === 'string' && /^false$/i.test(value));
}

function isNo(value: unknown): boolean {
  return isFalse(value) || value === 0 || (typeof value === 'string' && /^(no|0)$/i.test(value));
}

function plainName(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

/** What GraphQL servers write into `extensions.code` or `type` of an error. */
const graphqlCodes: readonly (readonly [RegExp, ErrorCode])[] = [
  [/throttled|rate.?limit/i, 'SOURCE_RATE_LIMITED'],
  [/unauthenticated|authentication|invalid.jwt/i, 'SOURCE_UNAUTHORIZED'],
  [/forbidden|access.?denied/i, 'SOURCE_FORBIDDEN'],
  [/validation|parse.?failed|bad.?user.?input|undefined.?field/i, 'SOURCE_REQUEST_REFUSED'],
];

/** The whole of a code that says that the token is over: a status, or a word such as `invalid_token` of RFC 6750. */
const tokenIsOver =
  /^(401|498|unauthori[sz]ed|unauthenticated|(invalid|expired)_?(access_?)?(auth|token)|(access_?)?token_?(is_?)?(invalid|expired|revoked))$/i;

/** The code of the errors of an answer; null: they do not say what went wrong. */
export function reportedCode(
  answer: unknown,
  { hasCursor = false }: { readonly hasCursor?: boolean },
): ErrorCode | null {
  const errors = isObject(answer) && Array.isArray(answer.errors) ? answer.errors : [];
  const said = errors.map((error) => valueAtPath(error, 'extensions.code') ?? valueAtPath(error, 'type'));
  const known = graphqlCodes.find(([pattern]) =>
    said.some((code) => typeof code === 'string' && pattern.test(code)),
  );
  if (known !== undefined || hasCursor) return known?.[1] ?? null;
  const reports = [answer, valueAtPath(answer, 'error'), ...errors];
  const codes = reports.flatMap((report) =>
    isObject(report) ? [report.code, report.status, report.statusCode, report.type, report.error] : [report],
  );
  return codes.some((code) => tokenIsOver.test(plain(code) ?? '')) ? 'SOURCE_UNAUTHORIZED' : null;
}

/** The message of an error report, in any of the vendor's shapes; null if there is none. */
export function vendorMessage(value: unknown, redact: Redact): string | null {
  const message = messageOf(value);
  return message === null || message.trim() === '' ? null : quoted(message, redact);
}

/** Enough for a text and what names its kind. */
const MOST_TEXTS = 5;

/**
 * The sentence of a short object that came instead of the rows, under a key of any name: `{"Note": "5 calls per minute"}`. Null if it
 * has other values than texts, or no sentence.
 */
export function sentenceIn(members: Members, redact: Redact): string | null {
  const texts = Object.values(members).map((value) => (typeof value === 'string' ? value : null));
  if (texts.length > MOST_TEXTS || texts.includes(null)) return null;
  const sentences = joined(texts.filter((text) => /\S\s+\S/.test(text ?? '')));
  return sentences === null ? null : quoted(sentences, redact);
}

/** A foreign text within a sentence of ours, which has a full stop of its own. */
export function quoted(text: string, redact: Redact): string {
  return excerpt(text, redact).replace(/\.+$/, '');
}

/** Nesting of a message. An answer must not decide the depth of the stack. */
const MOST_LEVELS = 20;

function messageOf(value: unknown, levels = MOST_LEVELS): string | null {
  if (typeof value === 'string') return value;
  if (levels === 0) return null;
  const within = (one: unknown) => messageOf(one, levels - 1);
  if (Array.isArray(value)) return joined(value.map(within));
  if (!isObject(value)) return null;
  return (
    within(value.errors) ??
    joined([value.message, value.text, value.error, value.detail].map(within)) ??
    // Beside rows, members of these names may be anything.
    (levels === MOST_LEVELS
      ? null
      : joined([value.info, value.msg, value.description, value.root_cause, value.reason].map(within))) ??
    (plain(value.code) === null ? null : joined([value.code, value.id, value.value].map(plain)))
  );
}

function plain(value: unknown): string | null {
  const isPlain = typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber;
  return isPlain ? String(value) : null;
}

function joined(parts: readonly (string | null)[]): string | null {
  const present = parts.filter((part) => part !== null && part.trim() !== '');
  return present.length === 0 ? null : [...new Set(present)].join(', ');
}
