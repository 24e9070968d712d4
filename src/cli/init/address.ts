import { secretHeaders, secretParameters } from '../../config/feeds/request-settings';
import { usageError } from '../process/command-line';

export const NOTHING = 'Nothing was asked or written.';

export function endpointAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (
    url !== null &&
    ['http:', 'https:'].includes(url.protocol) &&
    url.username === '' &&
    url.password === ''
  ) {
    url.hash = '';
    return url;
  }
  const shown = address.replace(/\/\/[^/]*@/, '//').split('?')[0];
  throw usageError(
    `"${shown}" is not the address of an endpoint`,
    NOTHING,
    'Give an address of http or https without user and password, such as https://shop.example/v1/orders.',
  );
}

export function nameIn(url: URL): string {
  const last = /[^/]+(?=\/*$)/.exec(url.pathname)?.[0] ?? url.hostname;
  const name = last
    .toLowerCase()
    .replace(/\.json$/, '')
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return name === '' ? 'records' : name;
}

/** The settings name each parameter once. @throws HighwaterError USAGE_INVALID */
export function refuseRepeated(url: URL): void {
  const names = [...url.searchParams.keys()];
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated === undefined) return;
  throw usageError(
    `the address has the parameter ${repeated} more than once, and a feed sends each parameter once`,
    NOTHING,
    "Write its values into one, as the API's documentation says (often with commas), or make a feed for each of them.",
  );
}

/** @throws HighwaterError USAGE_INVALID if a secret would be written to the file */
export function refuseSecrets(url: URL, headers: Readonly<Record<string, string>>): void {
  const found =
    [...url.searchParams].find(([name, value]) => secretParameters.test(name) || isKey(name, value))?.[0] ??
    Object.keys(headers).find((name) => secretHeaders.test(name));
  if (found === undefined) return;
  throw usageError(
    `${found} carries a secret, and would be written to the file`,
    NOTHING,
    `Put its value into a variable and say how it is carried: --auth query:${found} or --auth header:${found}.`,
  );
}

/** A parameter `key` may say anything. A long text with digits is a secret. */
const isKey = (name: string, value: string): boolean =>
  /^key$/i.test(name) && /^(?=.*\d)[\w.+/=-]{20,}$/.test(value);

/** A later year stands for no end. */
const year = String.raw`(?:19\d\d|20[0-3]\d)`;
const date = String.raw`${year}([-/.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])|\d\d?([/.])\d\d?\2${year}`;
const hasDate = new RegExp(`(?<!\\d)(?:${date})(?:[T ]|(?!\\d))`);
const isDate = new RegExp(`^(?:${date})(?:[T ].*)?$`);
/** Unix seconds or milliseconds, or the number of a customer. */
const mayBeTime = /^1\d{9}(?:\.\d+)?$|^1\d{12}$/;

const END = 'end|ends|ending|to|till?|until|before|max|lte?|le|upper|through|latest';
const TIME = 'dates?|(?:date)?time|timestamp|ts|day|at|on|utc|created|updated|modified|changed';
const isEnd = new RegExp(`^(?:(?:${TIME})?(?:${END})|(?:${END})(?:${TIME}))$`);
const isOfTime = new RegExp(`^(?:until|before|latest|(?:${END})?(?:${TIME})|(?:${TIME})(?:${END}))$`);

/** A copied link may end its range of time, so that no later row would ever come. @throws HighwaterError USAGE_INVALID */
export function refuseEnd(url: URL): void {
  const found = [...url.searchParams].find(([name, value]) => {
    const words = wordsOf(name);
    const isTime =
      isDate.test(value.trim()) || (mayBeTime.test(value.trim()) && words.some((one) => isOfTime.test(one)));
    return isTime && words.some((one) => isEnd.test(one));
  });
  if (found === undefined) return;
  throw usageError(
    `${found.join('=')} ends the range of time that the address asks for, so no later row would ever come`,
    NOTHING,
    'Leave it out. If the API needs it, write the feed by hand in highwater.yaml, and name it in parameters.updatedUntil; if the feed is to be of that range only, in query.',
  );
}

/** `filter[createdTo]` → filter, created, to */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);

/** The parameters whose value has a date: they may leave out rows for good. */
export function datesKept(query: Readonly<Record<string, string>>): string[] {
  return Object.entries(query)
    .filter(([, value]) => hasDate.test(value))
    .map((parameter) => parameter.join('='));
}
