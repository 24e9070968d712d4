import type { Auth, AuthScheme } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import type { Secret } from '../../secrets/rotation';
import { type ApiAccess, usualAuth } from '../../source/api-access';
import { type SetSecret, secretFrom } from '../files/secrets';
import type { Mistake } from '../mistake';
import type { Loading } from '../raw-settings';
import { settings } from '../settings';

export interface ReadAccess {
  /** By feed; feeds that lack something are left out. */
  readonly access: ReadonlyMap<string, ApiAccess>;
  /** Feed → its missing setting, for people. */
  readonly lacking: ReadonlyMap<string, string>;
  /** Missing settings that a command needs to read the API. */
  readonly missing: readonly Mistake[];
  /** Wrong settings. */
  readonly mistakes: readonly Mistake[];
  /** Feeds without an address of their own. */
  readonly needUrl: readonly string[];
  /** Feeds without a token of their own. */
  readonly needToken: readonly string[];
}

interface AccessInput {
  readonly loading: Loading;
  /** The general token, for feeds without their own API. */
  readonly token: SetSecret | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether commands are run; else the feeds whose tokens they print lack them. */
  readonly runs: boolean;
  readonly where: (path: readonly PropertyKey[]) => string;
}

type Found =
  | { readonly token: string; readonly secret?: Secret | undefined }
  | { readonly lacks: Mistake }
  | { readonly wrong: Mistake };

/** Reads where each feed is asked, and its token. */
export function readAccess(feeds: readonly Feed[], input: AccessInput): ReadAccess {
  const { apiUrl } = input.loading.values;
  const access = new Map<string, ApiAccess>();
  const lacking = new Map<string, string>();
  const [missing, mistakes]: [Mistake[], Mistake[]] = [[], []];
  const [needUrl, needToken]: [string[], string[]] = [[], []];
  for (const feed of feeds) {
    const auth = feed.auth ?? usualAuth;
    const baseUrl = feed.apiUrl ?? apiUrl;
    const isGeneral = auth.scheme !== 'none' && !ownToken(feed);
    if (feed.apiUrl === null) needUrl.push(feed.name);
    if (isGeneral) needToken.push(feed.name);
    const found = isGeneral ? generalToken(feed, input) : tokenOf(feed, input);
    if ('wrong' in found) mistakes.push(found.wrong);
    else if ('lacks' in found) {
      missing.push(found.lacks);
      lacking.set(feed.name, `${found.lacks.key} (${found.lacks.where}): ${found.lacks.problem}`);
    } else if (baseUrl !== null && (!isGeneral || found.token !== ''))
      access.set(feed.name, { ...found, baseUrl, auth: schemeOf(auth) });
  }
  return { access, lacking, missing, mistakes, needUrl, needToken };
}

const places = ['tokenEnv', 'tokenFile', 'tokenCommand'] as const;

const ownToken = ({ auth }: Feed) => auth !== null && placesOf(auth).length > 0;

function placesOf(auth: Auth) {
  return auth.scheme === 'none' ? [] : places.filter((place) => auth[place] !== undefined);
}

/** The general token goes to the host it was set for. `''`: it is not set. */
function generalToken({ name, apiUrl }: Feed, { loading, token, where }: AccessInput): Found {
  const { apiUrl: general } = loading.values;
  const isElsewhere =
    apiUrl !== null && general !== null && new URL(apiUrl).origin !== new URL(general).origin;
  if (!isElsewhere) return { token: token?.value ?? '', ...(token?.secret && { secret: token.secret }) };
  const problem = `names no token of its own, and the general token is for ${new URL(general).origin}, not for ${new URL(apiUrl).origin}; expected auth with tokenEnv, tokenFile or tokenCommand, or with scheme none`;
  return { wrong: { key: `feeds.${name}.auth`, where: where(['feeds', name, 'auth']), problem } };
}

/** As the general token is read: from a variable, from a file below the working directory, or from a command. */
function tokenOf({ name, auth }: Feed, { env, loading, runs, where }: AccessInput): Found {
  if (auth === null || auth.scheme === 'none') return { token: '' };
  const [place = 'tokenEnv', other] = placesOf(auth);
  const mistake = (problem: string): Mistake => ({
    key: `feeds.${name}.auth.${place}`,
    where: where(['feeds', name, 'auth', place]),
    problem,
  });
  if (other !== undefined) return { wrong: mistake(`and ${other} are both set, expected one of them`) };
  const { tokenEnv, tokenFile, tokenCommand } = auth;
  if (tokenEnv !== undefined) {
    const token = env[tokenEnv] ?? '';
    const variable = variableCalled(tokenEnv);
    if (token === '') return { lacks: mistake(`${variable} is not set, expected the token in it`) };
    const expected = expectedInstead(token, auth);
    return expected === null
      ? { token }
      : { wrong: mistake(`${variable} holds something else, expected ${expected}`) };
  }
  if (tokenCommand !== undefined && !runs) return { lacks: mistake('is not run by this command') };
  const from = tokenCommand === undefined ? { file: tokenFile! } : { command: tokenCommand };
  const expected = (content: string) => expectedInstead(content, auth);
  const found = secretFrom(`feeds.${name}.auth.${place}`, from, expected, loading);
  return 'problem' in found ? { wrong: mistake(found.problem) } : { token: found.token, secret: found.live };
}

/** The form of a token for this scheme; null: the text may be one. */
function expectedInstead(token: string, { scheme }: AuthScheme): string | null {
  const parsed = settings.apiToken.schema.safeParse(token);
  if (!parsed.success) return parsed.error.issues[0]?.message ?? 'a token';
  const isHeader = scheme === 'bearer' || scheme === 'header';
  return isHeader && /[^\x21-\x7e]/.test(token) ? 'ASCII, since a header carries the token' : null;
}

/** A long name that does not look like a variable may be the token itself, set in place of the name. */
export function variableCalled(name: string): string {
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
