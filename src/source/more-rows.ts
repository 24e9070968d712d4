import { valueAtPath } from '../json/dotted-path';
import { ExactNumber, isJsonObject } from '../json/exact-number';

interface Member {
  /** Dotted. */
  readonly path: string;
  /** The names on the way to it, its own one last. */
  readonly names: readonly string[];
  readonly value: unknown;
}

/** A member of an answer that may lead to the next page. */
export interface Pointer {
  readonly path: string;
  readonly name: string;
  readonly value: string;
  readonly isAddress: boolean;
  /** Nothing but a next page has such a name. */
  readonly isSure: boolean;
}

/** What an answer says of rows that it does not hold. */
export interface MoreSign {
  /** Dotted path of the member that says so; null: the header `Link` does. */
  readonly path: string | null;
  /** For people; without texts of the answer, since an address may hold a token. */
  readonly said: string;
  /** It can hardly mean anything else. */
  readonly isSure: boolean;
  /** It stands beside the rows and has the name of a cursor, which is there on the last page, too, at some APIs. */
  readonly isCursor?: boolean;
}

/** The headers of an answer, by their names in small letters. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Names are compared without case and signs: `@odata.nextLink`, `next_link`. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

const pageWords =
  'pages?|batch|set|results?|records?|items?|rows?|tokens?|cursor|links?|ur[li]|href|path|offset|skip|start|marker|key|number|no|id|index|after|from';
/** Names of the whole path count: `paging.next.after` says it, too. */
const nextName = new RegExp(`next(${pageWords})*$`);
/** DynamoDB has it, most often as an object. */
const dynamoKey = 'lastevaluatedkey';
const maybeNext = new RegExp(
  `^((end|after)?cursor|after(${pageWords})?|scroll(${pageWords})*|(page|skip|paging|pagination)token|continuation(token|key)?|bookmark|marker|${dynamoKey})$`,
);
/** As an offset, a number says where this page begins. */
const textNext = /^offset:(?!-?\d+$)|^\w*continue:/;
/** Where to begin the next time is another matter than where the next page is. */
const otherNext = /next\w*(sync|delta)/;
const address = /^(https?:\/)?\/|^[^\s?]*\?[^\s=]+=/;
const moreFlag =
  /^(has|is|are)?(more|next|further|additional)(pages?|items?|elements?|results?|records?|rows?|data|available|exists?|incollection)*$|^(is)?truncated$/;
const endFlag =
  /^(is|at)?(done|last|lastpage|final|finalpage|exhausted|end(reached|of(stream|results|list|data))?)$/;
const maybeEndFlag = /^(is)?(complete|completed|finished)$/;
const totalWords =
  'total|num|number|of|all|count|size|results?|records?|items?|rows?|elements?|entries|hits|found|matches|odata';
const totalName = new RegExp(`^(?=.*(total|found|odatacount))(${totalWords})+$|^numbermatched$`);
/** Kubernetes has it: rows behind this page. */
const remainingName = new RegExp(`^remaining(${totalWords})+$`);
/** As some of these are estimates, a whole answer may have less. */
const maybeTotal =
  /^(count|nbhits|num(berof)?results|estimatedtotal(hits|results|count)?|hits|results?count|records?count|items?count|rows?count)$/;
const pagesName = /^(total|numberof|numof|num|nb)pages$|^pages(count|total)?$|^lastpage$|^pagetotal$/;
/** Members that hold what an answer says about its rows. */
const aboutRows =
  /meta|pag(e|ing|inat(ion|or))|info|continu|cursor|link|next|response|result|^(counts?|hits|totals?|additionaldata)$/;

/** APIs write such values where no next page is. */
const nothing = /^(|0|-1|null|none|false)$/i;

const isTime = (value: unknown): boolean => /^\d{4}-\d\d-\d\d/.test(String(value));

/** Members that may lead to the next page, wherever they are beside the rows; those with the clearest names first. */
export function pointersIn(body: unknown, rowsPath: string): Pointer[] {
  const found = membersBeside(body, rowsPath).flatMap((member) => pointerOf(member, body) ?? []);
  return found.sort((a, b) => Number(b.isSure) - Number(a.isSure));
}

function pointerOf({ path, names, value }: Member, body: unknown): Pointer | null {
  const isText = typeof value === 'string' || Number.isSafeInteger(value) || value instanceof ExactNumber;
  const text = isText ? String(value) : '';
  const name = names.at(-1)!;
  const whole = plain(names.join());
  // Another member may have the same path, as names can have dots themselves.
  if (nothing.test(text.trim()) || otherNext.test(whole) || valueAtPath(body, path) !== value) return null;
  const isAddress = address.test(text) && whole.includes('next');
  const isTextNext = typeof value === 'string' && !isTime(text) && textNext.test(`${plain(name)}:${text}`);
  const isSure = nextName.test(whole) || isTextNext;
  const isMaybe = maybeNext.test(plain(name)) || (plain(name).includes('next') && !isTime(text));
  return isSure || isAddress || isMaybe ? { path, name, value: text, isAddress, isSure } : null;
}

/** The path of the flag that says that more rows follow; null when no member says so. */
export function moreIn(body: unknown, rowsPath: string): string | null {
  const isMore = ({ names, value }: Member) => value === true && moreFlag.test(plain(names.at(-1)!));
  return membersBeside(body, rowsPath).find(isMore)?.path ?? null;
}

/**
 * What an answer says of rows that it does not hold. Without such words it may still be only a part of them.
 * @param isLinked its header `Link` names a next page
 */
export function signsOfMore(
  body: unknown,
  rowsPath: string,
  isLinked: boolean,
  headers: Headers = {},
): MoreSign[] {
  const rows = rowsPath === '' ? body : valueAtPath(body, rowsPath);
  const count = Array.isArray(rows) ? rows.length : 0;
  const members = membersBeside(body, rowsPath);
  const links = linkSigns(members, body, rowsPath);
  const inHeaders = Object.entries(headers).flatMap(([name, value = '']) => membersInHeader(name, value));
  const flags = members.flatMap((member) => flagOf(member, rowsPath));
  // One that says no may be about another matter, such as a text that was not cut.
  const headerFlags = inHeaders.flatMap((member) => flagOf(member, '')).map(ofHeader);
  const totals = [
    ...inHeaders.flatMap((member) => totalOf(member, '', count)).map(ofHeader),
    ...members.flatMap((member) => totalOf(member, rowsPath, count)),
    ...Object.entries(headers).flatMap(([name, value = '']) => totalInHeader(name, value, count)),
  ];
  const isWhole =
    flags.some(({ isMore, isSure }) => !isMore && isSure) ||
    (totals.some(({ isSure }) => isSure) && totals.every(({ isMore }) => !isMore));
  const header: MoreSign = { path: null, said: 'the header Link names a next page', isSure: true };
  const signs = [
    ...(isLinked ? [header] : []),
    ...Object.entries(headers).flatMap(([name, value = '']) => nextInHeader(name, value)),
    ...links.filter(({ isSure }) => isSure || !isWhole),
    ...[...flags, ...headerFlags].filter(({ isMore, isSure }) => isMore && (isSure || !isWhole)),
    ...totals.filter(({ isMore }) => isMore && !isWhole),
  ];
  return signs.map(({ path, said, isSure, ...sign }) => ({
    path,
    said,
    isSure,
    ...(sign.isCursor === true && { isCursor: true }),
  }));
}

/**
 * Reads an answer that names no next page where the feed's paging looks. A total counts other rows at some APIs, and a time may be when to
 * ask again.
 * @returns `moreBy`: the member that says that a next page follows. `isEnd`: true if a flag says that none does, false if a member may lead to
 * one, null if there is neither
 */
export function saidOfNext(
  body: unknown,
  rowsPath: string,
): { moreBy: string | null; isEnd: boolean | null } {
  const members = membersBeside(body, rowsPath);
  const flags = members.flatMap((member) => flagOf(member, rowsPath)).filter(({ isSure }) => isSure);
  const links = linkSigns(
    members.filter(({ value }) => !isTime(value)),
    body,
    rowsPath,
  );
  const isEnd = links.length > 0 ? false : flags.length > 0 || null;
  if (flags.some(({ isMore }) => !isMore)) return { moreBy: null, isEnd };
  return { moreBy: [...flags, ...links].find(({ isSure }) => isSure)?.path ?? null, isEnd };
}

function linkSigns(members: readonly Member[], body: unknown, rowsPath: string): MoreSign[] {
  return members.flatMap((member) => {
    const found = linksOf(member) ?? pointerSign(member, body);
    return found === null ? [] : [about(member, rowsPath, found)];
  });
}

/** The name of a header without `X-`, and also without the word behind it, which may be the vendor's. */
function bareNames(name: string): string[] {
  const bare = name.replace(/^x-/, '');
  return /limit|rate|quota|time|retry|expire/.test(bare)
    ? []
    : [bare, bare.replace(/^[^-]+-/, '')].map(plain);
}

/** What a header says as a member would: a flag by its name, or JSON about the pages (ASP.NET). */
function membersInHeader(name: string, value: string): Member[] {
  const flag = bareNames(name).find((bare) => moreFlag.test(bare) && !nextName.test(bare));
  if (flag !== undefined) return [{ path: name, names: [flag], value }];
  if (!/pag(ing|ination)/.test(name) || !value.startsWith('{')) return [];
  try {
    const members = membersBeside(JSON.parse(value), '');
    return members.map((member) => ({ ...member, path: `${name}: ${member.path}` }));
  } catch {
    return [];
  }
}

/** No path leads into a header. */
const ofHeader = (statement: Statement): Statement => ({
  ...statement,
  path: null,
  said: `the header ${statement.said}`,
});

function nextInHeader(name: string, value: string): MoreSign[] {
  const isRange = name === 'next-range';
  const isNext = isRange || bareNames(name).some((bare) => nextName.test(bare) || maybeNext.test(bare));
  if (!isNext || nothing.test(value.trim())) return [];
  return [{ path: null, said: `the header ${name} holds a value`, isSure: true }];
}

function totalInHeader(name: string, value: string, count: number): Statement[] {
  const isRange = name === 'content-range';
  const number = Number.parseInt(isRange ? (/\/(\d+)$/.exec(value)?.[1] ?? '') : value, 10);
  const isPages = bareNames(name).some((bare) => pagesName.test(bare));
  if (Number.isNaN(number) || !(isRange || isPages || bareNames(name).some((bare) => totalName.test(bare))))
    return [];
  const said = `the header ${name}: ${number}`;
  return [{ path: null, said, isSure: true, isMore: number > (isPages ? 1 : count) }];
}

function pointerSign(member: Member, body: unknown): Omit<MoreSign, 'path'> | null {
  const found = pointerOf(member, body);
  if (found === null) return null;
  const said = `${found.path} holds ${found.isAddress ? 'an address' : 'a value'}`;
  return { said, isSure: found.isSure, isCursor: maybeNext.test(plain(found.name)) };
}

/** Links in a list or a key of several members, which `paging.from` does not reach. */
function linksOf({ path, names, value }: Member): Omit<MoreSign, 'path'> | null {
  const isKey = plain(names.at(-1)!) === dynamoKey && isJsonObject(value) && Object.keys(value).length > 0;
  if (isKey) return { said: `${path} holds a value`, isSure: false, isCursor: true };
  if (!Array.isArray(value)) return null;
  const isNamed = plain(names.at(-1)!) === 'next' && value.length > 0;
  const isNext = (one: unknown) =>
    isJsonObject(one) && [one.rel, one.relation].includes('next') && one.href !== null && one.href !== '';
  return isNamed || value.some(isNext) ? { said: `${path} has a link to the next page`, isSure: true } : null;
}

type Statement = MoreSign & { readonly isMore: boolean };

function flagOf(member: Member, rowsPath: string): Statement[] {
  const { names, value } = member;
  const name = plain(names.at(-1)!);
  const isSure = moreFlag.test(name) || endFlag.test(name);
  const word = String(value).toLowerCase();
  // `next: 1` is a page.
  const isSet = word === 'true' || (word === '1' && name.startsWith('has'));
  const isFlag = isSet || word === 'false' || (word === '0' && name.startsWith('has'));
  if (!isFlag || !(isSure || maybeEndFlag.test(name))) return [];
  const isMore = moreFlag.test(name) === isSet;
  return [{ ...about(member, rowsPath, { said: `${member.path}: ${value}`, isSure }), isMore }];
}

function totalOf(member: Member, rowsPath: string, count: number): Statement[] {
  const { names, value } = member;
  // In `total: { value: 250 }` the name before says what is counted.
  const name = plain((names.at(-1) === 'value' ? names.at(-2) : undefined) ?? names.at(-1)!);
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN;
  const isPages = pagesName.test(name);
  const isRest = remainingName.test(name);
  const isSure = isPages || isRest || totalName.test(name);
  if (Number.isNaN(number) || !(isSure || maybeTotal.test(name))) return [];
  const isMore = number > (isRest ? 0 : isPages ? 1 : count);
  return [{ ...about(member, rowsPath, { said: `${member.path}: ${number}`, isSure }), isMore }];
}

/** Only what stands beside the rows, or around them, is surely about them: an answer may hold other lists with pages of their own. */
function about(
  { path, names }: Member,
  rowsPath: string,
  { said, isSure, isCursor = false }: Omit<MoreSign, 'path'>,
): MoreSign {
  const holders = names.slice(0, -1);
  while (aboutRows.test(plain(holders.at(-1) ?? ''))) holders.pop();
  const isNear = holders.length === 0 || `${rowsPath}.`.startsWith(`${holders.join('.')}.`);
  return { path, said, isSure: isSure && isNear, isCursor: isCursor && isNear };
}

/** No ordinary answer has more levels than these around its rows. */
const mostDepth = 8;

/** The members of an answer beside its rows, including members of nested objects. */
function membersBeside(body: unknown, rowsPath: string, holders: readonly string[] = []): Member[] {
  if (!isJsonObject(body) || holders.length === mostDepth) return [];
  return Object.entries(body).flatMap(([name, value]) => {
    const names = [...holders, name];
    const path = names.join('.');
    if (path === rowsPath) return [];
    return [{ path, names, value }, ...membersBeside(value, rowsPath, names)];
  });
}
