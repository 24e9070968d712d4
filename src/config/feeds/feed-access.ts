import { resolve } from 'node:path';
import { readText } from '../../bytes/read-text';
import type { AuthScheme } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import { type ApiAccess, usualAuth } from '../../source/api-access';
import { fileCalled } from '../files/secrets';
import type { Mistake } from '../mistake';
import { settings } from '../settings';

/** The settings of the API that feeds without one of their own have; null where they are not set. */
export interface GeneralApi {
  readonly url: string | null;
  readonly token: string | null;
}

export interface ReadAccess {
  /** By feed; without those that lack something. */
  readonly access: ReadonlyMap<string, ApiAccess>;
  /** By feed: what it lacks, for people. */
  readonly lacking: ReadonlyMap<string, string>;
  /** What a command that reads the API cannot do without. */
  readonly missing: readonly Mistake[];
  /** What is set wrongly. */
  readonly mistakes: readonly Mistake[];
  readonly needsUrl: boolean;
  readonly needsToken: boolean;
}

interface AccessInput {
  readonly general: GeneralApi;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly where: (path: readonly PropertyKey[]) => string;
}

type Found = { readonly token: string } | { readonly lacks: Mistake } | { readonly wrong: Mistake };

/** Reads where each feed is asked, and its token. */
export function readAccess(feeds: readonly Feed[], input: AccessInput): ReadAccess {
  const { general } = input;
  const access = new Map<string, ApiAccess>();
  const lacking = new Map<string, string>();
  const [missing, mistakes]: [Mistake[], Mistake[]] = [[], []];
  let [needsUrl, needsToken] = [false, false];
  for (const feed of feeds) {
    const auth = feed.auth ?? usualAuth;
    const baseUrl = feed.apiUrl ?? general.url;
    const isGeneral = auth.scheme !== 'none' && !ownToken(feed);
    needsUrl ||= feed.apiUrl === null;
    needsToken ||= isGeneral;
    const found = isGeneral ? generalToken(feed, input) : tokenOf(feed, input);
    if ('wrong' in found) mistakes.push(found.wrong);
    else if ('lacks' in found) {
      missing.push(found.lacks);
      lacking.set(feed.name, `${found.lacks.key} (${found.lacks.where}): ${found.lacks.problem}`);
    } else if (baseUrl !== null && (!isGeneral || found.token !== ''))
      access.set(feed.name, { baseUrl, token: found.token, auth: schemeOf(auth) });
  }
  return { access, lacking, missing, mistakes, needsUrl, needsToken };
}

const ownToken = ({ auth }: Feed) => auth?.tokenEnv !== undefined || auth?.tokenFile !== undefined;

/** The general token goes to the host it was set for. `''`: it is not set. */
function generalToken({ name, apiUrl }: Feed, { general, where }: AccessInput): Found {
  const isElsewhere =
    apiUrl !== null && general.url !== null && new URL(apiUrl).origin !== new URL(general.url).origin;
  if (!isElsewhere) return { token: general.token ?? '' };
  const problem = `names no token of its own, and the general token is for ${new URL(general.url).origin}, not for ${new URL(apiUrl).origin}; expected auth with tokenEnv or tokenFile, or with scheme none`;
  return { wrong: { key: `feeds.${name}.auth`, where: where(['feeds', name, 'auth']), problem } };
}

/** As the general token is read: from a variable, or from a file below the working directory. */
function tokenOf({ name, auth }: Feed, { env, cwd, where }: AccessInput): Found {
  if (auth === null || auth.scheme === 'none') return { token: '' };
  const { tokenEnv, tokenFile } = auth;
  const mistake = (key: string, problem: string): Mistake => ({
    key: `feeds.${name}.auth.${key}`,
    where: where(['feeds', name, 'auth', key]),
    problem,
  });
  if (tokenEnv !== undefined && tokenFile !== undefined)
    return { wrong: mistake('tokenEnv', 'and tokenFile are both set, expected one of them') };
  if (tokenEnv !== undefined) {
    const value = env[tokenEnv] ?? '';
    const variable = variableCalled(tokenEnv);
    if (value === '')
      return { lacks: mistake('tokenEnv', `${variable} is not set, expected the token in it`) };
    return checked(value, auth, (expected) =>
      mistake('tokenEnv', `${variable} holds something else, expected ${expected}`),
    );
  }
  const file = fileCalled(tokenFile!);
  const read = readText(resolve(cwd, tokenFile!));
  if ('failure' in read) return { wrong: mistake('tokenFile', `${file} cannot be read (${read.failure})`) };
  const content = read.text.trim();
  if (content === '') return { wrong: mistake('tokenFile', `${file} is empty`) };
  return checked(content, auth, (expected) =>
    mistake('tokenFile', `${file} holds something else, expected ${expected}`),
  );
}

function checked(token: string, auth: AuthScheme, wrong: (expected: string) => Mistake): Found {
  const parsed = settings.apiToken.schema.safeParse(token);
  if (!parsed.success) return { wrong: wrong(parsed.error.issues[0]?.message ?? 'a token') };
  const isHeader = auth.scheme === 'bearer' || auth.scheme === 'header';
  if (isHeader && /[^\x21-\x7e]/.test(token))
    return { wrong: wrong('ASCII, since a header carries the token') };
  return { token };
}

/** A long name that does not look like a variable may be the token itself, set in place of the name. */
function variableCalled(name: string): string {
  const isName = /^[A-Z][A-Z0-9_]*$/.test(name) && (name.includes('_') || name.length < 16);
  return isName ? `the variable ${name}` : 'the variable of that name';
}

/** Without the places of the token. */
function schemeOf(auth: AuthScheme): AuthScheme {
  switch (auth.scheme) {
    case 'query':
    case 'header':
      return { scheme: auth.scheme, name: auth.name };
    case 'basic':
      return { scheme: 'basic', user: auth.user };
    default:
      return { scheme: auth.scheme };
  }
}
